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

from proofkv_verify.decode.ellipsoid import (
    UP,
    ball,
    combine,
    gram_norm_upper,
    image,
    root,
    row_norms,
    spectral_upper,
    widen,
)
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.model import LayerTrace
from proofkv_verify.decode.norm_half import NormBound, norm_half
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.shapes import split

ETA_LIMIT = 8.0
QUADRATIC_TOKENS = 64


@dataclass(frozen=True, slots=True)
class AttentionBound:
    """What the attention half of one layer adds to the uncertainty of the token.

    Attributes:
        norm: the RMSNorm in front.
        rows: centred score changes by the query are rows @ z, |z| <= 1, `[H, n, m]`; lin: their lengths `[H, n]`.
        kappa: score change by key errors `[H, n]`; cross: the same with the query's error, centred.
        rest: the segments' part beside kappa and beside products of lin and cross `[H, n]`.
        value_norm: L2 radius of each row's value, own value too `[H, n]`; value_change: sum of |p'_i - p_i| times it
            `[H]`.
        zz: bound on 1 - 1/Z `[H]`; tensor: the quadratic map, `[H, D, m, m]`.
        p_in: ellipsoid of the normalised input; eta: the largest |eps_i| bound, NaN or above 8 where it failed.
        noise: radius of the rounding of the trace; out: ellipsoid of the residual after the half `[d, d]`.
    """

    norm: NormBound
    rows: Tensor
    lin: Tensor
    kappa: Tensor
    cross: Tensor
    rest: Tensor
    value_norm: Tensor
    value_change: Tensor
    zz: Tensor
    tensor: Tensor
    p_in: Tensor
    eta: Tensor
    noise: float
    out: Tensor

    @property
    def failed(self) -> bool:
        """No bound was shown: a NaN, a radius beyond the cap, or a norm that could vanish."""
        return self.norm.failed or not bool(self.eta < ETA_LIMIT) or not bool(self.out.isfinite().all())


@dataclass(frozen=True, slots=True)
class _Reach:
    """Per head: rows `[H, n, D + 1]` with centred score change rows @ z, |z| <= 1; and sup |dq|, |dk|, |dv|."""

    rows: Tensor
    dq: Tensor
    dk: Tensor
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
    norm = norm_half(tr.x, tr.rho, maps.norm, p)
    reach = _reach(maps, norm.out)
    kappa, bil = key_radii(tr, sets, maps.of, reach.dq, reach.dk)
    if tail_kappa is not None and tail_kappa.shape[1]:
        kappa[:, -1 - tail_kappa.shape[1] : -1] = tail_kappa
    lin = row_norms(reach.rows)
    cross = centred_radius(tr.p, kappa + bil)
    eta = (lin + cross) * UP
    e2 = exp_minus_linear(eta)
    third = (e2 - eta.square() / 2).clamp_min(0) + 1e-12 * e2
    tensor, bent = _tensor(maps, reach.rows, lin)
    even = cross.square() / 2 + third
    rest = (torch.where(bent, 0.0, lin.square() / 2) + even + bil) * UP
    z1 = _spread(tr.p, reach.rows) / 2 + swing(tr.p * cross, reach.rows, lin) + (tr.p * even).sum(-1)
    zz = z1 / (1 + z1) * UP
    value_norm = torch.cat([sets.value_norm, reach.dv[:, None]], 1)[maps.of]
    weighted = tr.p * value_norm
    change = swing(weighted, reach.rows, lin) + (weighted * (cross + torch.maximum(e2, zz[:, None]))).sum(-1)
    bound = AttentionBound(
        norm, reach.rows, lin, kappa, cross, rest, value_norm, change * UP, zz, tensor, norm.out, eta.max(), noise, p
    )
    return replace(bound, out=_remainder_out(bound, maps) if remainder_only else _out(bound, maps))


def exp_minus_linear(eta: Tensor) -> Tensor:
    """e^x - 1 - x for x >= 0, rounded up: a series below 0.01, where the difference would cancel."""
    small = eta.square() / 2 * (1 + eta / 3 + eta.square() / 12 + eta**3 / 50)
    return torch.where(eta < 0.01, small, torch.expm1(eta) - eta) * (1 + 1e-10)


def centred_radius(p: Tensor, radius: Tensor) -> Tensor:
    """Bound on |x_i - sum p x| for |x| <= radius: (1 - p_i) r_i + sum of p_j r_j over the others."""
    weighted = p * radius
    return (radius + weighted.sum(-1, keepdim=True) - 2 * weighted).clamp_min(0) * UP + 1e-14 * radius


