"""The exact maximum of the largest output coordinate error, over the boxes of weight ratios and of values jointly."""

from __future__ import annotations

from proofkv_verify.bounds._thresholds import threshold_mean
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "attention_linf",
    name="attention_linf_exact_upper",
    hypotheses=("weights_positive", "lower_positive", "tilts_within_bounds", "value_errors_within_box"),
    lean="ProofKV.attention_coordinate_le_thresholds",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """max_c abs(o_c - o_hat_c) <= max over the 2d signed coordinates of H = max over prefixes of the tilted mean.

    For a sign g and coordinate c the scores are t_i = g v_ic + box_ic; the largest sum q t over the box gives the
    upper end u_i to a set of largest scores and the lower end l_i to the rest. Attained by data in the box, so no
    smaller number is sound. `reference.output_optimum` sorts once a direction: O(d n log n).

    Sound when: weights are positive; lower ends are positive; each weight ratio lies in [l_i, u_i];
        abs(e_ic) <= box_ic for each coordinate of each value error.
    Source: docs/theory.md O1, O2.
    Lean: ProofKV.attention_coordinate_le_thresholds, ProofKV.exists_threshold_attains
    """
    return m.max(0, *(_direction(x, m, c, sign) for c in range(len(x.values_hat[0])) for sign in (1, -1)))


def _direction(x: View, m: Math, c: int, sign: int) -> Scalar:
    scores = [sign * v[c] + box[c] for v, box in zip(x.values_hat, x.value_box, strict=True)]
    centre = m.sum(p * v[c] for p, v in zip(x.weights, x.values_hat, strict=True))
    return threshold_mean(x.weights, (x.lower, x.upper), scores, m) - sign * centre
