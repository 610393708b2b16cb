from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_hinge_upper import BOUND
from proofkv_verify.bounds.softmax_tv_mean_upper import BOUND as MEAN
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_contains,
    assert_tight,
    changed,
    facts,
    fractions_of,
    optimum,
    ratio_case,
    ratio_cases,
    value,
    widened,
)


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("7/5", "101/100", "1002/1000", "5/4"), strict=True)))
def test_softmax_tv_hinge_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases(), st.integers(0, 4), st.fractions(1, 10, max_denominator=4))
def test_softmax_tv_hinge_upper_at_one_kappa_does_not_decrease_with_a_ratio(
    case: Instance, k: int, kappa: Fraction
) -> None:
    tried = changed(case, kappas=(kappa,))
    assert not (value(BOUND, widened(tried, k)) < value(BOUND, tried)).value


@facts
@given(ratio_cases(), st.lists(st.fractions(0, 30, max_denominator=4), max_size=3))
def test_softmax_tv_hinge_upper_contains_exact_tv_for_any_kappas(case: Instance, kappas: list[Fraction]) -> None:
    assert_contains(BOUND, changed(case, kappas=tuple(kappas)))


@facts
@given(ratio_cases())
def test_softmax_tv_hinge_upper_is_at_most_the_largest_ratio_bound_and_the_mean_bound(case: Instance) -> None:
    top = max(fractions_of(case, "ratios"))
    assert (value(BOUND, case) <= (top - 1) / (top + 1)).value is True
    mean = value(MEAN, case)
    assert (mean > Fraction(1, 2)).value or (value(BOUND, case) <= mean).value is True


def test_softmax_tv_hinge_upper_passes_over_a_kappa_below_its_excess() -> None:
    case = ratio_case([1, 999999], [2000000, 2], kappas=[1])
    assert value(BOUND, case).exact == 1
    assert (optimum(case) > Fraction(3, 4)) is True  # what the formula would say at kappa 1


def test_softmax_tv_hinge_upper_worked_number() -> None:
    assert value(BOUND, ratio_case([1, 3], [5, 2], kappas=[2])).exact == Fraction(1, 3) + Fraction(3, 5)
