"""TV <= 1 - 1/A for A <= 2 and A^2/(A^2 + 4) beyond, A the mean ratio under the compressed weights."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_mean_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_mean",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= 1 - 1/A if A <= 2, TV <= A^2/(A^2+4) always, where A = sum p_i r_i.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md R3, sharp given A alone.
    Lean: ProofKV.tv_le_mean
    """
    a = mean_ratio(x, m)
    return m.where(a <= 2, 1 - 1 / a, a * a / (a * a + 4))


def mean_ratio(x: View, m: Math) -> Scalar:
    """A = sum p_i r_i >= 1."""
    return m.sum(p * r for p, r in zip(x.weights, x.ratios, strict=True))
