"""TV <= (k-1)/(k+1) where k^2 bounds the ratio of any two weight ratios."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_odds_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_odds",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= (k-1)/(k+1), where k^2 is the product of the two largest ratios r_i r_j, i != j.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
        With explicit ends the product is u_i/l_j, i != j, and the bound does not change when all ends are scaled.
    Source: docs/theory.md R2, sharp: attained at odds 1/k.
    Lean: ProofKV.tv_le_odds
    """
    below = x.ratios if x.symmetric else [1 / low for low in x.lower]
    k = m.sqrt(largest_pair(x.upper, below, m))
    return (k - 1) / (k + 1)


def largest_pair(above: Sequence[Scalar], below: Sequence[Scalar], m: Math) -> Scalar:
    """The largest above_i * below_j over i != j, at least 1; both lists positive."""
    best, top_above, top_below = m.const(1), m.const(0), m.const(0)
    for u, v in zip(above, below, strict=True):
        best = m.max(best, u * top_below, top_above * v)
        top_above, top_below = m.max(top_above, u), m.max(top_below, v)
    return best
