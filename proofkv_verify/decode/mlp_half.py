"""RMSNorm and SwiGLU over an ellipsoid: exact Jacobian, the quadratic map as an ellipsoid, a ball for the third order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, ball, combine, gram_norm_upper, image, root, row_norms, widen
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.norm_half import NormBound, norm_half

SILU_SECOND = 0.5
SILU_THIRD = 0.32  # sup |silu'''| is 0.30818...


@dataclass(frozen=True, slots=True)
class MlpBound:
    """What the MLP half of one layer adds to the uncertainty of the token.

    Attributes:
        norm: the RMSNorm in front.
        gate, product: U = W1 B and W~ with quadratic part sum_c W2_c (U z)_c (W~ z)_c, |z| <= 1 `[f, d]`.
        third: bound on each neuron's third-order part `[f]`; third_ball: on the L2 norm of all of them.
        noise: radius of the rounding of the trace; out: ellipsoid of the residual after the half `[d, d]`.
    """

    norm: NormBound
    gate: Tensor
    product: Tensor
    third: Tensor
    third_ball: Tensor
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
    theta = (SILU_THIRD / 6 * tr.g.abs() * reach + SILU_SECOND / 2 * reach_up) * UP
    third_ball = gram_norm_upper((theta * reach)[:, None] * gate)
    bound = MlpBound(norm, gate, product, theta * reach.square() * UP, third_ball, noise, p)
    return replace(bound, out=_out(bound, maps, remainder_only=remainder_only))


def _out(bound: MlpBound, maps: Maps, *, remainder_only: bool) -> Tensor:
    w2 = maps.layer.w2
    linear = [] if remainder_only else [image(maps.mlp, bound.norm.p)]
    parts = [*linear, *bound.norm.remainder(maps.mlp_out), _quadratic(bound, w2)]
    third = bound.third_ball.square() * (w2 @ w2.T)
    out = combine([*parts, widen(third, third.diagonal().sum()), ball(bound.noise, parts[0])])
    return widen(out, out.diagonal().sum())


def _quadratic(bound: MlpBound, w2: Tensor) -> Tensor:
    """W2 (1/2)[(UU')o(W~W~') + (UW~')o(UW~')'] W2': T(z, z) lies in E(T T') because |z z'|_F = |z|^2 <= 1."""
    u, w = bound.gate, bound.product
    mixed = u @ w.T
    inner = ((u @ u.T) * (w @ w.T) + mixed * mixed.T) / 2
    out = w2 @ inner @ w2.T
    # 1e-12 of |W2|_F^2 tr(inner) covers the Gram products too: their errors are relative to |u_c| |w_c|
    return widen(out, 1e-2 * w2.square().sum() * inner.diagonal().sum() + out.diagonal().sum())
