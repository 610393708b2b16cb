"""The margin of a candidate over every other score in a box, rounded down; a tie with a larger index counts as won."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast._rows import broadcast, lifted
from proofkv_verify.fast.rounding import down, ieee_arithmetic, returned_below


@ieee_arithmetic
def argmax_margin_lower(scores_hat: Tensor, radii: Tensor, candidate: int | Tensor) -> Tensor:
    """min over all rivals j of s_i - s_j - r_i - r_j; an exact 0 against a larger index counts as 1.

    Args:
        scores_hat: [..., V] scores, float16 to float64. A rival at -inf with a finite radius is never a winner.
        radii: [..., V] or broadcastable, r >= 0.
        candidate: index i, the same for all rows, or an integer tensor [...].

    Returns:
        [...] not above the formula; positive only if the candidate is the first maximum of every score vector in the
        box; 1 where there is no other row; -inf where a score is NaN or a radius negative or NaN.

    Raises:
        InvalidInputError: a candidate is no row.
        ShapeError: `candidate` is not broadcastable to [...].

    Sound when: |score_j - scores_hat_j| <= radii_j for each row; greedy decoding takes the lowest index of equals.
    """
    scores, bounds = lifted(scores_hat, "scores_hat"), lifted(radii, "radii")
    dtype = torch.promote_types(scores.dtype, bounds.dtype)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ShapeError("scores_hat", "at least one row of at least one score", tuple(scores.shape))
    bounds = broadcast(bounds, scores.shape, "radii")
    index = _candidates(candidate, scores)
    s, r = scores.double(), torch.where(bounds >= 0, bounds, math.nan).double()
    mine = [x.gather(-1, index) for x in (s, r)]
    gap, gap_error = _two_sum(mine[0], -s)
    width, width_error = _two_sum(mine[1], r)
    margin, margin_error = _two_sum(gap, -width)
    exact = (gap_error == 0) & (width_error == 0) & (margin_error == 0)
    lower = torch.where(exact, margin, down(down(gap) + down(-width)))
    return returned_below(_least(lower, exact, index), dtype)


def _least(lower: Tensor, exact: Tensor, index: Tensor) -> Tensor:
    place = torch.arange(lower.shape[-1], device=lower.device).expand_as(lower)
    won = exact & (lower == 0) & (place > index)
    others = torch.where(won, 1.0, lower).masked_fill(place == index, math.inf)
    others = torch.where(torch.isnan(lower), -math.inf, others)  # a NaN at the candidate counts too
    return others.amin(-1) if lower.shape[-1] > 1 else torch.where(torch.isnan(lower[..., 0]), -math.inf, 1.0)


def _two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """a + b rounded, and what the rounding lost, exactly (NaN where an operand is infinite)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _candidates(candidate: int | Tensor, scores: Tensor) -> Tensor:
    chosen = torch.as_tensor(candidate, device=scores.device)
    if chosen.dtype not in (torch.int64, torch.int32):
        raise InvalidInputError("candidate", "integers", chosen.dtype)
    if bool(((chosen < 0) | (chosen >= scores.shape[-1])).any()):
        raise InvalidInputError("candidate", f"a row among {scores.shape[-1]}", candidate)
    return broadcast(chosen.long(), scores.shape[:-1], "candidate").unsqueeze(-1)
