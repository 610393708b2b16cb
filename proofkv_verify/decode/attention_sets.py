"""The ellipsoids of what an attention half adds to the residual stream."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.decode.attention_bound import (
    AttentionBound,
    own_change,
    page_groups,
    spread,
    value_change,
    value_radius,
)
from proofkv_verify.decode.ellipsoid import UP, ball, combine, image, row_norms, trace_root, widen
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.shapes import split


def error_set(bound: AttentionBound, maps: Maps) -> Tensor:
    """The ellipsoid after the half: the image of E(p), the norm's remainders, the heads' own sets, the rounding."""
    heads = _heads_set(bound, maps, first_order=True)
    parts = [*bound.norm.behind_residual(maps.attention_out), heads]
    out = combine([*parts, ball(bound.noise, heads)])
    return widen(out, out.diagonal().sum())


def remainder_set(bound: AttentionBound, maps: Maps) -> Tensor:
    """The ellipsoid of all that is neither linear in the error before nor first order in keys and values."""
    heads = _heads_set(bound, maps, first_order=False)
    out = combine([heads, ball(bound.noise, heads)])
    return widen(out, out.diagonal().sum())


def _heads_set(bound: AttentionBound, maps: Maps, *, first_order: bool) -> Tensor:
    """The sum of the heads' own sets behind wo; each is scaled by its weight before, so that one product sums them."""
    wo = maps.layer.wo
    metric = wo.mT @ wo
    sets = _head_sets(bound, maps, metric, first_order=first_order)
    weights = (sets * metric).sum((-2, -1)).clamp_min(0).sqrt() + 1e-9 * trace_root(sets)
    scaled = sets * torch.where(weights == 0, 0.0, weights.sum() / weights)[:, None, None] * UP
    flat = wo.transpose(0, 1).flatten(1)
    out = (wo @ scaled).transpose(0, 1).flatten(1) @ flat.T
    return widen(out, (scaled.diagonal(dim1=-2, dim2=-1).sum(-1) * wo.square().sum((-2, -1))).sum())


def _head_sets(bound: AttentionBound, maps: Maps, metric: Tensor, *, first_order: bool) -> Tensor:
    """Ellipsoids in each head's output `[H, D, D]`: token segments, values, the quadratic map, the change of Z.

    The change of Z moves each head along all that its score changes do, at most zz times. Its part along the tokens is
    a set C' diag(weights) C, as that of the segments and of the crossed terms; their weights are summed before the
    product, as in `combine`.
    """
    c, p_in, zz = maps.centred, bound.p_in, bound.zz[:, None]
    lengths = ((c @ metric) * c).sum(-1).clamp_min(0).sqrt() + 1e-9 * row_norms(c)
    every = _segments(bound, maps, lengths, bound.moved, bound.longest)
    alone = every if first_order else _segments(bound, maps, lengths, bound.bil, bound.dq)
    weights = torch.stack([alone, _crossed(bound, maps, lengths), every * zz.square()])
    sizes = (weights * lengths.square()).sum(-1).sqrt()
    total = (weights * torch.where(sizes == 0, 0.0, sizes.sum(0) / sizes)[..., None]).sum(0) * UP
    segments = (c * total[..., None]).mT @ c
    values = value_radius(bound, maps) if first_order else value_change(bound, maps.trace.p)
    carried = image(torch.cat([maps.heads, maps.layer.wv]), p_in)
    change = own_change(bound, maps.trace.p)[:, None, None]
    linear, own = carried[: len(c)] * zz[..., None].square() * UP, carried[len(c) :][maps.of] * change.square() * UP
    return combine([segments, ball(values, segments), own, _quadratic(bound), linear], metric)


def _quadratic(bound: AttentionBound) -> Tensor:
    """The quadratic map's ellipsoids: (1/4) W'(RR' o RR')W for the rows R and p_i c_i = W_i, per head `[H, D, D]`."""
    near, weighted = bound.near, bound.near_weighted
    found = weighted.mT @ (near @ near.mT).square() @ weighted / 4
    return widen(found, (row_norms(weighted) * near.square().sum(-1)).sum(-1).square())


def _crossed(bound: AttentionBound, maps: Maps, lengths: Tensor) -> Tensor:
    """sum p_i c_i s_i (rows_i z) with |s_i| <= cross_i, by Cauchy-Schwarz over the tokens: the weights `[H, n]`."""
    scale = maps.trace.p * bound.cross
    share = scale * lengths * torch.where(bound.lin == 0, 0.0, bound.lin.reciprocal())
    weights = scale * bound.lin * torch.where(lengths == 0, 0.0, lengths.reciprocal())
    return spread(share, bound.rows)[:, None] * weights * UP


def _segments(bound: AttentionBound, maps: Maps, lengths: Tensor, keys: Tensor, query: Tensor) -> Tensor:
    """The segments along p_i c_i, keys' part by page in whichever form is smaller: the weights `[H, n]`.

    A score moves by at most `keys` `[H, n]`, by its key's error at a vector no longer than `query` `[H]`.
    """
    tr, sets = maps.trace, maps.sets
    pages, size = sets.key_sigma.shape[-1], sets.page_size
    scaled, inside = tr.p * lengths, pages * size
    paged = split(scaled[:, :inside], 1, (pages, size))
    reach = query[:, None] * maps.scale * sets.key_sigma[maps.of] * UP
    _, won = page_groups(keys * scaled, reach * row_norms(paged), size)
    alone = torch.where(won[..., None], 0.0, split(keys[:, :inside], 1, (pages, size))).flatten(1)
    alone = torch.cat([alone, keys[:, inside:]], 1) + bound.even
    group = torch.where(won, reach * row_norms(paged), 0.0)
    total = ((alone * scaled).sum(-1) + group.sum(-1)) * UP
    weights = alone * tr.p / torch.where(lengths == 0, 1.0, lengths)
    shared = torch.where(won, reach.square() / torch.where(group == 0, 1.0, group), 0.0)
    weights[:, :inside] += (shared[..., None] * split(tr.p[:, :inside], 1, (pages, size)).square()).flatten(1)
    return total[:, None] * weights * UP
