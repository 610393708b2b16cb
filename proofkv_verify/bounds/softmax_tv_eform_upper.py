"""TV <= (A^2 - 1)/2: the exponential form, kept for comparison; every other bound of the family beats it."""

from __future__ import annotations

from proofkv_verify.bounds.softmax_tv_mean_upper import mean_ratio
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_eform_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_eform",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= (A^2 - 1)/2, where A = sum p_i r_i.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md R1; unbounded in A, so it can exceed 1.
    Lean: ProofKV.tv_le_eform
    """
    a = mean_ratio(x, m)
    return (a * a - 1) / 2
