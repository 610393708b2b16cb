"""Tokens in float64 with enclosures, for the bounds that search over thresholds or cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.fast.rounding import FP64, down, float_above, gamma, scaled_down, scaled_up, up

# Ratios are raised by at least this much where they are not exactly 1, so that no product of them underflows.
_LEAST_EXCESS = 2.0**-900
_GROW = 1 + 16 * FP64.unit
_SHRINK = 1 - 32 * FP64.unit


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Rows of weights and of weight ratios r = 1 + e, 1/r = 1 - f; all float64.

    Attributes:
        weights: [r, K], within `error` relative plus `spare` of the true weights (any common scale near 1).
        excess: [r, K], at least the true r - 1, and 0 only where that is 0.
        excess_low: [r, K], at most the true r - 1.
        deficit: [r, K], at least the true 1 - 1/r.
        deficit_low: [r, K], at most the true 1 - 1/r.
        mass_lower: [r], at most the true sum of weights.
        mass_upper: [r], at least the true sum of weights.
        largest: [r], the largest `excess`.
        beta: [r], at least the true sum of p (1 - 1/r), at most 1.
        error: relative error of a weight.
        spare: absolute error of a weight beside it.
    """

    weights: Tensor
    excess: Tensor
    excess_low: Tensor
    deficit: Tensor
    deficit_low: Tensor
    mass_lower: Tensor
    mass_upper: Tensor
    largest: Tensor
    beta: Tensor
    error: Fraction
    spare: Fraction

    @property
    def count(self) -> int:
        """Tokens in a row."""
        return int(self.weights.shape[-1])

    def sum_upper(self, x: Tensor, largest: Tensor | float) -> Tensor:
        """An upper bound of sum w x for 0 <= x <= largest, rounded products included; [r]."""
        n = self.count
        grow = (1 + self.error) / ((1 - FP64.unit) * (1 - gamma(n, FP64.unit)))
        return up(scaled_up((self.weights * x).sum(-1), grow) + (largest + 1) * float_above(4 * n * self.spare))

    def sum_lower(self, x: Tensor, largest: Tensor | float) -> Tensor:
        """A lower bound of sum w x, at least 0, for 0 <= x <= largest; [r]."""
        n = self.count
        shrink = (1 - self.error) * (1 - FP64.unit) / (1 + gamma(n, FP64.unit))
        total = scaled_down((self.weights * x).sum(-1), shrink)
        return down(total - (largest + 1) * float_above(4 * n * self.spare)).clamp(min=0)


def tokens_of(s: Tensor, c: Tensor) -> Tokens:
    """The tokens of float64 logits and radii [r, K]; logit -inf is weight 0."""
    weights = torch.exp(s - s.amax(-1, keepdim=True))
    return with_mass(weights, *ratio_ends(torch.expm1(c), c > 0), FP64.weight_error, FP64.tiny)


def ratio_ends(e: Tensor, changed: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Enclosures of r - 1 and 1 - 1/r from e = r - 1 within 4 u relative; exactly 0 where not `changed`."""
    f = e / (1 + e)
    e_up = torch.where(changed, (e * float(_GROW)).clamp(min=_LEAST_EXCESS), 0)
    f_up = torch.where(changed, (f * float(_GROW)).clamp(min=_LEAST_EXCESS), 0)
    e_low, f_low = (torch.where(x < _LEAST_EXCESS, 0, x * float(_SHRINK)) for x in (e, f))
    return e_up, e_low, f_up, f_low


def with_mass(
    weights: Tensor, e_up: Tensor, e_low: Tensor, f_up: Tensor, f_low: Tensor, error: Fraction, spare: Fraction
) -> Tokens:
    """Tokens with the numbers that many evaluations share."""
    empty, top = weights.new_zeros(weights.shape[:-1]), e_up.amax(-1)
    bare = Tokens(weights, e_up, e_low, f_up, f_low, empty, empty, top, empty, error, spare)
    ones = torch.ones_like(weights)
    lower, upper = bare.sum_lower(ones, 1.0), bare.sum_upper(ones, 1.0)
    beta = up(bare.sum_upper(f_up, 1.0) / lower).clamp(max=1)
    return replace(bare, mass_lower=lower, mass_upper=upper, beta=beta)
