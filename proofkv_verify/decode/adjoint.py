"""Score differences pulled back through the exact Jacobians: what each page and each remainder can do to each of them.

A difference at the end is a row a; through a half layer with Jacobian A it becomes a A. At each half the errors that
enter there are bounded in the direction a alone, page errors summed over the heads of a KV group before any norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.attention_half import AttentionBound, page_groups, swing
from proofkv_verify.decode.ellipsoid import UP, row_norms, spectral_upper, support, trace_root
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.mlp_half import MlpBound
from proofkv_verify.decode.shapes import split

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
        keys, values, loose = page_parts(maps, a @ maps.layer.wo)
        total = total + keys.sum((1, 2)) + values.sum((1, 2)) + loose + attention_remainder(maps, bound.attention, a)
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


def attention_remainder(maps: Maps, bound: AttentionBound, a: Tensor) -> Tensor:
    """All but the pages' first order: what the heads and the norm in front leave out `[R]`."""
    return heads_remainder(maps, bound, a) + bound.norm.support(a @ maps.attention_out)


def heads_remainder(maps: Maps, bound: AttentionBound, a: Tensor) -> Tensor:
    """Tokens' segments, values' weight change, change of Z, quadratic map and rounding in each direction `[R]`."""
    heads = a @ maps.layer.wo
    mass = (heads @ maps.weighted.mT).abs()
    symbols = (mass * bound.rest[:, None]).sum((0, 2))
    crossed = swing(mass.transpose(0, 1) * bound.cross, bound.rows, bound.lin).sum(-1)
    values = (row_norms(heads) * bound.value_change[:, None]).sum(0)
    reach = support(bound.p_in, heads @ maps.heads)
    drift = (bound.zz[:, None] * (reach + (mass * bound.cross[:, None]).sum(-1))).sum(0)
    heads = heads.transpose(0, 1)
    quadratic = torch.einsum("rhc,hcab->rhab", heads, bound.tensor) / 2
    slack = 1e-10 * (row_norms(heads) * torch.linalg.vector_norm(bound.tensor, dim=(1, 2, 3))).sum(-1)
    bent = spectral_upper(quadratic).sum(-1) + slack
    total: Tensor = symbols + crossed + values + drift + bent
    return total + row_norms(a) * (bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))


def page_parts(maps: Maps, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """First-order part of each page's keys and values in each direction `[R, G, P]`, and of the rows after them `[R]`.

    Keys: G_t = scale sum over the group's heads of p_t (a_h . c_t) q_h, against the smaller of box and norm, or the
    nuclear norm of the page's matrix against its spectral radius. Values: G_t = sum of p_t a_h, likewise.

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
    combined = coefficient.mT @ vectors
    tokens = torch.minimum((combined.abs() * box).sum(-1), row_norms(combined) * norm)
    paged = split(coefficient[..., :inside], -1, (sigma.shape[-1], size)).transpose(2, 3)
    best, _ = page_groups(tokens, nuclear_upper(paged, vectors[:, :, None]) * sigma, size)
    return best * UP, tokens[..., inside:].sum((1, 2)) * UP


def nuclear_upper(left: Tensor, right: Tensor) -> Tensor:
    """At least the nuclear norm of left' @ right, `[.., m, S]`, `[.., m, D]`; equal to it for m <= 2, up to slack."""
    a, b = left @ left.mT, right @ right.mT
    product = (a @ b).diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0)
    if a.shape[-1] == 1:
        return product.sqrt() * UP
    if a.shape[-1] > 2:
        return (product * a.shape[-1]).sqrt() * UP
    size = a.diagonal(dim1=-2, dim2=-1).sum(-1) * b.diagonal(dim1=-2, dim2=-1).sum(-1)
    both = (_det(a).clamp_min(0) * _det(b).clamp_min(0)).sqrt()
    return (product + 2 * both + 1e-7 * size).sqrt() * UP


def _det(a: Tensor) -> Tensor:
    return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
