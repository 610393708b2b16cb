"""How far page errors can move a direction at one attention, wherever the token's own error lies in its ellipsoid.

A page error e meets the direction as <G, e>, where G depends on the token's own error: G = G_0 + D. Taking the two
apart by absolute values would add sup |D| |e| for every row. But the worst e follows G_0, and |G_0 + D| is at most
|G_0| + <u, D> + |D|^2 / (2 |G_0|) with u = G_0 / |G_0|, where <u, D> is linear in the token's error: summed with its
signs over all rows, heads, keys and values it is one linear form on the ellipsoid.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.attention_bound import AttentionBound, own_change
from proofkv_verify.decode.ellipsoid import UP, row_norms, support
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.row_sets import box_and_ball, page_reach, page_shares
from proofkv_verify.decode.shapes import split


@dataclass(frozen=True, slots=True)
class _Met:
    """The pages' part in each direction `[R]`, and radius times u of every row that was taken with its sign."""

    total: Tensor
    signed: Tensor


def page_radius(maps: Maps, bound: AttentionBound, heads: Tensor) -> Tensor:
    """The largest sum of all products with a page error over the sidecars' sets and the ellipsoid, rounded up `[R]`.

    Keys: G = scale sum over the group's heads of p_t (b.c_t (1 + L_t z) - M z) (q + dq), M z the weighted mean of b.c
    L z, which is what centring takes off. Values: G = sum of p'_t b. Of what is no product with a page error it
    holds the token's own key and value: the products dq . dk, and the change of the weight of its own value.

    Args:
        maps: of the layer.
        bound: of its attention.
        heads: the directions at the heads' outputs, a @ wo `[H, R, D]`.
    """
    means = heads @ maps.heads
    reach = support(bound.p_in, means)
    keys, form = _keys(maps, bound, heads, means, reach)
    values, more, loose = _values(maps, bound, heads)
    weighted = (heads @ maps.weighted[:, -1, :, None])[..., 0].abs() * (1 + bound.lin[:, -1, None])
    itself = ((weighted + maps.trace.p[:, -1, None] * reach) * bound.own[:, None]).sum(0) * maps.scale
    total = keys + values + loose + itself + own_value(maps, bound, heads) + support(bound.p_in, form + more)
    return total * UP


def own_value(maps: Maps, bound: AttentionBound, heads: Tensor) -> Tensor:
    """What the change of the weight of the token's own value adds in each direction `[R]`."""
    reach = support(bound.p_in, heads @ maps.layer.wv[maps.of])
    return (own_change(bound, maps.trace.p)[:, None] * reach).sum(0) * UP


