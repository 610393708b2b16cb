"""The largest TV over the whole box of weight ratios, by all subsets of the tokens."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar

MAX_TOKENS = 12


@claim(
    "softmax_tv",
    name="softmax_tv_exact",
    hypotheses=("weights_positive", "lower_positive", "tilts_within_bounds"),
    lean="ProofKV.tv_box_le_iff_gain_le",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= max over subsets S of A_S/(A_S + B_rest) - p(S), A_S = sum_S p u, B_rest = sum_rest p l; attained.

    Sound when: weights are positive; lower ends are positive; each weight ratio lies in [l_i, u_i].
    Returns: T*, the maximum of TV over the box: no smaller number is an upper bound for all data in it.
    Raises: InvalidInputError for more than 12 tokens.
    Source: docs/theory.md R0.
    Lean: ProofKV.tv_box_le_iff_gain_le
    """
    n = len(x.weights)
    if n > MAX_TOKENS:
        raise InvalidInputError("weights", f"at most {MAX_TOKENS} tokens", n)
    sums = [(m.const(0), m.const(0), m.const(0))]
    for p, low, high in zip(x.weights, x.lower, x.upper, strict=True):
        outside = [(a, b + p * low, mass) for a, b, mass in sums]
        sums = outside + [(a + p * high, b, mass + p) for a, b, mass in sums]
    return m.max(*(a / (a + b) - mass for a, b, mass in sums))
