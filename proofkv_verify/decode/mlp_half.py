"""RMSNorm and SwiGLU over an ellipsoid: exact Jacobian, the quadratic map and the third order as ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, ball, combine, root, row_norms, single_precision, widen
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
        noise: radius of the rounding of the trace.
    """

    norm: NormBound
    gate: Tensor
    product: Tensor
    theta: Tensor
    noise: float

    @property
    def failed(self) -> bool:
        """No bound was shown."""
        return self.norm.failed or not bool(self.theta.isfinite().all())


def mlp_half(maps: Maps, p: Tensor, noise: float) -> MlpBound:
    """Bounds what the MLP's Jacobian leaves out, given that before the half the error lies in E(p)."""
    layer, tr = maps.layer, maps.trace
    norm = norm_half(tr.mid, tr.rho2, p)
    b = root(norm.out)
    _, first, second = maps.silu
    gate, up = layer.w1 @ b, layer.w3 @ b
    product = first[:, None] * up + (second * tr.g / 2)[:, None] * gate
    reach, reach_up = row_norms(gate), row_norms(up)
    bend, twist = largest_derivatives(tr.u, reach)
    theta = (twist / 6 * tr.g.abs() * reach + bend / 2 * reach_up) * UP
    return MlpBound(norm, gate, product, theta, noise)


def error_after_mlp(bound: MlpBound, maps: Maps) -> Tensor:
    """The ellipsoid of the residual after the half `[d, d]`."""
    return _sum(bound, maps, bound.norm.behind_residual(maps.mlp_out))


def remainder_after_mlp(bound: MlpBound, maps: Maps) -> Tensor:
    """`error_after_mlp` without the image of the error before under the Jacobian `[d, d]`."""
    return _sum(bound, maps, bound.norm.remainder(maps.mlp_out))


def _sum(bound: MlpBound, maps: Maps, parts: tuple[Tensor, ...]) -> Tensor:
    out = combine([*parts, _beyond_linear(bound, maps.layer.w2), ball(bound.noise, parts[0])])
    return widen(out, out.diagonal().sum())


def _beyond_linear(bound: MlpBound, w2: Tensor) -> Tensor:
    """W2 X W2' for an ellipsoid X of the quadratic map and the third order, summed before W2.

    Quadratic: (1/2)[(UU')o(W~W~') + (UW~')o(UW~')'], since T(z, z) lies in E(T T') for |z z'|_F = |z|^2 <= 1. Third
    order r_c, |r_c| <= theta_c (U_c z)^2: by Cauchy-Schwarz, with b_c = |U_c|, |w.r|^2 <= (sum w_c^2 theta_c b_c^2)
    lmax(U' diag(theta) U). The weights of the sum are those that are best if the columns of W2 were orthogonal.
    """
    grams = _grams(bound)
    cubic = bound.theta * bound.gate.square().sum(-1) * grams.third
    lengths = w2.square().sum(0)
    sizes = [(lengths * part).sum().sqrt() for part in (grams.inner.diagonal() * grams.scale, cubic)]
    ratio = (sizes[1] / sizes[0]).nan_to_num(1.0).clamp(1e-6, 1e6)
    inner = grams.inner
    inner.diagonal().add_(cubic / (grams.scale * ratio))
    out = w2 @ inner @ w2.T
    out = (out + out.T) * (grams.scale * (1 + ratio) / 2)  # a float32 product need not be symmetric to more than 1e-7
    slack = lengths.sum() * inner.diagonal().sum() * (grams.scale * (1 + ratio))
    return widen(out, 1e-2 * slack + out.diagonal().sum())


@dataclass(frozen=True, slots=True)
class _Grams:
    """scale * inner is at least (1/2)[(UU')o(WW') + (UW')o(UW')'] `[f, f]`; third at least lmax(U' diag(theta) U)."""

    inner: Tensor
    scale: Tensor
    third: Tensor


def _grams(bound: MlpBound) -> _Grams:
    """Products in float32, slack by rows.

    Rows are scaled to at most 1 first, so that nothing overflows. With m_c = |u_c| |w_c| an entry of the sum is off by
    less than 4e-5 (n / 128 + 1) m_c m_k for n columns (n + 3 roundings of 2^-24 in each of four factors), and a matrix
    with entries at most m_c m_k lies below (sum m) diag(m). lmax is at most the Frobenius norm, whose square is the
    sum of theta_c theta_k (u_c.u_k)^2; that loses f more roundings, each at most 2^-24 of sum theta_c |u_c|^2. What is
    below 2^-126 in float32 may vanish: that is made up for by 1e-14 on m_c and on lmax.
    """
    u, w = bound.gate, bound.product
    long, wide = (torch.linalg.vector_norm(x, dim=-1) for x in (u, w))
    tops = [x.amax().clamp_min(1e-70) for x in (long, wide)]
    a, b = ((x / top).to(single_precision()) for x, top in zip((u, w), tops, strict=True))
    mixed, inner = a @ b.T, a @ a.T
    top = bound.theta.amax().clamp_min(1e-70)
    weights = (bound.theta / top).to(a.dtype)
    third = (weights @ inner.square() @ weights).double().sqrt()
    inner = inner.mul_(b @ b.T).addcmul_(mixed, mixed.T).double()
    lost, long = 2e-5 * (u.shape[1] / 128 + 1), long / tops[0]
    third = third + (lost + 1e-7 * len(u)) * (bound.theta / top * long.square()).sum() + 1e-14
    sizes = long * (wide / tops[1]) + 1e-14
    inner.diagonal().add_(2 * lost * sizes.sum() * sizes)
    return _Grams(inner, (tops[0] * tops[1]).square() / 2 * UP, third * tops[0].square() * top * UP)
