"""The Euclidean output error from TV and the value radii: the smaller of the two correct splits."""

from __future__ import annotations

from proofkv_verify.bounds._thresholds import fractional_optimum, ratio_order, threshold_mean
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "attention_l2",
    name="attention_l2_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios", "value_errors_within_radii"),
    lean="ProofKV.attention_norm_le",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """norm(o - o_hat) <= min of two splits: compressed weights with true values, or box weights with compressed values.

    First: sum p nu + T max over i != j of (norm(v_i - v_j) + nu_i + nu_j). Second: (max over the box of sum q nu) +
    T max norm(v_i - v_j). Here v are the compressed values, nu their radii and T = T_f of `softmax_tv_optimum`.
    Taking the first sum with the second diameter is unsound.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i];
        norm(e_i) <= nu_i for each value error.
    Source: docs/theory.md L5, R14 with the diameter in place of twice a radius.
    Lean: ProofKV.attention_norm_le
    """
    tv = fractional_optimum(x.weights, x.ratios, ratio_order(x), m)
    held = m.sum(p * nu for p, nu in zip(x.weights, x.value_radii, strict=True))
    moved = threshold_mean(x.weights, (x.lower, x.upper), x.value_radii, m)
    return m.min(held + tv * diameter(x, m, inflated=True), moved + tv * diameter(x, m, inflated=False))


def diameter(x: View, m: Math, *, inflated: bool) -> Scalar:
    """The largest distance of two compressed values, or of two true values within their radii (`inflated`)."""
    found = [m.const(0)]
    for i, left in enumerate(x.values_hat):
        for j, right in enumerate(x.values_hat[:i]):
            apart = m.sqrt(m.sum((s - t) * (s - t) for s, t in zip(left, right, strict=True)))
            found.append(apart + x.value_radii[i] + x.value_radii[j] if inflated else apart)
    return m.max(*found)