def swing(weights: Tensor, rows: Tensor, lin: Tensor) -> Tensor:
    """The largest sum of w_i |rows_i z| over |z| <= 1, rounded up: no more than sum w_i lin_i, less where rows differ.

    By Cauchy-Schwarz it is at most sqrt(sum w lin) sqrt(lmax(sum (w / lin) rows rows')).

    Args:
        weights: not negative `[..., H, n]`.
        rows: `[H, n, m]`.
        lin: at least the rows' lengths `[H, n]`.
    """
    total = (weights * lin).sum(-1)
    ratio = weights * torch.where(lin == 0, 0.0, lin.reciprocal())
    return (total * _spread(ratio, rows)).sqrt().minimum(total) * UP


def _spread(weights: Tensor, rows: Tensor) -> Tensor:
    """lmax(sum w_i rows_i rows_i') for weights `[..., H, n]`."""
    return spectral_upper((rows.mT * weights[..., None, :]) @ rows)


def key_radii(tr: LayerTrace, sets: Sets, of: Tensor, dq: Tensor, dk: Tensor) -> tuple[Tensor, Tensor]:
    """kappa and bil `[H, n + 1]`: what key errors move a score by, at the query and by the query's own error.

    The token's own row has no key error of its own; there the product dq . dk is what remains.
    """
    scale = tr.q.shape[-1] ** -0.5 * UP
    box = (sets.key_box[of] @ tr.q.abs()[..., None])[..., 0]
    kappa = scale * torch.minimum(box, row_norms(tr.q)[:, None] * sets.key_norm[of])
    bil = scale * dq[:, None] * sets.key_norm[of]
    own = scale * dq * dk[of]
    return torch.nn.functional.pad(kappa, (0, 1)), torch.cat([bil, own[:, None]], 1)


def _reach(maps: Maps, p_h: Tensor) -> _Reach:
    b = root(p_h)
    reached = maps.turns @ b
    factor = root(widen(reached @ reached.mT, reached.square().sum((-2, -1))))
    return _Reach(
        rows=maps.rows @ factor,
        dq=gram_norm_upper(reached[:, :-1]) / maps.scale * UP,
        dk=gram_norm_upper(maps.trace.wk @ b) * UP,
        dv=gram_norm_upper(maps.layer.wv @ b) * UP,
    )


def _tensor(maps: Maps, rows: Tensor, lin: Tensor) -> tuple[Tensor, Tensor]:
    """sum p_i c_i (rows_i z)^2 as `[H, D, m, m]` over the tokens where it matters, and which those are `[H, n]`.

    The others keep their whole second order in their segment; with 64 tokens a head the radius grows by less than 1 %.
    """
    heads, tokens, size = rows.shape
    mass = maps.trace.p * lin.square() * maps.centred.norm(dim=-1)
    at = mass.topk(min(QUADRATIC_TOKENS, tokens), dim=-1).indices
    chosen = torch.zeros(heads, tokens, dtype=torch.bool).scatter(1, at, value=True)
    few, weighted = (x.gather(1, at[..., None].expand(-1, -1, x.shape[-1])) for x in (rows, maps.weighted))
    pairs = (few[..., None] * few[..., None, :]).flatten(2)
    return split(weighted.mT @ pairs, -1, (size, size)), chosen


