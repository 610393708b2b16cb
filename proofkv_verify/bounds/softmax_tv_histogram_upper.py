"""TV from a histogram alone: ratios are raised to the upper edge of their bin, then T_f is taken."""

from __future__ import annotations

from proofkv_verify.bounds._bins import guarded, ratio_bins
from proofkv_verify.bounds._thresholds import fractional_optimum
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_histogram_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_histogram_values",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= T_f(bin masses, upper bin edges), the optimum over all token sets with that histogram.

    Bins are the increasing upper edges `bin_edges` (larger ratios share one more bin) or eight edges
    1 + (r_max - 1)/2^j. Edges that decrease give the value 1.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md B1; with r_i <= R_i <= rho r_i it exceeds the unbinned T_f by at most (rho-1)/(rho+1).
    Lean: ProofKV.tv_le_histogram_values
    """
    bins, condition = ratio_bins(x, m)
    places = [m.const(k) for k in range(len(bins))]
    value = fractional_optimum([b.mass for b in bins], [b.right for b in bins], places, m)
    return guarded(condition, value, m)
