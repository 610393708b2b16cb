"""RMSNorm over an ellipsoid: its Jacobian, and a bound on all that the Jacobian leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, combine, rank_one, spectral_upper, support, widen

TAU_LIMIT = 0.9


@dataclass(frozen=True, slots=True)
class NormBound:
    """N(x + delta) - N(x) = J delta + a delta / rho + b x / rho with |a| <= alpha and |b| <= beta for delta in E(P).

    Attributes:
        jacobian: J `[d, d]`; alpha, beta: the bounds; tau: sup of x.delta / (d rho^2), NaN or >= 0.9 where it failed.
        direction: x / rho `[d]`; rho: the RMS.
        p: the ellipsoid of delta; out: one that contains N(x + delta) - N(x).
    """

    jacobian: Tensor
    alpha: Tensor
    beta: Tensor
    tau: Tensor
    direction: Tensor
    rho: float
    p: Tensor
    out: Tensor

    @property
    def failed(self) -> bool:
        """No bound was shown."""
        return not bool(self.tau < TAU_LIMIT)

    def remainder(self, after: Tensor) -> tuple[Tensor, Tensor]:
        """Ellipsoids of `after` times the two remainder terms."""
        bent = rank_one(after @ self.direction * self.beta)
        size = after.square().sum() * self.p.diagonal().sum() * (self.alpha / self.rho) ** 2
        return bent, widen(after @ self.p @ after.T * (self.alpha / self.rho) ** 2, size)

    @property
    def own_remainder(self) -> tuple[Tensor, Tensor]:
        """Ellipsoids of the two remainder terms themselves."""
        return rank_one(self.direction * self.beta), self.p * ((self.alpha / self.rho) ** 2 * UP)

    def support(self, directions: Tensor) -> Tensor:
        """The largest |b . remainder| for directions `[R, d]` behind the norm."""
        return (directions @ self.direction).abs() * self.beta * UP + support(
            self.p, directions
        ) * self.alpha / self.rho


def norm_half(x: Tensor, rho: float, jacobian: Tensor, p: Tensor) -> NormBound:
    """Bounds RMSNorm (gain folded away) around x over E(P): tau < 1 keeps the true RMS away from 0.

    With t = x.delta/(d rho^2) in [-tau, tau] and m = |delta|^2/(d rho^2) in [t^2, mu], the factor rho/rho' is
    (1 + 2t + m)^(-1/2), between (1 + 2 tau + mu)^(-1/2) and 1/(1 - tau); its distance from 1 - t is at most beta.
    """
    size = len(x) * rho**2
    tau = support(p, x[None])[0] / size
    mu = spectral_upper(p) / size * UP
    safe = torch.where(tau < TAU_LIMIT, tau, torch.full_like(tau, torch.nan))
    # 1e-15: the rounding of 1/(1 - tau) - 1 for tau near 0
    alpha = torch.maximum(1 / (1 - safe) - 1, 1 - (1 + 2 * safe + mu).rsqrt()) * UP + 1e-15
    beta = torch.maximum(mu / 2, safe.square() / (1 - safe)) * UP
    bound = NormBound(jacobian, alpha, beta, tau, x / rho, rho, p, p)
    return replace(bound, out=combine([_turned(x, rho, size, p), *bound.own_remainder]))


def _turned(x: Tensor, rho: float, size: float, p: Tensor) -> Tensor:
    """J P J' for J = (I - x x' / size) / rho, without a matrix product."""
    moved = p @ x / size
    out = p - torch.outer(x, moved) - torch.outer(moved, x) + torch.outer(x, x) * (x @ moved / size)
    return widen(out / rho**2, 4 * len(x) * p.diagonal().sum() / rho**2)
