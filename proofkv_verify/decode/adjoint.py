"""Score differences pulled back through the exact Jacobians: what each page and each remainder can do to each of them.

A difference at the end is a row a; through a half layer with Jacobian A it becomes a A. At each half the errors that
enter there are bounded in the direction a alone, page errors summed over the heads of a KV group before any norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.attention_half import AttentionBound, page_groups
from proofkv_verify.decode.ellipsoid import UP, row_norms, spectral_upper, support
from proofkv_verify.decode.mlp_half import MlpBound
from proofkv_verify.decode.model import Layer, LayerTrace
from proofkv_verify.decode.opened import Sets


@dataclass(frozen=True, slots=True)
class Pulled:
    """Bounds on score differences, rounded up.

    Attributes:
        radius: how far each difference can be from its nominal value `[R]`; first_order: the part by page errors alone.
        units: first-order part of each unit `[R, 2, L, G, P]`.
    """

    radius: Tensor
    first_order: Tensor
    units: Tensor


@dataclass(frozen=True, slots=True)
class LayerBound:
    """Both halves of one layer with what they were computed from."""

    layer: Layer
    trace: LayerTrace
    sets: Sets
    attention: AttentionBound
    mlp: MlpBound


def pull_back(bounds: Sequence[LayerBound], directions: Tensor) -> Pulled:
    """Bounds a.(x_true - x_nominal) for directions `[R, d]` at the last residual."""
    a, first, rest, units = directions, torch.zeros(len(directions), dtype=directions.dtype), 0.0, []
    for bound in reversed(bounds):
        rest = rest + mlp_remainder(bound.layer, bound.mlp, a)
        a = a @ bound.mlp.map
        keys, values, loose = page_parts(bound.trace, bound.sets, bound.attention, a @ bound.layer.wo)
        first = first + keys.sum((1, 2)) + values.sum((1, 2)) + loose
        units.append(torch.stack([keys, values], 1))
        rest = rest + attention_remainder(bound.layer, bound.trace, bound.attention, a)
        a = a @ bound.attention.map
    return Pulled((first + rest) * UP, first * UP, torch.stack(units[::-1], 2))


def mlp_remainder(layer: Layer, bound: MlpBound, a: Tensor) -> Tensor:
    """What the norm's remainder, the quadratic map and the third order can add in each direction `[R]`."""
    w = a @ layer.w2
    form = (bound.gate.T[None] * w[:, None]) @ bound.product
    quadratic = spectral_upper((form + form.mT) / 2)
    slack = 1e-10 * (w.abs() @ (row_norms(bound.gate) * row_norms(bound.product)))
    third = torch.minimum(w.abs() @ bound.third, row_norms(w) * bound.third_ball)
    return bound.norm.support(a @ bound.after_norm) + quadratic + slack + third + bound.noise * row_norms(a)


def attention_remainder(layer: Layer, tr: LayerTrace, bound: AttentionBound, a: Tensor) -> Tensor:
    """All but the pages' first order: tokens' segments, values' weight change, change of Z, quadratic map, norm `[R]`."""
    heads = (a @ layer.wo).transpose(0, 1)
    mass = (heads.transpose(0, 1) @ bound.centred.mT).abs().transpose(0, 1) * tr.p
    symbols = (mass * bound.rest).sum((1, 2))
    values = (row_norms(heads) * (tr.p * bound.moved * bound.value_norm).sum(-1)).sum(-1)
    reach = torch.stack([support(bound.p_in, heads[:, h] @ bound.heads[h]) for h in range(heads.shape[1])], 1)
    drift = (bound.zz * (reach + (mass * (bound.kappa + bound.rest)).sum(-1))).sum(-1)
    quadratic = torch.einsum("rhc,hcab->rhab", heads, bound.tensor) / 2
    slack = 1e-10 * (row_norms(heads) * torch.linalg.vector_norm(bound.tensor, dim=(1, 2, 3))).sum(-1)
    bent = spectral_upper(quadratic).sum(-1) + slack
    return symbols + values + drift + bent + bound.norm.support(a @ bound.after_norm) + bound.noise * row_norms(a)


def page_parts(tr: LayerTrace, sets: Sets, bound: AttentionBound, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """First-order part of each page's keys and values in each direction `[R, G, P]`, and of the rows after them `[R]`.

    Keys: G_t = scale sum over the group's heads of p_t (a_h . c_t) q_h, against the smaller of box and norm, or the
    nuclear norm of the page's matrix against its spectral radius. Values: G_t = sum of p_t a_h, likewise.

    Args:
        tr, sets, bound: of the layer.
        heads: a @ wo `[H, R, D]`.
    """
    groups, scale = len(tr.wk), tr.q.shape[-1] ** -0.5
    heads = heads.transpose(0, 1).unflatten(1, (groups, -1))
    p, c = (x[:, :-1].unflatten(0, (groups, -1)) for x in (tr.p, bound.centred))
    q = tr.q.unflatten(0, (groups, -1))
    mass = torch.einsum("rgmd,gmtd->rgmt", heads, c) * p * scale
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
    paged = coefficient[..., :inside].unflatten(-1, (sigma.shape[-1], size)).transpose(2, 3)
    best, _ = page_groups(tokens, nuclear_upper(paged, vectors[:, :, None]) * sigma, size)
    return best * UP, tokens[..., inside:].sum((1, 2)) * UP


def nuclear_upper(left: Tensor, right: Tensor) -> Tensor:
    """At least the nuclear norm of left' @ right for left `[.., m, S]`, right `[.., m, D]`, exact up to slack for m <= 2."""
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
