"""TV <= 1 - B/A: the overlap bound, best where a tiny mass carries a huge ratio."""

from __future__ import annotations

from proofkv_verify.bounds.softmax_tv_mean_upper import mean_ratio
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_overlap_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_overlap",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= 1 - B/A, where A = sum p_i r_i and B = sum p_i / r_i.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md R4, sharp given A and B alone.
    Lean: ProofKV.tv_le_overlap
    """
    b = m.sum(p / r for p, r in zip(x.weights, x.ratios, strict=True))
    return 1 - b / mean_ratio(x, m)
