"""What is shown about one attention half, and the sums over its rows that bounds are made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, row_norms, spectral_upper
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.norm_half import NormBound
from proofkv_verify.decode.shapes import split

ETA_LIMIT = 8.0


@dataclass(frozen=True, slots=True)
class AttentionBound:
    """What the attention half of one layer adds to the uncertainty of the token.

    Attributes:
        norm: the RMSNorm in front.
        rows: centred score changes by the query are rows @ z, |z| <= 1, `[H, n, m]`; lin: their lengths `[H, n]`.
        moved: score change by errors of the keys `[H, n]`; bil: by them at the query's error; cross: moved, centred.
        even: the segments' part that is not a product of two different errors `[H, n]`, at most
            cross^2 / 2 + curve (rows z)^2 + third (2 |rows z| cross + cross^2).
        dq: the largest error of the query; longest: of the query with it; own: the largest |dq . dk| with the token's
            own key, all `[H]`.
        value_norm: L2 radius of each row's value, own value too `[H, n]`.
        drift: bound on |p'_i / p_i - 1 - eps_i|; zz: bound on 1 - 1/Z `[H]`.
        turn: lmax(sum p_i rows_i rows_i') `[H]`.
        near, near_weighted: rows and p_i c_i of the tokens whose second order is summed as one quadratic map, half the
            sum of near_weighted_i (near_i z)^2, `[H, k, m]` and `[H, k, D]`.
        p_in: ellipsoid of the normalised input; eta: the largest |eps_i| bound, NaN or above 8 where it failed.
        noise: radius of the rounding of the trace; out: ellipsoid of the residual after the half `[d, d]`.
    """

    norm: NormBound
    rows: Tensor
    lin: Tensor
    bil: Tensor
    moved: Tensor
    cross: Tensor
    even: Tensor
    curve: Tensor
    third: Tensor
    dq: Tensor
    longest: Tensor
    own: Tensor
    value_norm: Tensor
    drift: Tensor
    zz: Tensor
    turn: Tensor
    near: Tensor
    near_weighted: Tensor
    p_in: Tensor
    eta: Tensor
    noise: float
    out: Tensor

    @property
    def failed(self) -> bool:
        """No bound was shown: a NaN, a radius beyond the cap, or a norm that could vanish."""
        return self.norm.failed or not bool(self.eta < ETA_LIMIT) or not bool(self.out.isfinite().all())


def swing(factor: Tensor, p: Tensor, lin: Tensor, turn: Tensor) -> Tensor:
    """The largest sum of p_i f_i |rows_i z| over |z| <= 1, rounded up: sum p f lin, or less where the rows differ.

    By Cauchy-Schwarz it is at most sqrt(sum p f^2) sqrt(lmax(sum p rows rows')) as well.

    Args:
        factor: f, not negative `[..., H, n]`.
        p: weights `[H, n]`.
        lin: at least the rows' lengths `[H, n]`.
        turn: at least that lmax `[H]`.
    """
    weighted = p * factor
    return ((weighted * factor).sum(-1) * turn).sqrt().minimum((weighted * lin).sum(-1)) * UP


def squares(weights: Tensor, bound: AttentionBound) -> Tensor:
    """The largest sum of w_i times the even part over |z| <= 1, rounded up: by tokens or all at once.

    All at once, by Minkowski, (sqrt(lmax(sum w curve rows rows')) + sqrt(sum w third cross^2))^2 + sum w cross^2 / 2.

    Args:
        weights: not negative `[..., H, n]`.
        bound: of the attention half.
    """
    own = (weights * bound.third * bound.cross.square()).sum(-1).sqrt()
    whole = (spread(weights * bound.curve, bound.rows).sqrt() + own).square()
    whole = whole + (weights * bound.cross.square()).sum(-1) / 2
    return torch.minimum((weights * bound.even).sum(-1), whole) * UP


def spread(weights: Tensor, rows: Tensor) -> Tensor:
    """lmax(sum w_i rows_i rows_i') for weights `[H, n]` or `[R, H, n]`, rounded up."""
    heads, tokens, size = rows.shape
    by_head = weights.reshape(-1, heads, tokens).permute(1, 2, 0)[..., None]
    forms = (rows[:, :, None] * by_head).flatten(2).mT @ rows  # one product a head: directions lie beside each other
    found = spectral_upper(split(forms, 1, (by_head.shape[2], size)))
    return found.T.reshape(weights.shape[:-1])


def page_groups(terms: Tensor, group: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Per page the smaller of the tokens' sum and the group's bound, and where the group won: `[.., n]`, `[.., P]`."""
    paged = split(terms[..., : group.shape[-1] * page_size], -1, (group.shape[-1], page_size)).sum(-1)
    won = group < paged
    return torch.where(won, group, paged), won


def value_radius(bound: AttentionBound, maps: Maps) -> Tensor:
    """Radius of what value errors of the earlier rows add to each head's output `[H]`.

    The true weights p' sum to 1, so sum p' n = sum p n + sum p (p'/p - 1)(n - m) for any m; here n are the norms, and
    for a page whose spectral form is smaller sigma p_i / |p_page|, which costs sum n p (p'/p - 1)^2 / 2 more.
    """
    p = maps.trace.p
    norms, bent = _page_norms(bound, maps)
    weighted = p * norms
    mean = weighted.sum(-1)
    ratio = bound.lin + bound.cross + bound.drift
    loose = bound.moved + bound.drift
    signed = row_norms((weighted[:, None] @ bound.rows)[:, 0]) + 1e-12 * (weighted * row_norms(bound.rows)).sum(-1)
    signed = signed + (p * (norms - mean[:, None]).abs() * loose).sum(-1) + (p * bent * ratio.square()).sum(-1) / 2
    return (mean + torch.minimum(signed, value_change(bound, p))) * UP


def own_change(bound: AttentionBound, p: Tensor) -> Tensor:
    """At least |p'_s - p_s| for the token's own row `[H]`; its value at the weight p_s is in the Jacobian."""
    return p[:, -1] * (bound.lin + bound.cross + bound.drift)[:, -1] * UP


def value_change(bound: AttentionBound, p: Tensor) -> Tensor:
    """At least sum |p'_i - p_i| n_i of each head for the value norms n of the earlier rows `[H]`."""
    norms = torch.cat([bound.value_norm[:, :-1], torch.zeros_like(p[:, -1:])], 1)
    loose = (p * norms * (bound.cross + bound.drift)).sum(-1)
    return (swing(norms, p, bound.lin, bound.turn) + loose) * UP


def _page_norms(bound: AttentionBound, maps: Maps) -> tuple[Tensor, Tensor]:
    """For each row a norm n with sum p n the smaller form page by page, 0 for the own row; and n where that bends."""
    sets, p = maps.sets, maps.trace.p
    pages, size = sets.value_sigma.shape[-1], sets.page_size
    inside = pages * size
    paged = split(p[:, :inside], 1, (pages, size))
    lengths = row_norms(paged)
    _, won = page_groups(p * bound.value_norm, lengths * sets.value_sigma[maps.of], size)
    group = sets.value_sigma[maps.of][..., None] * UP * paged / torch.where(lengths == 0, 1.0, lengths)[..., None]
    alone = split(bound.value_norm[:, :inside], 1, (pages, size))
    chosen = torch.where(won[..., None], group, alone).flatten(1)
    bent = torch.nn.functional.pad(torch.where(won[..., None], group, 0.0).flatten(1), (0, p.shape[1] - inside))
    return torch.cat([chosen, bound.value_norm[:, inside:-1], torch.zeros_like(p[:, -1:])], 1), bent
