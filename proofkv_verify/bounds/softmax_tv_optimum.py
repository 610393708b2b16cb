"""T_f: the optimum of TV over all token sets with the same ratios and masses, at least the optimum T* itself."""

from __future__ import annotations

from proofkv_verify.bounds._thresholds import fractional_optimum, ratio_order
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_optimum",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_threshold_values",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= T* <= T_f = max over x in [0,1]^n of a/(a+b) - P, a = sum p r x, b = sum p (1-x)/r, P = sum p x.

    All O(n^2) two-sided threshold sets with one class taken in part are tried. `reference.tv_optimum` brackets
    T* from both sides in O(n log n).

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md S2, S3, S7; T_f - T* <= p_max^2 (r_max^2 - 1)/4.
    Lean: ProofKV.tv_le_threshold_values
    """
    return fractional_optimum(x.weights, x.ratios, ratio_order(x), m)
