"""RMSNorm over an ellipsoid: its Jacobian, and a bound on all that the Jacobian leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import (
    DIAGONAL,
    UP,
    image,
    is_point,
    rank_one,
    row_norms,
    spectral_upper,
    support,
    widen,
)

TAU_LIMIT = 0.9


@dataclass(frozen=True, slots=True)
class NormBound:
    """N(x + delta) - N(x) = J delta - t delta / rho + b (x + delta) / rho with t = x.delta / (d rho^2), |b| <= beta.

    Attributes:
        beta: the bound; tau: sup of |t| over E(P), NaN or >= 0.9 where it failed.
        direction: x / rho `[d]`; rho: the RMS.
        p: the ellipsoid of delta; out: one that contains N(x + delta) - N(x).
        factor, turned: factor P + turned turned' is an ellipsoid of (b - t) delta / rho.
    """

    beta: Tensor
    tau: Tensor
    direction: Tensor
    rho: float
    p: Tensor
    out: Tensor
    factor: Tensor
    turned: Tensor

    @property
    def failed(self) -> bool:
        """No bound was shown."""
        return not bool(self.tau < TAU_LIMIT)

    def remainder(self, after: Tensor) -> tuple[Tensor, Tensor]:
        """Ellipsoids of `after` times the remainder's terms: along x, and along delta."""
        return self._terms(after, image(after, self.p))

    def behind_residual(self, after: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The image of E(P) under I + after J, and `remainder`, from the two products that `after` P after' takes.

        With J = (I - x y') / rho, y = x / (d rho^2), every term of (I + M J) P (I + M J)' is one of M P, M P M' or of
        rank one; none is larger than tr P (1 + 2 |M| / rho)^2.
        """
        if is_point(self.p):
            return self.p, *self._terms(after, self.p)
        x = self.direction * self.rho
        y = x / (len(x) * self.rho**2)
        carried, m, turned = after @ self.p, after @ x, self.p @ y
        moved = after @ turned
        both, side = carried @ after.mT, (carried - torch.outer(m, turned)) / self.rho
        across = torch.outer(m, moved)
        mean = torch.outer(m, m) * (y @ turned)
        whole = self.p + side + side.mT + (both - across - across.mT + mean) / self.rho**2
        length, size = after.square().sum(), self.p.trace()
        whole = widen(whole, size * (1 + 2 * length.sqrt() / self.rho).square())
        return whole, *self._terms(after, widen(both, length * size))

    def _terms(self, after: Tensor, carried: Tensor) -> tuple[Tensor, Tensor]:
        twist = carried * self.factor + rank_one(after @ self.turned)
        return rank_one(after @ self.direction * self.beta) * UP, twist * UP

    @property
    def own_remainder(self) -> tuple[Tensor, Tensor]:
        """Ellipsoids of the remainder's terms themselves."""
        twist = self.p * self.factor + rank_one(self.turned)
        return rank_one(self.direction * self.beta) * UP, twist * UP

    def support(self, directions: Tensor) -> Tensor:
        """The largest |c . remainder| for directions `[R, d]` behind the norm.

        The product t (c . delta) of two linear forms u.z and v.z is at most (|u||v| + |u.v|) / 2 over |z| <= 1.
        """
        reach = support(self.p, directions)
        both = (directions @ (self.p @ self.direction)).abs() / (len(self.direction) * self.rho)
        both = both + 1e-12 * self.p.trace() * row_norms(directions) / self.rho
        along = (directions @ self.direction).abs() * self.beta
        return (along + (reach * (self.beta + self.tau / 2) + both / 2) / self.rho) * UP


def norm_half(x: Tensor, rho: float, p: Tensor) -> NormBound:
    """Bounds RMSNorm (gain folded away) around x over E(P): tau < 1 keeps the true RMS away from 0.

    With t = x.delta/(d rho^2) in [-tau, tau] and m = |delta|^2/(d rho^2) in [t^2, mu], the factor rho/rho' is
    (1 + 2t + m)^(-1/2), between (1 + 2 tau + mu)^(-1/2) and 1/(1 - tau); its distance from 1 - t is at most beta.
    """
    size = len(x) * rho**2
    tau = support(p, x[None])[0] / size * UP
    mu = spectral_upper(p, squarings=1) / size * UP
    safe = torch.where(tau < TAU_LIMIT, tau, torch.full_like(tau, torch.nan))
    beta = torch.maximum(mu / 2, safe.square() / (1 - safe)) * UP
    factor, share = _twist(tau, beta)
    moved = p @ x / size
    turned = moved * (share / 2).sqrt() / rho
    bound = NormBound(beta, tau, x / rho, rho, p, p, factor / rho**2, turned)
    return replace(bound, out=p if is_point(p) else _out(bound, moved, size))


def _twist(tau: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """The quadratic map t delta lies in (tau^2 P + v v') / 2 with v = P x / (d rho^2), b delta in beta^2 P; their sum
    in f P + s v v' / 2 for s = 1 + r, f = s tau^2 / 2 + (1 + 1/r) beta^2 and any r > 0.
    """
    ratio = (1.5 * beta / tau).nan_to_num(1.0).clamp(1e-6, 1e6)
    share = 1 + ratio
    return share * tau.square() / 2 + (1 + 1 / ratio) * beta.square(), share


def _out(bound: NormBound, moved: Tensor, size: float) -> Tensor:
    """An ellipsoid of J delta and both terms of the remainder, summed as in `combine`.

    All three are made of P, x x' and m = P x / size: J P J' = (P - x m' - m x' + (x.m / size) x x') / rho^2, whose
    terms may cancel; so its slack, 4e-10 d tr P / rho^2 along every axis, counts in its size.
    """
    p, x, turned = bound.p, bound.direction * bound.rho, bound.turned
    trace, length, curve, scale = p.trace(), x @ x, x @ moved / size, bound.rho**2
    slack = 4e-10 * len(x) * trace / scale
    linear = (trace - 2 * (x @ moved) + curve * length) / scale + len(x) * slack
    squares = torch.stack([linear, bound.beta.square() * length / scale, bound.factor * trace + turned @ turned])
    sizes = squares.clamp_min(0).sqrt()
    first, along, twist = torch.where(sizes == 0, 0.0, sizes.reciprocal()) * sizes.sum() * UP
    side, cross = first * curve / scale + along * bound.beta.square() / scale, torch.outer(x, moved) * (first / scale)
    whole = p * (first / scale + twist * bound.factor) + torch.outer(x, x) * side - cross - cross.T
    return widen(whole + rank_one(turned) * twist, first * slack / DIAGONAL + whole.diagonal().sum())
