"""Field fault A16: the row, and verifiers that a NaN, an infinity or an empty interval can lead to "proved"."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from proofkv_verify import claim
from proofkv_verify.audit.verdict_checks import check_interval_rule, check_margin_rule
from proofkv_verify.ball import BallMath
from proofkv_verify.certificate import Certificate
from proofkv_verify.check import check_certificate, check_claim, check_number
from proofkv_verify.verdict import Inconclusive, Refuted
from tests.quality.test_mutants_argmax import scores

NAN = math.nan
ROWS = [(NAN, 0.3), (0.3, NAN)]
LOSES = scores([0, 1], [0, 0], [0, 0])


def right_rule(margins: Sequence[float]) -> bool | None:
    """Certifies on proven facts only."""
    if not all(math.isfinite(m) for m in margins):
        return None
    return all(m > 0 for m in margins)


def flag_cleared_by_max(margins: Sequence[float], tol: float = 0.0) -> bool | None:
    """The report: the flag starts at "proved" and is cleared when a comparison says so."""
    proved = True
    if max(-m for m in margins) >= tol:
        proved = False
    return proved


def rejects_when_smaller(margins: Sequence[float]) -> bool | None:
    return not any(m <= 0 for m in margins)


def sorted_first(margins: Sequence[float]) -> bool | None:
    return sorted(margins)[0] > 0


def at_a_tie(margins: Sequence[float]) -> bool | None:
    return None if any(math.isnan(m) for m in margins) else min(margins) >= 0


def finite_ties(margins: Sequence[float]) -> bool | None:
    return min(margins) >= 0 if all(math.isfinite(m) for m in margins) else None


def never_sure(margins: Sequence[float]) -> bool | None:
    return None


def test_a16_the_builtin_max_returns_nan_in_one_order_and_the_number_in_the_other() -> None:
    first, second = (max(row) for row in ROWS)
    assert math.isnan(first)
    assert second == 0.3


@pytest.mark.parametrize("margins", ROWS)
def test_a16_the_row_is_unknown_in_both_orders(margins: Sequence[float]) -> None:
    assert right_rule(margins) is None
    assert rejects_when_smaller(margins) is True  # what the report is about


@pytest.mark.parametrize(
    "faulty", [flag_cleared_by_max, rejects_when_smaller, sorted_first, at_a_tie, finite_ties, never_sure]
)
def test_a16_a_faulty_rule_is_caught(faulty: Callable[[Sequence[float]], bool | None]) -> None:
    assert check_margin_rule(faulty) is not None


def test_a16_the_correct_twin_passes() -> None:
    assert check_margin_rule(right_rule) is None


def right_interval(lower: float, upper: float, claimed: float) -> bool | None:
    if not lower <= upper:
        return None
    return True if upper <= claimed else False if claimed < lower else None


def two_valued(lower: float, upper: float, claimed: float) -> bool | None:
    return not lower > claimed


def without_the_emptiness_test(lower: float, upper: float, claimed: float) -> bool | None:
    return True if upper <= claimed else False if claimed < lower else None


def says_no_to_nan(lower: float, upper: float, claimed: float) -> bool | None:
    return right_interval(lower, upper, claimed) or False


def strict(lower: float, upper: float, claimed: float) -> bool | None:
    return right_interval(lower, upper, math.nextafter(claimed, -math.inf))


def proves_nan(lower: float, upper: float, claimed: float) -> bool | None:
    return True if math.isnan(claimed) else right_interval(lower, upper, claimed)


@pytest.mark.parametrize("faulty", [two_valued, without_the_emptiness_test, says_no_to_nan, strict, proves_nan])
def test_a16_a_faulty_interval_rule_is_caught(faulty: Callable[[float, float, float], bool | None]) -> None:
    fault = check_interval_rule(faulty)
    assert fault is not None
    assert fault.inputs.startswith("value in [")


def test_a16_the_correct_interval_rule_passes() -> None:
    assert check_interval_rule(right_interval) is None


@pytest.mark.parametrize("special", ["nan", "inf", "-inf"])
def test_a16_our_checker_never_certifies_a_margin_that_is_no_number(special: Any) -> None:
    assert isinstance(check_number(LOSES, special).verdict, Refuted)
    assert isinstance(check_certificate(Certificate("argmax_margin_lower", LOSES, special)).verdict, Refuted)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a16_our_checker_is_inconclusive_on_a_minimum_over_nan_in_both_orders(order: tuple[int, int]) -> None:
    @claim("argmax")
    def overflowed(x: Any, m: Any) -> Any:
        margins = [m.log(m.const(0)), m.const(Fraction(3, 10))]
        return m.min(*(margins[i] for i in order))

    assert check_claim(overflowed, LOSES).verdict == Inconclusive("undecided at 2048 bits")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a16_extrema_of_balls_keep_nan_in_both_orders(order: tuple[int, int]) -> None:
    m = BallMath()
    values = [m.log(0), m.const(Fraction(3, 10))]
    for extremum in (m.max, m.min):
        found = extremum(*(values[i] for i in order))
        assert not found.is_finite()
        assert (found <= 0).value is None
