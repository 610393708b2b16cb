"""Rationals for searches: exact and outward square roots, Pythagorean pairs, the simplest number near another."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt

TINIEST = Fraction(1, 1 << 1074)
"""The smallest positive binary64 number, in place of a weight that underflowed."""

_ROOT_BITS = 60


def exact_root(value: Fraction) -> Fraction | None:
    """The square root of a rational if it is rational, else None (also for a negative number)."""
    if value < 0:
        return None
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    return Fraction(top, bottom) if top * top == value.numerator and bottom * bottom == value.denominator else None


def root_up(value: Fraction) -> Fraction:
    """A rational y >= sqrt(value) >= 0, the root itself if it is rational, else within a part 2^-58 above it."""
    exact = exact_root(value)
    if exact is not None:
        return exact
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    shift = max(_ROOT_BITS - bits // 2, 0)
    floor = isqrt((value.numerator << (2 * shift)) // value.denominator)
    return Fraction(floor + 1, 1 << shift)


def on_circle(cosine: Fraction, sine: Fraction) -> tuple[Fraction, Fraction]:
    """The pair itself if it lies on the unit circle exactly, else a Pythagorean pair at nearly the same angle."""
    if cosine * cosine + sine * sine == 1:
        return cosine, sine
    if cosine <= -1:
        return Fraction(-1), Fraction(0)
    tangent = sine / (1 + cosine)
    return pythagorean(tangent)


def pythagorean(tangent: Fraction) -> tuple[Fraction, Fraction]:
    """((1 - t^2)/(1 + t^2), 2t/(1 + t^2)): the point of the unit circle whose half angle has tangent t."""
    square = tangent * tangent
    return (1 - square) / (1 + square), 2 * tangent / (1 + square)


def clamp(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The number of [low, high] nearest to the value."""
    return max(low, min(high, value))


def length(value: Fraction) -> int:
    """How long a number is to read: decimal digits of numerator and denominator, one more for a sign."""
    bottom = 0 if value.denominator == 1 else len(str(value.denominator)) + 1
    return len(str(value.numerator)) + bottom


def shorter(value: Fraction) -> Iterator[Fraction]:
    """Shorter numbers near the value, the shortest first; each is shorter than the value itself."""
    size = length(value)
    seen: set[Fraction] = set()
    for candidate in _near(value):
        if candidate not in seen and (length(candidate), abs(candidate)) < (size, abs(value)):
            seen.add(candidate)
            yield candidate


def _near(value: Fraction) -> Iterator[Fraction]:
    sign = -1 if value < 0 else 1
    yield from (Fraction(0), Fraction(1), Fraction(sign))
    if value < 0:
        yield -value
    if abs(value) < 1:
        yield from (sign * Fraction(1, 10**power) for power in (1, 2, 3, 6, 12))
    if abs(value) > 100:
        yield from (sign * Fraction(10**power) for power in (2, 3, 6, 12))
    for digits in (1, 2):
        yield from _decimal(value, digits)
    for bottom in (1, 2, 4, 8, 10, 16, 64, 100, 256, 1000, 10**4, 10**6, 10**9):
        yield Fraction(round(value * bottom), bottom)
        yield value.limit_denominator(bottom)
    for digits in (3, 4, 6, 9, 12):
        yield from _decimal(value, digits)


def _decimal(value: Fraction, digits: int) -> Iterator[Fraction]:
    """The value at so many significant digits, both ways."""
    if value == 0:
        return
    exponent = len(str(abs(value.numerator))) - len(str(value.denominator)) - digits
    unit = Fraction(10) ** exponent
    floor = (value / unit).__floor__()
    yield from (floor * unit, (floor + 1) * unit)
