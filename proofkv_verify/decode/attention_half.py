"""Attention over an ellipsoid and the sidecars' sets: exact Jacobian, and sets for everything else.

For head h let eps_i be the centred change of score i, p the weights, c_i = v_i - o. Then, with Z >= 1 by Jensen,
    o' - o = (1/Z) sum p_i (e^eps_i - 1) c_i + (1/Z) sum p_i e^eps_i f_i
exactly. eps_i = L_i dh + pi_i, the second part from the key errors: |pi_i| <= kappa_i + bil_i before centring. The sum
is split into the linear part, the quadratic form of L dh, and a rest for which every token is a segment along p_i c_i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.decode.attention_bound import AttentionBound, spread, swing
from proofkv_verify.decode.attention_sets import error_set, remainder_set
from proofkv_verify.decode.ellipsoid import UP, is_point, product_upper, root, row_norms, spectral_upper, widen
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.model import LayerTrace
from proofkv_verify.decode.norm_half import norm_half
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.row_sets import box_and_ball
from proofkv_verify.decode.shapes import split

QUADRATIC_TOKENS = 64


@dataclass(frozen=True, slots=True)
class _Reach:
    """Per head: rows `[H, n, D + 1]` with centred score change rows @ z, |z| <= 1; sup |dq|, q.dq, |dq.dk|, |dv|."""

    rows: Tensor
    dq: Tensor
    along: Tensor
    own: Tensor
    dv: Tensor


def attention_half(
    maps: Maps, p: Tensor, noise: float, tail_kappa: Tensor | None = None, *, remainder_only: bool = False
) -> AttentionBound:
    """Bounds the residual stream after attention, given that before it the error lies in E(p).

    Args:
        maps: the Jacobians of the layer.
        p: ellipsoid of the error before.
        noise: radius of the trace's rounding.
        tail_kappa: sharper score changes by the keys of the last rows before the token's own `[H, m]`.
        remainder_only: `out` is what the Jacobians leave out: no image of E(p), no first order of keys and values, and
            not the norm's remainders either.
    """
    tr, sets = maps.trace, maps.sets
    norm = norm_half(tr.x, tr.rho, p)
    reach = _reach(maps, norm.out)
    kappa, bil = key_radii(tr, sets, maps.of, reach.dq, reach.own)
    if tail_kappa is not None and tail_kappa.shape[1]:
        kappa[:, -1 - tail_kappa.shape[1] : -1] = tail_kappa
    longest, moved = _moved(maps, reach, kappa + bil)
    lin = row_norms(reach.rows)
    cross = centred_radius(tr.p, moved)
    eta = (lin + cross) * UP
    e2 = exp_minus_linear(eta)
    third = (e2 - eta.square() / 2).clamp_min(0) + 1e-12 * e2
    near, bent = _nearest(maps, lin)
    even = cross.square() / 2 + third
    every = (torch.where(bent, 0.0, lin.square() / 2) + even) * UP
    cubic = torch.where(eta == 0, 0.0, third / eta.square()) * UP
    turn = spread(tr.p, reach.rows)
    z1 = turn / 2 + swing(cross, tr.p, lin, turn) + (tr.p * even).sum(-1)
    zz = z1 / (1 + z1) * UP
    value_norm = torch.cat([sets.value_norm, reach.dv[:, None]], 1)[maps.of]
    curve = cubic + torch.where(bent, 0.0, 0.5)
    drift = torch.maximum(e2, torch.log1p(z1 * UP)[:, None]) * UP
    few, weighted = (x.gather(1, near[..., None].expand(-1, -1, x.shape[-1])) for x in (reach.rows, maps.weighted))
    bound = AttentionBound(
        norm, reach.rows, lin, bil, moved, cross, every, curve, cubic, reach.dq, longest, reach.own, value_norm, drift,
        zz, turn, few, weighted, norm.out, eta.max(), noise, p,
    )  # fmt: skip
    return replace(bound, out=remainder_set(bound, maps) if remainder_only else error_set(bound, maps))


def exp_minus_linear(eta: Tensor) -> Tensor:
    """e^x - 1 - x for x >= 0, rounded up: a series below 0.01, where the difference would cancel."""
    small = eta.square() / 2 * (1 + eta / 3 + eta.square() / 12 + eta**3 / 50)
    return torch.where(eta < 0.01, small, torch.expm1(eta) - eta) * (1 + 1e-10)


def centred_radius(p: Tensor, radius: Tensor) -> Tensor:
    """Bound on |x_i - sum p x| for |x| <= radius: (1 - p_i) r_i + sum of p_j r_j over the others."""
    weighted = p * radius
    return (radius + weighted.sum(-1, keepdim=True) - 2 * weighted).clamp_min(0) * UP + 1e-14 * radius


def key_radii(tr: LayerTrace, sets: Sets, of: Tensor, dq: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """kappa and bil `[H, n + 1]`: what key errors move a score by, at the query and by the query's own error.

    The token's own row has no key error of its own; there |dq . dk| <= own is what remains.
    """
    scale = tr.q.shape[-1] ** -0.5 * UP
    norm = sets.key_norm[of]
    q = split(tr.q, 0, (len(tr.wk), -1))[:, :, None]
    side, inner = box_and_ball(q, sets.key_norm[:, None], sets.key_box[:, None])
    kappa = scale * (side + row_norms(inner) * sets.key_norm[:, None]).flatten(0, 1) * UP
    bil = scale * dq[:, None] * norm
    return torch.nn.functional.pad(kappa, (0, 1)), torch.cat([bil, scale * own[:, None]], 1)


def _moved(maps: Maps, reach: _Reach, both: Tensor) -> tuple[Tensor, Tensor]:
    """The largest |q + dq| `[H]`, and with it or kappa + bil, whichever is less, each score's change by keys `[H, n]`.

    The length is at most sqrt(|q|^2 + 2 q.dq + |dq|^2). It bounds q.e and dq.e together, never one of them alone.
    """
    longest = (row_norms(maps.trace.q).square() + 2 * reach.along + reach.dq.square()).sqrt() * UP
    whole = maps.scale * UP * longest[:, None] * maps.sets.key_norm[maps.of]
    return longest, torch.cat([torch.minimum(both[:, :-1], whole), both[:, -1:]], 1)


def _reach(maps: Maps, p_h: Tensor) -> _Reach:
    groups, heads = len(maps.trace.wk), len(maps.of)
    if is_point(p_h):
        none = p_h.new_zeros(heads)
        return _Reach(maps.rows[..., :0], none, none, none, p_h.new_zeros(groups))
    b, wk, wv = root(p_h), maps.trace.wk, maps.layer.wv
    given = (maps.turns, wk, wv)
    moved = torch.split(torch.cat([x.flatten(0, 1) for x in given]) @ b, [x.shape[0] * x.shape[1] for x in given])
    turned, keys, values = (split(part, 0, tuple(x.shape[:2])) for x, part in zip(given, moved, strict=True))
    gram = turned @ turned.mT
    lengths = spectral_upper(torch.cat([gram[:, :-1, :-1], values @ values.mT])).sqrt() * UP
    return _Reach(
        rows=maps.rows @ root(widen(gram, turned.square().sum((-2, -1)))),
        dq=lengths[: len(gram)] / maps.scale * UP,
        along=row_norms((maps.trace.q[:, None] @ turned[:, :-1])[:, 0]) / maps.scale * UP,
        own=product_upper(turned[:, :-1] / maps.scale, keys[maps.of]),
        dv=lengths[len(gram) :] * UP,
    )


def _nearest(maps: Maps, lin: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens whose second order is summed with its signs: ids `[H, k]`, and which they are `[H, n]`.

    The others keep theirs in their segment; with 64 tokens a head the radius grows by less than 1 %.
    """
    mass = maps.trace.p * lin.square() * row_norms(maps.centred)
    count = min(QUADRATIC_TOKENS, lin.shape[1]) if lin.any() else 0
    near = mass.topk(count, dim=-1).indices
    return near, torch.zeros_like(lin, dtype=torch.bool).scatter(1, near, value=True)
