"""RMSNorm and SwiGLU over an ellipsoid: exact Jacobian, the quadratic map and the third order as ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, ball, combine, image, root, row_norms, spectral_upper, widen
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.norm_half import NormBound, norm_half
from proofkv_verify.decode.silu_range import largest_derivatives

_FLOAT32_SLACK = 2e-5


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
    linear = [] if remainder_only else [image(maps.mlp, bound.norm.p)]
    parts = [*linear, *bound.norm.remainder(maps.mlp_out), _beyond_linear(bound, maps.layer.w2)]
    out = combine([*parts, ball(bound.noise, parts[0])])
    return widen(out, out.diagonal().sum())


def _beyond_linear(bound: MlpBound, w2: Tensor) -> Tensor:
    """W2 X W2' for an ellipsoid X of the quadratic map and the third order, summed before W2.

    Quadratic: (1/2)[(UU')o(W~W~') + (UW~')o(UW~')'], since T(z, z) lies in E(T T') for |z z'|_F = |z|^2 <= 1. Third
    order r_c, |r_c| <= theta_c (U_c z)^2: by Cauchy-Schwarz, with b_c = |U_c|, |w.r|^2 <= (sum w_c^2 theta_c b_c^2)
    lmax(U' diag(theta) U). The weights of the sum are those that are best if the columns of W2 were orthogonal.
    """
    u, theta = bound.gate, bound.theta
    inner, trace = _gram_products(u, bound.product)
    cubic = theta * u.square().sum(-1) * spectral_upper((u * theta[:, None]).T @ u)
    lengths = w2.square().sum(0)
    sizes = [(lengths * part).sum().sqrt() for part in (inner.diagonal(), cubic)]
    ratio = (sizes[1] / sizes[0]).nan_to_num(1.0).clamp(1e-6, 1e6)
    inner = inner * (1 + ratio)
    inner.diagonal().add_(cubic * (1 + 1 / ratio))
    out = w2 @ inner @ w2.T
    slack = w2.square().sum() * (trace * (1 + ratio) + cubic.sum() * (1 + 1 / ratio))
    return widen(out, 1e-2 * slack + out.diagonal().sum())


def _gram_products(u: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """At least (1/2)[(UU')o(WW') + (UW')o(UW')'], and its trace: products in float32, slack by rows.

    With m_c = |u_c| |w_c| an entry is off by less than 2e-5 (n / 128 + 1) m_c m_k for n columns (n + 3 roundings of
    2^-24 in each of two factors), and a matrix with entries at most m_c m_k lies below (sum m) diag(m). Rows are
    scaled to at most 1 first, so that nothing overflows.
    """
    tops = [x.norm(dim=-1).amax().clamp_min(1e-300) for x in (u, w)]
    a, b = ((x / top).float() for x, top in zip((u, w), tops, strict=True))
    mixed = a @ b.T
    inner = ((a @ a.T) * (b @ b.T) + mixed * mixed.T).double() / 2
    sizes = (u.norm(dim=-1) / tops[0]) * (w.norm(dim=-1) / tops[1]) + 1e-30
    slack = _FLOAT32_SLACK * (u.shape[1] / 128 + 1) * sizes.sum() * sizes
    inner.diagonal().add_(slack)
    inner = inner * (tops[0] * tops[1]).square()
    return inner, inner.diagonal().sum()
