"""Variant: the last layer's attention by the vertex rule, exact over independent score intervals and value balls."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.decode.adjoint import LayerBound, mlp_remainder, pull_back
from proofkv_verify.decode.ellipsoid import UP, row_norms, support
from proofkv_verify.decode.enclosure import RIVALS_FIRST, Enclosure, directions, layer_bounds, rivals_by_gap
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Sets


def enclose_vertex_last(model: Model, trace: Trace, sets: Sequence[Sets]) -> Enclosure:
    """The ellipsoid method, with the last layer's heads bounded by the vertex rule in each rival's direction."""
    rows, gaps = directions(model, trace)
    bounds, reason = layer_bounds(model, trace, sets)
    if reason:
        return Enclosure("vertex-last", True, trace.token, gaps, torch.full_like(gaps, torch.inf), reason)
    radii = support(bounds[-1].out, rows)
    order = rivals_by_gap(gaps, trace.token)
    left = order[~(gaps > radii)[order]]
    for start, end in ((0, RIVALS_FIRST), (RIVALS_FIRST, len(left))):
        picked = left[start:end]
        if len(picked) and bool((gaps > radii)[left[:start]].all()):
            radii[picked] = torch.minimum(radii[picked], _radius(bounds, rows[picked]))
    return Enclosure("vertex-last", True, trace.token, gaps, radii, "")


def _radius(bounds: Sequence[LayerBound], rows: Tensor) -> Tensor:
    last = bounds[-1]
    rest = mlp_remainder(last.maps, last.mlp, rows)
    a = rows @ last.maps.mlp
    heads = _heads(last, a)
    earlier = pull_back(bounds[:-1], a) if len(bounds) > 1 else torch.zeros(len(a), dtype=a.dtype)
    return (
        rest + heads + torch.minimum(earlier, support(last.attention.norm.p, a)) + last.attention.noise * row_norms(a)
    ) * UP


def _heads(last: LayerBound, a: Tensor) -> Tensor:
    """How far the heads' outputs fall in each direction: scores in their intervals, values in their balls."""
    maps, bound = last.maps, last.attention
    radius, logs = (bound.lin + bound.cross) * UP, maps.trace.p.log()
    heads = a @ maps.layer.wo
    found = torch.zeros(len(a), dtype=a.dtype)
    for h in range(len(heads)):
        gain = -(heads[h] @ maps.centred[h].T) + row_norms(heads[h])[:, None] * bound.value_norm[h]
        found = found + vertex_maximum(logs[h].expand_as(gain), radius[h].expand_as(gain), gain)
    return found


def vertex_maximum(logits: Tensor, radius: Tensor, gain: Tensor) -> Tensor:
    """The largest sum of softmax(l) g over |l - logits| <= radius, rounded up: best gains raised, the rest lowered.

    Args:
        logits: `[..., n]`, -inf allowed.
        radius: of each logit, at least 0.
        gain: of each token.
    """
    order = gain.argsort(-1, descending=True)
    logits, radius, gain = (x.gather(-1, order) for x in (logits, radius, gain))
    top = (logits + radius).amax(-1, keepdim=True)
    high, low = torch.exp(logits + radius - top), torch.exp(logits - radius - top)
    mass = high.cumsum(-1) + (low.sum(-1, keepdim=True) - low.cumsum(-1)).clamp_min(0)
    total = (high * gain).cumsum(-1) + ((low * gain).sum(-1, keepdim=True) - (low * gain).cumsum(-1))
    size = (high * gain.abs()).sum(-1) / mass.amin(-1)
    return (total / mass).amax(-1) + 1e-10 * size
