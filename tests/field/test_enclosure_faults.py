"""Field fault A18: an interval library whose exp misses the true value, and enclosures that only look outward."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from proofkv_verify.audit.verdict_checks import FUNCTIONS, MISSED, POINTS, check_enclosure
from proofkv_verify.ball import BallMath, precision
from proofkv_verify.exact import lift_float

MISSED_113 = Fraction(1381846513289487, 2**46)
TRUE_EXP = "31.769286826103925847"


def by_arb(function: str, bits: int = 53) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    def enclose(point: Fraction) -> tuple[Fraction, Fraction]:
        m = BallMath()
        with precision(bits):
            found = getattr(m, function)(point)
            lower, upper = found.lower(), found.upper()
        assert lower is not None
        assert upper is not None
        return lower, upper

    return enclose


def by_mpmath_intervals(bits: int) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    def enclose(point: Fraction) -> tuple[Fraction, Fraction]:
        iv = mpmath.iv.__class__()
        iv.prec = bits
        found = iv.exp(iv.mpf(point.numerator) / point.denominator)
        return fraction_of(found.a), fraction_of(found.b)

    return enclose


def fraction_of(value: Any) -> Fraction:
    """An mpmath number, or a point interval, as the exact rational that it is."""
    sign, mantissa, exponent, _ = value._mpi_[0] if hasattr(value, "_mpi_") else value._mpf_
    return (-1 if sign else 1) * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def by_float(function: str) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """The library's float taken for the exact value."""

    def enclose(point: Fraction) -> tuple[Fraction, Fraction]:
        value = lift_float(getattr(math, function)(float(point)))
        return value, value

    return enclose


def rounded_to_nearest(function: str) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """A 53-bit enclosure made narrower by rounding its ends to the nearest of 40 bits."""

    def enclose(point: Fraction) -> tuple[Fraction, Fraction]:
        lower, upper = (Fraction(round(end * 2**40), 2**40) for end in by_arb(function)(point))
        return lower, upper

    return enclose


def padded(function: str) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """The float widened by two units in the last place on both sides, and by what the argument's rounding costs."""

    def enclose(point: Fraction) -> tuple[Fraction, Fraction]:
        at = float(point)
        ends = [getattr(math, function)(math.nextafter(at, way)) for way in (-math.inf, math.inf)]
        low, high = min(ends), max(ends)
        for _ in range(2):
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return lift_float(low), lift_float(high)

    return enclose


@pytest.mark.parametrize(("point", "bits"), [(MISSED, 53), (MISSED_113, 113)])
def test_a18_mpmath_intervals_miss_exp_and_arb_balls_enclose_it(point: Fraction, bits: int) -> None:
    fault = check_enclosure("exp", by_mpmath_intervals(bits), [point])
    assert fault is not None
    assert fault.inputs.startswith("exp at ")
    assert check_enclosure("exp", by_arb("exp", bits), [point]) is None


@pytest.mark.parametrize(("point", "bits", "miss"), [(MISSED, 53, "7.0e-5"), (MISSED_113, 113, "1.4e-4")])
def test_a18_the_true_value_is_above_the_returned_top_by_the_reported_part_of_an_ulp(
    point: Fraction, bits: int, miss: str
) -> None:
    _, top = by_mpmath_intervals(bits)(point)
    with mpmath.workdps(100):
        value = mpmath.exp(mpmath.mpf(point.numerator) / point.denominator)
        ulp = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(value, 2)) - bits + 1)
        above = (value - mpmath.mpf(top.numerator) / top.denominator) / ulp
        assert abs(above - mpmath.mpf(miss)) < mpmath.mpf(miss) / 20
    if point == MISSED:
        assert mpmath.nstr(value, 20) == TRUE_EXP


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a18_floats_taken_for_exact_values_are_caught(function: str) -> None:
    assert check_enclosure(function, by_float(function)) is not None


@pytest.mark.parametrize("function", ["exp", "log", "sqrt"])
def test_a18_ends_rounded_to_nearest_are_caught(function: str) -> None:
    assert check_enclosure(function, rounded_to_nearest(function)) is not None


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bits", [24, 53, 113, 400])
def test_a18_the_correct_twin_passes_at_every_precision(function: str, bits: int) -> None:
    assert check_enclosure(function, by_arb(function, bits), [*POINTS, MISSED_113]) is None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a18_a_padded_float_passes(function: str) -> None:
    assert check_enclosure(function, padded(function)) is None


def test_a18_exact_points_are_included() -> None:
    assert by_arb("exp")(Fraction(0)) == (1, 1)
    assert by_arb("sqrt")(Fraction(9, 4)) == (Fraction(3, 2), Fraction(3, 2))
    assert check_enclosure("exp", by_arb("exp"), [Fraction(0)]) is None
    assert check_enclosure("sqrt", by_arb("sqrt"), [Fraction(9, 4)]) is None
