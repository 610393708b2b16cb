"""Score differences pulled back through the exact Jacobians: what each page and each remainder can do to each of them.

A difference at the end is a row a; through a half layer with Jacobian A it becomes a A. At each half the errors that
enter there are bounded in the direction a alone, page errors summed over the heads of a KV group before any norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.attention_bound import AttentionBound, squares, swing, value_change
from proofkv_verify.decode.ellipsoid import UP, row_norms, spectral_upper, support, trace_root
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.mlp_half import MlpBound
from proofkv_verify.decode.page_radius import own_value, page_parts, page_radius

_ROUNDED = 1e-10  # what the float64 Jacobians may be off by, relative to the direction and to the ellipsoid's size


@dataclass(frozen=True, slots=True)
class LayerBound:
    """The Jacobians of one layer and the bounds of its two halves."""

    maps: Maps
    attention: AttentionBound
    mlp: MlpBound


def pull_back(bounds: Sequence[LayerBound], directions: Tensor) -> Tensor:
    """Bounds |a.(x_true - x_nominal)| for directions `[R, d]` at the last residual, rounded up `[R]`."""
    a, total = directions, torch.zeros(len(directions), dtype=directions.dtype)
    for bound in reversed(bounds):
        maps = bound.maps
        total = total + mlp_remainder(maps, bound.mlp, a)
        a = a @ maps.mlp
        total = total + page_radius(maps, bound.attention, a @ maps.layer.wo) + even_remainder(maps, bound.attention, a)
        total = total + bound.attention.norm.support(a @ maps.attention_out)
        a = a @ maps.attention
    return total * UP


def first_order(maps: Sequence[Maps], directions: Tensor) -> tuple[Tensor, Tensor]:
    """The page errors' first order: summed `[R]`, and of each unit `[R, 2, L, G, P]`. Alone it bounds nothing."""
    a, total, units = directions, torch.zeros(len(directions), dtype=directions.dtype), []
    for at in reversed(maps):
        a = a @ at.mlp
        keys, values, loose = page_parts(at, a @ at.layer.wo)
        total = total + keys.sum((1, 2)) + values.sum((1, 2)) + loose
        units.append(torch.stack([keys, values], 1))
        a = a @ at.attention
    return total * UP, torch.stack(units[::-1], 2)


def mlp_remainder(maps: Maps, bound: MlpBound, a: Tensor) -> Tensor:
    """What the norm's remainder, the quadratic map and the third order can add in each direction `[R]`."""
    w = a @ maps.layer.w2
    form = (bound.gate.T[None] * w[:, None]) @ bound.product
    quadratic = spectral_upper((form + form.mT) / 2)
    slack = 1e-10 * (w.abs() @ (row_norms(bound.gate) * row_norms(bound.product)))
    third = spectral_upper((bound.gate.T[None] * (w.abs() * bound.theta)[:, None]) @ bound.gate)
    total: Tensor = bound.norm.support(a @ maps.mlp_out) + quadratic + slack + third
    return total + row_norms(a) * (bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))


def heads_remainder(maps: Maps, bound: AttentionBound, a: Tensor) -> Tensor:
    """All that the heads leave out beside the pages' first order, products of errors by their absolute values `[R]`."""
    heads = a @ maps.layer.wo
    mass = (heads @ maps.weighted.mT).abs()
    symbols = (mass * bound.bil[:, None]).sum((0, 2))
    crossed = swing(mass.transpose(0, 1) * bound.cross, bound.rows, bound.lin).sum(-1)
    values = (row_norms(heads) * value_change(bound, maps.trace.p)[:, None]).sum(0)
    total: Tensor = symbols + crossed + values + own_value(maps, bound, heads) + even_remainder(maps, bound, a)
    return total


def even_remainder(maps: Maps, bound: AttentionBound, a: Tensor) -> Tensor:
    """Squares and higher powers, the change of Z, the quadratic map and rounding in each direction `[R]`."""
    heads = a @ maps.layer.wo
    mass = (heads @ maps.weighted.mT).abs()
    symbols = squares(mass.transpose(0, 1), bound).sum(-1)
    reach = support(bound.p_in, heads @ maps.heads)
    drift = (bound.zz[:, None] * (reach + (mass * bound.cross[:, None]).sum(-1))).sum(0)
    heads = heads.transpose(0, 1)
    quadratic = torch.einsum("rhc,hcab->rhab", heads, bound.tensor) / 2
    slack = 1e-10 * (row_norms(heads) * torch.linalg.vector_norm(bound.tensor, dim=(1, 2, 3))).sum(-1)
    bent = spectral_upper(quadratic).sum(-1) + slack
    total: Tensor = symbols + drift + bent
    return total + row_norms(a) * (bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))
