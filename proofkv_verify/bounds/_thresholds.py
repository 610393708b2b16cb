"""Maxima over threshold sets, formed by comparisons only: no sorting, so that every arithmetic can take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofkv_verify.kinds import View
from proofkv_verify.scalar import Condition, Math, Scalar


@dataclass(frozen=True, slots=True)
class _Sums:
    """Over a set of tokens: mass sum p, raised sum p r, lowered sum p / r."""

    mass: Scalar
    raised: Scalar
    lowered: Scalar


def ratio_order(x: View) -> list[Scalar]:
    """Numbers in the order of the ratios: the logit radii where they are given, since those are exact."""
    return list(x.logit_radii) if "logits_hat" in x else list(x.ratios)


def fractional_optimum(weights: Sequence[Scalar], ratios: Sequence[Scalar], order: Sequence[Scalar], m: Math) -> Scalar:
    """T_f: the largest a/(a+b) - P with a = sum p r x, b = sum p (1-x)/r, P = sum p x over x in [0, 1]^n.

    A maximiser takes all tokens below one ratio and all above another, and at most one of the two classes at these
    ratios is taken in part. All O(n^2) pairs of classes are tried.

    Args:
        weights: p >= 0 with sum 1.
        ratios: r >= 1.
        order: numbers ordered as the ratios are (ties where they tie).
        m: the arithmetic.

    Returns:
        T_f, exact up to the square root of the arithmetic.
    """
    low = [_sums(weights, ratios, [other < mine for other in order], m) for mine in order]
    high = [_sums(weights, ratios, [other > mine for other in order], m) for mine in order]
    mass = [1 - below.mass - above.mass for below, above in zip(low, high, strict=True)]
    lowered = m.sum(p / r for p, r in zip(weights, ratios, strict=True))
    best = [m.const(0)]
    for i, below in enumerate(low):
        for j, above in enumerate(high):
            valid = order[i] <= order[j]
            best.extend(
                _along_class(below, above, lowered, mass[k], ratios[k], valid, m) for k in ((i,) if i == j else (i, j))
            )
    return m.max(*best)


def threshold_mean(
    weights: Sequence[Scalar], ends: tuple[Sequence[Scalar], Sequence[Scalar]], scores: Sequence[Scalar], m: Math
) -> Scalar:
    """The largest sum p w t / sum p w over the box lower <= w <= upper, by all n sets {t_i >= t_k}.

    Args:
        weights: p > 0.
        ends: the lower ends (positive) and the upper ends of w.
        scores: t, compared exactly where the arithmetic is exact.
        m: the arithmetic.

    Returns:
        The maximum, attained by giving the upper end to a set of largest scores and the lower end to the rest.
    """
    return m.max(*(_tilted_mean(weights, ends, scores, [t >= mine for t in scores], m) for mine in scores))


def _tilted_mean(
    weights: Sequence[Scalar],
    ends: tuple[Sequence[Scalar], Sequence[Scalar]],
    scores: Sequence[Scalar],
    chosen: Sequence[Condition],
    m: Math,
) -> Scalar:
    rows = zip(weights, *ends, chosen, strict=True)
    tilted = [p * m.where(inside, upper, lower) for p, lower, upper, inside in rows]
    return m.sum(w * t for w, t in zip(tilted, scores, strict=True)) / m.sum(tilted)


def _sums(weights: Sequence[Scalar], ratios: Sequence[Scalar], chosen: Sequence[Condition], m: Math) -> _Sums:
    rows = list(zip(weights, ratios, chosen, strict=True))
    return _Sums(
        m.sum(m.where(inside, p, 0) for p, _, inside in rows),
        m.sum(m.where(inside, p * r, 0) for p, r, inside in rows),
        m.sum(m.where(inside, p / r, 0) for p, r, inside in rows),
    )


def _along_class(
    low: _Sums, high: _Sums, lowered: Scalar, mass: Scalar, ratio: Scalar, valid: Condition, m: Math
) -> Scalar:
    """The maximum over the taken part of one class; 0 for a pair of thresholds that cross."""
    a = low.raised + high.raised
    b = lowered - low.lowered - high.lowered
    p = low.mass + high.mass
    start = m.where(valid, a + b, 1)  # D without the class
    width = ratio - 1 / ratio
    end = start + mass * width
    # a / D - P along the class is (ratio + start - (c / D + D)) / width - p: stationary at D = sqrt(c).
    c = m.where(valid, b * ratio + a / ratio, 1)
    inner = (ratio + start - 2 * m.sqrt(c)) / m.where(width > 0, width, 1) - p
    without, whole = a / start - p, (a + mass * ratio) / end - p - mass
    value = m.where(c <= start * start, without, m.where(c >= end * end, whole, inner))
    return m.where(valid, m.where(width > 0, value, m.max(without, whole)), 0)
