"""TV <= (k-1)/(k+1) + kE/(1+kE) where E, the mean excess of the ratios over k, is at most k."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_hinge_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_hinge",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= (k-1)/(k+1) + kE/(1+kE), where E = sum p_i max(r_i - k, 0) <= k and k >= 1; the least over the k tried.

    Tries every k in `kappas` if given, else 1 and every ratio (the largest always passes, with E = 0). A k below 1
    counts as 1, and one with E > k is passed over; if none is left the value is 1.

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md R5.
    Lean: ProofKV.tv_le_hinge
    """
    kappas = x.kappas if "kappas" in x else [m.const(1), *x.ratios]
    return m.min(1, *(_at(x, m.max(kappa, 1), m) for kappa in kappas))


def mean_excess(x: View, kappa: Scalar, m: Math) -> Scalar:
    """E = sum p_i max(r_i - kappa, 0)."""
    return m.sum(p * m.max(r - kappa, 0) for p, r in zip(x.weights, x.ratios, strict=True))


def hinge_value(kappa: Scalar, excess: Scalar) -> Scalar:
    """(kappa-1)/(kappa+1) + kappa E/(1 + kappa E)."""
    tail = kappa * excess
    return (kappa - 1) / (kappa + 1) + tail / (1 + tail)


def _at(x: View, kappa: Scalar, m: Math) -> Scalar:
    excess = mean_excess(x, kappa, m)
    return m.where(excess <= kappa, hinge_value(kappa, excess), 1)