def _keys(maps: Maps, bound: AttentionBound, heads: Tensor, means: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """The keys' part `[R]`, and the linear form of the token's error that goes with it `[R, d]`."""
    sets, q, dq = maps.sets, maps.trace.q, bound.dq[:, None, None]
    p = maps.trace.p[:, None, :-1]
    mass = heads @ maps.weighted[:, :-1].mT * maps.scale
    moved = mass.abs() * bound.lin[:, None, :-1] + p * reach[..., None] * maps.scale
    length = row_norms(q)[:, None, None]
    twice = _grouped(maps, moved * dq).sum(2) * UP
    change = _grouped(maps, moved * length + mass.abs() * dq).sum(2) * UP + twice
    pages = sets.key_sigma.shape[-1], sets.page_size
    paged = _page_norms(moved, *pages) * (length + dq) + _page_norms(mass, *pages) * dq
    paged = _grouped(maps, paged).sum(2) * UP
    known = (sets.key_norm, sets.key_box, sets.key_sigma)
    met = _meet(_grouped(maps, mass), _grouped(maps, q)[None], known, sets.page_size, (change, twice, paged))
    along = _by_head(met.signed @ _grouped(maps, q).mT)
    form = _back(maps, mass * along, maps.rows[:, :-1]) - (p * along).sum(-1, keepdim=True) * maps.scale * means
    weighted = (_grouped(maps, mass) @ met.signed).flatten(1, 2).transpose(0, 1)
    slack = 1e-12 * _sizes(maps, bound, mass * along) + 1e-9 * met.total
    return met.total + slack, (form + weighted @ maps.trace.wq).sum(0)


def _values(maps: Maps, bound: AttentionBound, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The values' part `[R]`, its linear form `[R, d]`, and what the weights' change beyond it adds `[R]`."""
    sets, p = maps.sets, maps.trace.p
    ratio = (p * _ratio(bound))[:, None, :-1] * row_norms(heads)[..., None]
    known = (sets.value_norm, sets.value_box[..., None], sets.value_sigma)
    paged = _grouped(maps, _page_norms(ratio, sets.value_sigma.shape[-1], sets.page_size)).sum(2) * UP
    change = (_grouped(maps, ratio).sum(2) * UP, torch.zeros((), dtype=p.dtype), paged)
    met = _meet(_grouped(maps, p[:, :-1])[None], _grouped(maps, heads), known, sets.page_size, change)
    along = _by_head(met.signed @ _grouped(maps, heads).mT)
    along = torch.nn.functional.pad(along, (0, 1))
    p = p[:, None]
    mean = (p * along).sum(-1, keepdim=True)
    centred = (p * (along - mean).abs() * (bound.moved + bound.drift)[:, None]).sum(-1)
    plain = (p * along.abs() * (bound.cross + bound.drift)[:, None]).sum(-1)
    slack = 1e-12 * _sizes(maps, bound, (p * along)[..., :-1])
    return met.total, _back(maps, p * along, maps.rows).sum(0), torch.minimum(centred, plain).sum(0) + slack


def _ratio(bound: AttentionBound) -> Tensor:
    """At least |p'_i / p_i - 1| `[H, n]`."""
    return bound.lin + bound.cross + bound.drift


def _grouped(maps: Maps, x: Tensor) -> Tensor:
    """`[H, ...]` as `[G, m, ...]`, or `[H, R, ...]` as `[R, G, m, ...]`, by KV head."""
    groups = len(maps.trace.wk)
    return split(x, 0, (groups, -1)) if x.dim() == 2 else split(x.transpose(0, 1), 1, (groups, -1))


def _by_head(x: Tensor) -> Tensor:
    """`[R, G, T, m]` as `[H, R, T]`."""
    return x.permute(1, 3, 0, 2).flatten(0, 1)


def _back(maps: Maps, weights: Tensor, rows: Tensor) -> Tensor:
    """Sums of score changes as linear forms of the normalised input: weights `[H, R, t]` to `[H, R, d]`."""
    form: Tensor = weights @ rows @ maps.turns
    return form


def _sizes(maps: Maps, bound: AttentionBound, weights: Tensor) -> Tensor:
    """What the rounding of such a form is measured by `[R]`."""
    lengths = (weights.abs() @ row_norms(maps.rows[:, : weights.shape[-1]])[..., None])[..., 0]
    reach = torch.linalg.matrix_norm(maps.turns) * bound.p_in.trace().clamp_min(0).sqrt()
    sizes: Tensor = (lengths * reach[:, None]).sum(0)
    return sizes


def _page_norms(x: Tensor, pages: int, size: int) -> Tensor:
    """L2 norm over the rows of each page: `[H, R, T]` to `[H, R, P]`."""
    return row_norms(split(x[..., : pages * size], -1, (pages, size)))


def _meet(
    coefficient: Tensor,
    vectors: Tensor,
    known: tuple[Tensor, Tensor, Tensor],
    size: int,
    changes: tuple[Tensor, Tensor, Tensor],
) -> _Met:
    """Bounds sum_t <G_t + D_t, e_t> but for the signed linear forms, for errors in all their sets at once.

    Of G_t a share is left to the page's spectral ball, the rest to the row's box and ball; D_t joins the part in the
    ball, or the page's where all is left to that.

    Args:
        coefficient: `[R, G, m, T]`, with G_t = sum_m coefficient_mt vector_m.
        vectors: `[R, G, m, D]`.
        known: norms `[G, T]`, boxes `[G, T, D or 1]`, sigmas `[G, P]`.
        size: rows of a page.
        changes: bounds on |D_t| `[R, G, T]`, on the part of D_t that is not linear in the token's error, and on the
            nuclear norm of D over each page `[R, G, P]`.
    """
    norm, box, sigma = known
    change, twice, page_change = changes
    pages, inside = sigma.shape[-1], sigma.shape[-1] * size
    side, inner = box_and_ball(coefficient.mT @ vectors, norm, box)
    length = row_norms(inner)
    shares = page_shares(split((side + length * norm)[..., :inside], -1, (pages, size)))
    own = torch.nn.functional.pad((1 - shares).flatten(-2), (0, norm.shape[-1] - inside), value=1.0)
    rest = own * length
    signed = (change < rest) & (norm > 0)
    curved = rest + twice + change.square() / (2 * torch.where(rest > 0, rest, 1.0))
    rows = own * side + torch.where(signed, curved, rest + change) * norm
    apart = split(rows[..., :inside], -1, (pages, size)).sum(-1)
    apart[-1] = torch.minimum(apart[-1], page_change * sigma)
    best, chosen = (apart + page_reach(shares, coefficient, vectors, sigma)).min(0)
    chosen = torch.nn.functional.pad(chosen.repeat_interleave(size, -1), (0, norm.shape[-1] - inside))
    weight = torch.where(signed.gather(0, chosen[None])[0], norm / torch.where(length > 0, length, 1.0), 0.0)
    total = best.sum((1, 2)) + rows[0, ..., inside:].sum((1, 2))
    return _Met(total * UP, weight[..., None] * inner)


def page_parts(maps: Maps, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """First-order part of each page's keys and values in each direction `[R, G, P]`, and of the rows after them `[R]`.

    Keys: G_t = scale sum over the group's heads of p_t (a_h . c_t) q_h, split between its row's box and ball and the
    page's spectral ball. Values: G_t = sum of p_t a_h, likewise.

    Args:
        maps: of the layer.
        heads: a @ wo `[H, R, D]`.
    """
    sets, groups = maps.sets, len(maps.trace.wk)
    mass = split((heads @ maps.weighted[:, :-1].mT * maps.scale).transpose(0, 1), 1, (groups, -1))
    heads = split(heads.transpose(0, 1), 1, (groups, -1))
    p, q = (split(x, 0, (groups, -1)) for x in (maps.trace.p[:, :-1], maps.trace.q))
    keys, loose_keys = _page_bound(mass, q[None], (sets.key_norm, sets.key_box, sets.key_sigma), sets.page_size)
    box = sets.value_box[..., None]
    values, loose_values = _page_bound(p[None], heads, (sets.value_norm, box, sets.value_sigma), sets.page_size)
    return keys, values, loose_keys + loose_values


def _page_bound(
    coefficient: Tensor, vectors: Tensor, known: tuple[Tensor, Tensor, Tensor], size: int
) -> tuple[Tensor, Tensor]:
    """Bounds sum_t <sum_m coefficient_mt vector_m, e_t>, by page `[R, G, P]` and over the rows after the pages `[R]`.

    coefficient `[R, G, m, T]`, vectors `[R, G, m, D]`, known: norms `[G, T]`, boxes `[G, T, D or 1]`, sigmas `[G, P]`.
    """
    norm, box, sigma = known
    inside = sigma.shape[-1] * size
    side, inner = box_and_ball(coefficient.mT @ vectors, norm, box)
    alone = side + row_norms(inner) * norm
    paged = split(alone[..., :inside], -1, (sigma.shape[-1], size))
    shares = page_shares(paged)
    best = (((1 - shares) * paged).sum(-1) + page_reach(shares, coefficient, vectors, sigma)).amin(0)
    return best * UP, alone[..., inside:].sum((1, 2)) * UP
