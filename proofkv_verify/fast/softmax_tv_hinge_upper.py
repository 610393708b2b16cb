"""TV <= (k-1)/(k+1) + kE/(1+kE) with E the mean excess over k, the least over a grid of k, outward-rounded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.fast._rows import Sums, excess, mean_excess_upper, row_sum, streamed_upper, weights_of
from proofkv_verify.fast.rounding import down, float_above, float_below, ieee_arithmetic, model_of, up

KAPPAS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 10.0)


@ieee_arithmetic
def softmax_tv_hinge_upper(
    logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None, *, kappas: Sequence[float] = KAPPAS
) -> Tensor:
    """TV <= min over k of (k-1)/(k+1) + kE/(1+kE), E = sum p_i (e^{c_i} - k)_+ where E <= k, else 1.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.
        kappas: the values of k tried; one below 1 counts as 1. Time grows with their number.

    Returns:
        [B, H, Q] total variation bound at most 1, not below the formula; +inf where nothing can be said.

    Raises:
        InvalidInputError: a kappa is not finite.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md R5.
    """
    for kappa in kappas:
        if not abs(kappa) < float("inf"):
            raise InvalidInputError("kappas", "finite numbers", kappa)
    tried = sorted({max(1.0, float(kappa)) for kappa in kappas})
    return streamed_upper(
        lambda s, c: _reduce(s, c, tried), lambda *sums: _hinge(tried, *sums), logits_hat, logit_radii, mask
    )


def _reduce(s: Tensor, c: Tensor, kappas: Sequence[float]) -> list[Tensor]:
    w = weights_of(s)
    e, largest = excess(c)
    found, model = [row_sum(w), row_sum(w * e), largest], model_of(s.dtype)
    # The error of e must be spent before the subtraction, where it could cancel.
    raised = e.mul_(float_above(1 + 2 * model.exp_error, model.dtype))
    for kappa in kappas:
        if kappa > 1:
            over = (raised - float_below(Fraction(kappa) - 1, model.dtype)).clamp_(min=0)
            most = over.amax(-1).double()
            found += [row_sum(over.mul_(w)), most]
    return found


def _hinge(kappas: Sequence[float], sums: Sums, raised: Tensor, largest: Tensor, *over: Tensor) -> Tensor:
    best = torch.ones_like(largest)
    if 1.0 in kappas:
        best = torch.minimum(best, _at(mean_excess_upper(sums, raised, largest), 1.0))
    for k, kappa in enumerate(kappa for kappa in kappas if kappa > 1):
        mean = sums.mean_upper(over[2 * k], 2 * sums.model.unit, over[2 * k + 1])
        best = torch.minimum(best, _at(mean, kappa))
    return best


def _at(mean: Tensor, kappa: float) -> Tensor:
    return torch.where(mean <= kappa, hinge_of(mean, kappa), 1.0)


def hinge_of(mean: Tensor, kappa: float) -> Tensor:
    """(k-1)/(k+1) + kE/(1+kE) for the upper bound E, rounded up."""
    head = float_above((Fraction(kappa) - 1) / (Fraction(kappa) + 1))
    tail = up(mean * kappa)
    return torch.where(mean == 0, head, up(head + up(tail / down(tail + 1).clamp(min=1))))
