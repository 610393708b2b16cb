"""The dual cell certificate from three sums a bin, outward-rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.fast._bins import Bins, are_bins, bin_sums, bins_of, checked_edges
from proofkv_verify.fast._cells import best_multiplier, linear_part, over_given, refined_cells, underflow
from proofkv_verify.fast._rows import upper_rows
from proofkv_verify.fast._tokens import Tokens, tokens_of
from proofkv_verify.fast.rounding import (
    FP64,
    down,
    float_above,
    gamma,
    ieee_arithmetic,
    scaled_down,
    scaled_up,
    up,
)
from proofkv_verify.fast.softmax_tv_cell_upper import checked_cells
from proofkv_verify.fast.softmax_tv_optimum import SPLITS


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Enclosures of mass m, sum w (r - 1) and sum w (1 - 1/r) of each bin, as (lower, upper) [r, M]."""

    mass: tuple[Tensor, Tensor]
    excess: tuple[Tensor, Tensor]
    deficit: tuple[Tensor, Tensor]


@ieee_arithmetic
def softmax_tv_moment_upper(
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None = None,
    *,
    bin_edges: Sequence[float] | None = None,
    cell_edges: Sequence[float] | None = None,
    cell_mu: Sequence[float] | None = None,
) -> Tensor:
    """TV <= the dual cell certificate with sum p (mu g_s - 1)_+ bounded from each bin's mass, sum p r and sum p / r.

    A bin's part is exact where mu g_s >= 1 in all of it, else the chord of a convex function. Works in float64
    whatever the input.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.
        bin_edges: as in `softmax_tv_histogram_upper`.
        cell_edges: as in `softmax_tv_cell_upper`; without, cells are found by halving the worst one.
        cell_mu: as in `softmax_tv_cell_upper`.

    Returns:
        [B, H, Q] total variation bound, not below the formula; 1 where the edges are no bins or do not cover [0, 1];
        +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md B2.
    """
    edges, cells = checked_edges(bin_edges), checked_cells(cell_edges, cell_mu)

    def compute(s: Tensor, c: Tensor) -> Tensor:
        t = tokens_of(s, c)
        if not are_bins(edges):
            return torch.ones_like(t.mass_upper)
        bins = bins_of(t, edges)
        sums, doubt = _moments(t, bins), _doubt(t, bins)

        def value(at: Tensor, mu: Tensor) -> Tensor:
            return _value(t, bins, sums, doubt, at, mu)

        if cells is None:
            return refined_cells(t.mass_upper, value, lambda at: best_multiplier(t, at), SPLITS)[0]
        return over_given(t.mass_upper, cells, value)

    return upper_rows(compute, logits_hat, logit_radii, mask)


def _moments(t: Tokens, bins: Bins) -> _Moments:
    n = t.count
    grow = (1 + t.error) / ((1 - FP64.unit) * (1 - gamma(n, FP64.unit)))
    shrink = (1 - t.error) * (1 - FP64.unit) / (1 + gamma(n, FP64.unit))
    used = bin_sums(bins, torch.ones_like(t.weights)) > 0
    spare = torch.where(used, (t.largest.unsqueeze(-1) + 1) * float_above(4 * n * t.spare), 0)

    def ends(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        lower = down(scaled_down(bin_sums(bins, t.weights * low), shrink) - spare).clamp(min=0)
        upper = up(scaled_up(bin_sums(bins, t.weights * high), grow) + spare)
        return lower, torch.where(used, upper, 0)

    ones = torch.ones_like(t.weights)
    return _Moments(ends(ones, ones), ends(t.excess_low, t.excess), ends(t.deficit_low, t.deficit))


def _doubt(t: Tokens, bins: Bins) -> Tensor:
    """Weight times distance of the tokens that may lie in the next bin below: their part changes by 2 mu times this."""
    wide = (t.excess - t.excess_low + float(16 * FP64.unit) * (1 + t.excess)) * bins.doubtful
    return t.sum_upper(wide, up(t.largest + 1)) * bins.doubtful.any(-1)


def _value(t: Tokens, bins: Bins, sums: _Moments, doubt: Tensor, s: Tensor, mu: Tensor) -> Tensor:
    parts = _bin_parts(bins, sums, s.unsqueeze(-1), mu.unsqueeze(-1))
    total = scaled_up(parts.sum(-1), 1 / (1 - gamma(parts.shape[-1], FP64.unit)))
    total = up(total + up(up(2 * mu * doubt)))
    return up(up(linear_part(t, s, mu) + up(total / t.mass_lower)) + underflow(t))


def _bin_parts(bins: Bins, sums: _Moments, s: Tensor, mu: Tensor) -> Tensor:
    """An upper bound, at least 0, of each bin's share of sum w (mu g_s - 1)_+."""
    lead_up, lead_down = up(mu - 1), down(mu - 1)
    rest_up, rest_down = up(1 - s), down(1 - s).clamp(min=0)
    # exact part: (mu - 1) m + mu (1-s) excess - mu s deficit
    lead = torch.maximum(up(lead_up * sums.mass[1]), up(lead_up * sums.mass[0]))
    gain = up(up(mu * rest_up) * sums.excess[1])
    loss = down(down(mu * s).clamp(min=0) * sums.deficit[0]).clamp(min=0)
    linear = up(up(lead + gain) - loss).clamp(min=0)
    sure_gain = down(down(mu * rest_down) * bins.left)
    sure_loss = up(up(mu * s) * up(bins.right / down(1 + bins.right).clamp(min=1)))
    whole = down(down(lead_down + sure_gain) - sure_loss) >= 0
    return torch.where(whole, linear, _chord(bins, sums, s, mu))


def _chord(bins: Bins, sums: _Moments, s: Tensor, mu: Tensor) -> Tensor:
    left, right = _end_value(bins.left, s, mu), _end_value(bins.right, s, mu)
    width = down(bins.right - bins.left)
    from_right = up(up(sums.mass[1] * bins.right) - sums.excess[0]).clamp(min=0)
    from_left = up(sums.excess[1] - down(sums.mass[0] * bins.left)).clamp(min=0)
    chord = up(up(up(left * from_right) + up(right * from_left)) / width)
    flat = up(torch.maximum(left, right) * sums.mass[1])
    # Both weights of the chord are at most the mass, so the larger end value times the mass bounds it too.
    found = torch.where(width > 0, torch.minimum(chord, flat), flat)
    return torch.where(sums.mass[1] > 0, found, 0)


def _end_value(e: Tensor, s: Tensor, mu: Tensor) -> Tensor:
    """(mu g_s - 1)_+ at the ratio 1 + e, rounded up."""
    gain = up(up(mu * up(1 - s)) * e)
    loss = down(down(mu * s).clamp(min=0) * down(e / up(1 + e)).clamp(min=0))
    return up(up(up(mu - 1) + gain) - loss.clamp(min=0)).clamp(min=0)
