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
    parts = [image(maps.attention, bound.norm.p), *bound.norm.remainder(maps.attention_out), heads]
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
    """Ellipsoids in each head's output `[H, D, D]`: token segments, values, the quadratic map, the change of Z."""
    every = _symbols(bound, maps, metric, bound.moved, bound.longest)
    symbols = every if first_order else _symbols(bound, maps, metric, bound.bil, bound.dq)
    values = value_radius(bound, maps) if first_order else value_change(bound, maps.trace.p)
    flat = bound.tensor.flatten(-2)
    quadratic = flat @ flat.mT / 4 if flat.any() else torch.zeros_like(metric)
    linear = image(maps.heads, bound.p_in)
    crossed = _crossed(bound, maps, metric)
    drift = combine([linear, every], metric) * bound.zz.square()[:, None, None]
    quadratic = widen(quadratic, quadratic.diagonal(dim1=-2, dim2=-1).sum(-1))
    own = image(maps.layer.wv[maps.of], bound.p_in) * own_change(bound, maps.trace.p).square()[:, None, None] * UP
    return combine([symbols, crossed, ball(values, symbols), own, quadratic, drift], metric)


def _crossed(bound: AttentionBound, maps: Maps, metric: Tensor) -> Tensor:
    """sum p_i c_i s_i (rows_i z) with |s_i| <= cross_i, by Cauchy-Schwarz over the tokens, per head `[H, D, D]`."""
    c, p = maps.centred, maps.trace.p
    lengths = ((c @ metric) * c).sum(-1).clamp_min(0).sqrt() + 1e-9 * c.norm(dim=-1)
    share = p * bound.cross * lengths * torch.where(bound.lin == 0, 0.0, bound.lin.reciprocal())
    weights = p * bound.cross * bound.lin * torch.where(lengths == 0, 0.0, lengths.reciprocal())
    return spread(share, bound.rows)[:, None, None] * ((c * weights[..., None]).mT @ c) * UP


def _symbols(bound: AttentionBound, maps: Maps, metric: Tensor, keys: Tensor, query: Tensor) -> Tensor:
    """The segments along p_i c_i, keys' part by page in whichever form is smaller: C' diag(weights) C, per head.

    A score moves by at most `keys` `[H, n]`, by its key's error at a vector no longer than `query` `[H]`.
    """
    tr, sets, c = maps.trace, maps.sets, maps.centred
    pages, size = sets.key_sigma.shape[-1], sets.page_size
    lengths = ((c @ metric) * c).sum(-1).clamp_min(0).sqrt() + 1e-9 * c.norm(dim=-1)
    scaled, inside = tr.p * lengths, pages * size
    paged = split(scaled[:, :inside], 1, (pages, size))
    reach = query[:, None] * maps.scale * sets.key_sigma[maps.of] * UP
    _, won = page_groups(keys * scaled, reach * row_norms(paged), size)
    alone = torch.where(won[..., None], 0.0, split(keys[:, :inside], 1, (pages, size))).flatten(1)
    alone = torch.cat([alone, keys[:, inside:]], 1) + bound.even
    group = torch.where(won, reach * row_norms(paged), 0.0)
    total = ((alone * scaled).sum(-1) + group.sum(-1)) * UP
    safe = torch.where(lengths == 0, 1.0, lengths)
    weights = alone * tr.p / safe
    spread = torch.where(won, reach.square() / torch.where(group == 0, 1.0, group), 0.0)
    weights[:, :inside] += (spread[..., None] * split(tr.p[:, :inside], 1, (pages, size)).square()).flatten(1)
    found: Tensor = total[:, None, None] * ((c * weights[..., None]).mT @ c)
    return found * UP
