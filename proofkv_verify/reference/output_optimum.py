"""The exact optimum of the largest output coordinate error over the weight and value boxes, one sort a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from proofkv_verify.ball import Real, precision
from proofkv_verify.errors import InvalidInputError, ShapeError


@dataclass(frozen=True, slots=True)
class OutputOptimum:
    """lower <= the maximum of max_c abs(o_c - o_hat_c) over the boxes <= upper.

    Attributes:
        lower: rounded down.
        upper: rounded up.
        coordinate: coordinate c of the best direction.
        sign: sign of the best direction.
        raised: indices of the tokens that take their upper weight ratio there.
    """

    lower: Fraction
    upper: Fraction
    coordinate: int
    sign: int
    raised: tuple[int, ...]


def linf_optimum(
    weights: Sequence[Real | Fraction],
    ends: tuple[Sequence[Real | Fraction], Sequence[Real | Fraction]],
    values_hat: Sequence[Sequence[Fraction]],
    value_box: Sequence[Sequence[Fraction]],
    *,
    bits: int = 192,
) -> OutputOptimum:
    """Encloses the maximum in O(d n log n): the raised tokens of a direction are a prefix of its sorted scores.

    Args:
        weights: p > 0 [n], any common scale.
        ends: lower (positive) and upper ends of the weight ratios [n].
        values_hat: compressed values [n][d].
        value_box: bounds of the absolute value errors [n][d].
        bits: working precision of the balls.

    Returns:
        The enclosure, outward-rounded, with the direction and the raised tokens that attain it.

    Raises:
        ShapeError: lengths differ or no token or no coordinate.
    """
    n, d = len(weights), len(values_hat[0]) if values_hat else 0
    if not n or not d or any(len(part) != n for part in (*ends, values_hat, value_box)):
        raise ShapeError("values_hat", f"{max(n, 1)} rows of at least one coordinate, one a weight", len(values_hat))
    with precision(bits):
        balls = [Real(w).ball for w in weights]
        total = sum(balls, arb(0))
        p = [w / total for w in balls]
        low, high = ([Real(end).ball for end in part] for part in ends)
        found = []
        for c in range(d):
            for sign in (1, -1):
                scores = [sign * v[c] + box[c] for v, box in zip(values_hat, value_box, strict=True)]
                mean, raised = _best_prefix(p, low, high, scores)
                centre = sum((w * Real(v[c]).ball for w, v in zip(p, values_hat, strict=True)), arb(0))
                found.append((mean - sign * centre, c, sign, raised))
        return _widest(found)


def _best_prefix(
    p: Sequence[arb], low: Sequence[arb], high: Sequence[arb], scores: Sequence[Fraction]
) -> tuple[arb, tuple[int, ...]]:
    order = sorted(range(len(p)), key=lambda i: -scores[i])
    t = [Real(score).ball for score in scores]
    above = sum((w * u * s for w, u, s in zip(p, low, t, strict=True)), arb(0))
    below = sum((w * u for w, u in zip(p, low, strict=True)), arb(0))
    best, size, upper = above / below, 0, above / below
    for k, i in enumerate(order, start=1):
        gain = p[i] * (high[i] - low[i])
        above, below = above + gain * t[i], below + gain
        value = above / below
        upper = upper.max(value)
        if value.mid() > best.mid():
            best, size = value, k
    return upper, tuple(sorted(order[:size]))


def _widest(found: Sequence[tuple[arb, int, int, tuple[int, ...]]]) -> OutputOptimum:
    value = found[0][0]
    for other, *_ in found[1:]:
        value = value.max(other)
    lower, upper = Real(value).lower(), Real(value).upper()
    if lower is None or upper is None:
        raise InvalidInputError("weights", "finite numbers that fit the precision", "an unbounded enclosure")
    _, c, sign, raised = max(found, key=lambda row: Fraction(Real(row[0].mid()).lower() or 0))
    return OutputOptimum(lower, upper, c, sign, raised)
