"""RMSNorm and SwiGLU over an ellipsoid: exact Jacobian, the quadratic map and the third order as ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, ball, combine, image, root, row_norms, spectral_upper, widen
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.norm_half import NormBound, norm_half
from proofkv_verify.decode.silu_range import largest_derivatives


@dataclass(frozen=True, slots=True)
class MlpBound:
    """What the MLP half of one layer adds to the uncertainty of the token.

    Attributes:
        norm: the RMSNorm in front.
        gate, product: U = W1 B and W~ with quadratic part sum_c W2_c (U z)_c (W~ z)_c, |z| <= 1 `[f, d]`.
        theta: neuron c's third-order part is at most theta_c (U_c z)^2 `[f]`.
        noise: radius of the rounding of the trace; out: ellipsoid of the residual after the half `[d, d]`.
    """

    norm: NormBound
    gate: Tensor
    product: Tensor
    theta: Tensor
    noise: float
    out: Tensor

    @property
    def failed(self) -> bool:
        """No bound was shown."""
        return self.norm.failed or not bool(self.out.isfinite().all())


def mlp_half(maps: Maps, p: Tensor, noise: float, *, remainder_only: bool = False) -> MlpBound:
    """Bounds the residual stream after the MLP, given that before it the error lies in E(p).

    With `remainder_only`, `out` leaves out the image of E(p) under the Jacobian.
    """
    layer, tr = maps.layer, maps.trace
    norm = norm_half(tr.mid, tr.rho2, maps.norm2, p)
    b = root(norm.out)
    _, first, second = maps.silu
    gate, up = layer.w1 @ b, layer.w3 @ b
    product = first[:, None] * up + (second * tr.g / 2)[:, None] * gate
    reach, reach_up = row_norms(gate), row_norms(up)
    bend, twist = largest_derivatives(tr.u, reach)
    theta = (twist / 6 * tr.g.abs() * reach + bend / 2 * reach_up) * UP
    bound = MlpBound(norm, gate, product, theta, noise, p)
    return replace(bound, out=_out(bound, maps, remainder_only=remainder_only))


def _out(bound: MlpBound, maps: Maps, *, remainder_only: bool) -> Tensor:
    w2 = maps.layer.w2
    linear = [] if remainder_only else [image(maps.mlp, bound.norm.p)]
    parts = [*linear, *bound.norm.remainder(maps.mlp_out), _quadratic(bound, w2), _third(bound, w2)]
    out = combine([*parts, ball(bound.noise, parts[0])])
    return widen(out, out.diagonal().sum())


def _third(bound: MlpBound, w2: Tensor) -> Tensor:
    """The third-order parts r_c, |r_c| <= theta_c (U_c z)^2, behind W2: the smaller by trace of two ellipsoids.

    With b_c = |U_c|: |w.r|^2 <= (sum w_c^2 theta_c b_c^2) lmax(U' diag(theta) U) by Cauchy-Schwarz; and |r| is at most
    the spectral norm of diag(theta b) U.
    """
    u, theta = bound.gate, bound.theta
    spread = theta * u.square().sum(-1)
    shaped = spectral_upper((u * theta[:, None]).T @ u) * (w2 * spread) @ w2.T
    round_ = spectral_upper((u * (theta * spread)[:, None]).T @ u) * (w2 @ w2.T)
    best = torch.where(shaped.diagonal().sum() < round_.diagonal().sum(), shaped, round_)
    return widen(best, best.diagonal().sum() + 1e-2 * w2.square().sum() * spread.square().sum())


def _quadratic(bound: MlpBound, w2: Tensor) -> Tensor:
    """W2 (1/2)[(UU')o(W~W~') + (UW~')o(UW~')'] W2': T(z, z) lies in E(T T') because |z z'|_F = |z|^2 <= 1."""
    u, w = bound.gate, bound.product
    mixed = u @ w.T
    inner = ((u @ u.T) * (w @ w.T) + mixed * mixed.T) / 2
    out = w2 @ inner @ w2.T
    # 1e-12 of |W2|_F^2 tr(inner) covers the Gram products too: their errors are relative to |u_c| |w_c|
    return widen(out, 1e-2 * w2.square().sum() * inner.diagonal().sum() + out.diagonal().sum())
