"""TV from masses and upper edges of ratio bins: the fractional optimum of the bins, outward-rounded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.fast._bins import are_bins, bin_sums, bins_of, checked_edges
from proofkv_verify.fast._rows import upper_rows
from proofkv_verify.fast._tokens import Tokens, ratio_ends, tokens_of, with_mass
from proofkv_verify.fast.rounding import FP64, gamma, ieee_arithmetic
from proofkv_verify.fast.softmax_tv_optimum import SPLITS, optimum_upper


@ieee_arithmetic
def softmax_tv_histogram_upper(
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None = None,
    *,
    bin_edges: Sequence[float] | None = None,
    splits: int = SPLITS,
) -> Tensor:
    """TV <= T_f(bin masses, upper bin edges): every ratio e^c is raised to the upper edge of its bin.

    Works in float64 whatever the input.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.
        bin_edges: increasing upper edges of e^c, at least 1; larger ratios share one more bin. Without, each row has
            eight edges 1 + (r_max - 1)/2^j.
        splits: how often a cell is halved in the search for T_f.

    Returns:
        [B, H, Q] total variation bound at most 1, not below the formula; 1 where the edges decrease or begin below
        1; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md B1.
    """
    edges = checked_edges(bin_edges)

    def compute(s: Tensor, c: Tensor) -> Tensor:
        t = tokens_of(s, c)
        return optimum_upper(binned(t, edges), splits)[0] if are_bins(edges) else torch.ones_like(t.mass_upper)

    return upper_rows(compute, logits_hat, logit_radii, mask)


def binned(t: Tokens, edges: tuple[float, ...] | None) -> Tokens:
    """One token a bin: its mass, and its upper edge as ratio."""
    bins = bins_of(t, edges)
    mass = bin_sums(bins, t.weights)
    error = (1 + t.error) / (1 - gamma(t.count, FP64.unit)) - 1
    spare = t.count * (t.spare + Fraction(1, 2**1074))
    return with_mass(mass, *ratio_ends(bins.right, bins.right > 0), error, spare)
