"""Score differences pulled back through the exact Jacobians: what each page and each remainder can do to each of them.

A difference at the end is a row a; through a half layer with Jacobian A it becomes a A. At each half the errors that
enter there are bounded in the direction a alone, page errors summed over the heads of a KV group before any norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from proofkv_verify.decode.attention_bound import AttentionBound, squares, swing, value_change
from proofkv_verify.decode.ellipsoid import UP, row_norms, single_precision, spectral_upper, support, trace_root
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.mlp_half import MlpBound, error_after_mlp
from proofkv_verify.decode.page_radius import own_value, page_parts, page_radius

_AT_ONCE = 8  # directions: 127 pulled back eight at a time took a quarter less than all at once
_ROUNDED = 1e-10  # what the float64 Jacobians may be off by, relative to the direction and to the ellipsoid's size


@dataclass(frozen=True)
class LayerBound:
    """The Jacobians of one layer and the bounds of its two halves."""

    maps: Maps
    attention: AttentionBound
    mlp: MlpBound

    @cached_property
    def out(self) -> Tensor:
        """The ellipsoid of the residual after the layer `[d, d]`; the last layer's is needed for hard rivals only."""
        return error_after_mlp(self.mlp, self.maps)


def pull_back(bounds: Sequence[LayerBound], directions: Tensor) -> Tensor:
    """Bounds |a.(x_true - x_nominal)| for directions `[R, d]` at the last residual, rounded up `[R]`."""
    return torch.cat([_pull_back(bounds, some) for some in torch.split(directions, _AT_ONCE)])


def _pull_back(bounds: Sequence[LayerBound], directions: Tensor) -> Tensor:
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
    total: Tensor = bound.norm.support(a @ maps.mlp_out) + _bent(bound, a @ maps.layer.w2)
    return total + row_norms(a) * (bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))


def _bent(bound: MlpBound, w: Tensor) -> Tensor:
    """The largest sum of w_c (u_c z)(w~_c z) and |w_c| theta_c (u_c z)^2 over |z| <= 1, either sign `[R]`: w `[R, f]`.

    It is z'Fz with either sign and z'Tz, so the larger |eigenvalue| of T + F and T - F bounds both together. Products
    are taken in float32 of rows that are scaled to at most 1, and lose (f + 8) 2^-24 of the sum of the terms' norms.
    """
    long, wide = row_norms(bound.gate), row_norms(bound.product)
    sizes = w.abs() @ (long * (wide + bound.theta * long))
    third = bound.theta[:, None] * bound.gate
    tops = [x.amax().clamp_min(1e-70) for x in (w.abs(), long, torch.maximum(wide, bound.theta * long))]
    weights, gate = (w / tops[0]).to(single_precision())[..., None], (bound.gate / tops[1]).to(single_precision())
    product, third = ((x / tops[2]).to(single_precision()) for x in (bound.product, third))
    first, square = (gate * weights).mT @ product, (gate * weights.abs()).mT @ third
    forms = torch.stack([square + first, square - first])
    found = spectral_upper((forms + forms.mT) / 2).amax(0)
    return (found + 1e-30) * tops[0] * tops[1] * tops[2] * UP + 1e-7 * (len(long) + 8) * sizes


def screen(last: LayerBound, a: Tensor) -> Tensor:
    """Bounds as `pull_back` does, from the ellipsoid before the last MLP and its neurons one by one: cheap for many.

    Quadratic map and third order are summed by absolute values over the neurons.
    """
    maps, mlp = last.maps, last.mlp
    gate = row_norms(mlp.gate)
    each = gate * row_norms(mlp.product) + mlp.theta * gate.square()
    total = support(last.attention.out, a @ maps.mlp) + (a @ maps.layer.w2).abs() @ each
    total = total + mlp.norm.support(a @ maps.mlp_out)
    return (total + row_norms(a) * (mlp.noise + _ROUNDED * float(trace_root(mlp.norm.p)))) * UP


def heads_remainder(maps: Maps, bound: AttentionBound, a: Tensor) -> Tensor:
    """All that the heads leave out beside the pages' first order, products of errors by their absolute values `[R]`."""
    heads = a @ maps.layer.wo
    mass = (heads @ maps.weighted.mT).abs()
    symbols = (mass * bound.bil[:, None]).sum((0, 2))
    along = (heads @ maps.centred.mT).abs().transpose(0, 1)
    crossed = swing(along * bound.cross, maps.trace.p, bound.lin, bound.turn).sum(-1)
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
    near = (heads @ bound.near_weighted.mT).transpose(0, 1)[..., None]
    quadratic = (bound.near * near).mT @ bound.near / 2
    lengths = (row_norms(bound.near_weighted) * bound.near.square().sum(-1)).sum(-1)
    slack = 1e-10 * (row_norms(heads) * lengths[:, None]).sum(0)
    bent = spectral_upper((quadratic + quadratic.mT) / 2).sum(-1) + slack
    total: Tensor = symbols + drift + bent
    return total + row_norms(a) * (bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))