def page_groups(terms: Tensor, group: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Per page the smaller of the tokens' sum and the group's bound, and where the group won: `[.., n]`, `[.., P]`."""
    paged = split(terms[..., : group.shape[-1] * page_size], -1, (group.shape[-1], page_size)).sum(-1)
    won = group < paged
    return torch.where(won, group, paged), won


def _out(bound: AttentionBound, maps: Maps) -> Tensor:
    """The ellipsoid after the half: the image of E(p), the norm's remainders, each head's own sets, the rounding."""
    wo = maps.layer.wo
    heads = wo @ _head_sets(bound, maps, wo.mT @ wo, first_order=True) @ wo.mT
    parts = [image(maps.attention, bound.norm.p), *bound.norm.remainder(maps.attention_out), *heads.unbind(0)]
    out = combine([*parts, ball(bound.noise, parts[0])])
    return widen(out, out.diagonal().sum())


def _remainder_out(bound: AttentionBound, maps: Maps) -> Tensor:
    """The ellipsoid of all that is neither linear in the error before nor first order in keys and values."""
    wo = maps.layer.wo
    heads = wo @ _head_sets(bound, maps, wo.mT @ wo, first_order=False) @ wo.mT
    out = combine([*heads.unbind(0), ball(bound.noise, heads[0])])
    return widen(out, out.diagonal().sum())


def _head_sets(bound: AttentionBound, maps: Maps, metric: Tensor, *, first_order: bool) -> Tensor:
    """Ellipsoids in each head's output `[H, D, D]`: token segments, values, the quadratic map and the change of Z."""
    every = _symbols(bound, maps, metric)
    symbols = every if first_order else _symbols(replace(bound, kappa=torch.zeros_like(bound.kappa)), maps, metric)
    values = value_radius(bound, maps, first_order=first_order)
    flat = bound.tensor.flatten(-2)
    quadratic = flat @ flat.mT / 4
    linear = image(maps.heads, bound.p_in)
    crossed = _crossed(bound, maps, metric)
    drift = combine([linear, every], metric) * bound.zz.square()[:, None, None]
    quadratic = widen(quadratic, quadratic.diagonal(dim1=-2, dim2=-1).sum(-1))
    return combine([symbols, crossed, ball(values, symbols), quadratic, drift], metric)


def _crossed(bound: AttentionBound, maps: Maps, metric: Tensor) -> Tensor:
    """sum p_i c_i s_i (rows_i z) with |s_i| <= cross_i, by Cauchy-Schwarz over the tokens, per head `[H, D, D]`."""
    c, p = maps.centred, maps.trace.p
    lengths = ((c @ metric) * c).sum(-1).clamp_min(0).sqrt() + 1e-9 * c.norm(dim=-1)
    share = p * bound.cross * lengths * torch.where(bound.lin == 0, 0.0, bound.lin.reciprocal())
    weights = p * bound.cross * bound.lin * torch.where(lengths == 0, 0.0, lengths.reciprocal())
    return _spread(share, bound.rows)[:, None, None] * ((c * weights[..., None]).mT @ c) * UP


def _symbols(bound: AttentionBound, maps: Maps, metric: Tensor) -> Tensor:
    """The segments along p_i c_i, keys' part by page in whichever form is smaller: C' diag(weights) C, per head."""
    tr, sets, c = maps.trace, maps.sets, maps.centred
    pages, size = sets.key_sigma.shape[-1], sets.page_size
    lengths = ((c @ metric) * c).sum(-1).clamp_min(0).sqrt() + 1e-9 * c.norm(dim=-1)
    scaled, inside = tr.p * lengths, pages * size
    paged = split(scaled[:, :inside], 1, (pages, size))
    reach = row_norms(tr.q)[:, None] * maps.scale * sets.key_sigma[maps.of] * UP
    _, won = page_groups(bound.kappa * scaled, reach * row_norms(paged), size)
    alone = torch.where(won[..., None], 0.0, split(bound.kappa[:, :inside], 1, (pages, size))).flatten(1)
    alone = torch.cat([alone, bound.kappa[:, inside:]], 1) + bound.rest
    group = torch.where(won, reach * row_norms(paged), 0.0)
    total = ((alone * scaled).sum(-1) + group.sum(-1)) * UP
    safe = torch.where(lengths == 0, 1.0, lengths)
    weights = alone * tr.p / safe
    spread = torch.where(won, reach.square() / torch.where(group == 0, 1.0, group), 0.0)
    weights[:, :inside] += (spread[..., None] * split(tr.p[:, :inside], 1, (pages, size)).square()).flatten(1)
    found: Tensor = total[:, None, None] * ((c * weights[..., None]).mT @ c)
    return found * UP


def value_radius(bound: AttentionBound, maps: Maps, *, first_order: bool = True) -> Tensor:
    """Radius of what value errors add to each head's output `[H]`: at the weights, by page, and by the weights' change.

    The token's own value is in the Jacobian at its weight, so only the change of the weight is counted for it.
    """
    sets, p = maps.sets, maps.trace.p
    pages, size = sets.value_sigma.shape[-1], sets.page_size
    paged = split(p[:, : pages * size], 1, (pages, size))
    if not first_order:
        return bound.value_change
    weighted = p * bound.value_norm
    best, _ = page_groups(weighted, row_norms(paged) * sets.value_sigma[maps.of], size)
    return (best.sum(-1) + weighted[:, pages * size : -1].sum(-1) + bound.value_change) * UP
