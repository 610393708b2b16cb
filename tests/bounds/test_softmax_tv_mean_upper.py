from fractions import Fraction

import pytest
from hypothesis import given

from proofkv_verify.bounds.softmax_tv_mean_upper import BOUND
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import GUARDS, assert_tight, facts, optimum, ratio_case, ratio_cases, value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("7/5", "37/20", "1002/1000", "2"), strict=True)))
def test_softmax_tv_mean_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


def test_softmax_tv_mean_upper_is_sharp_as_the_mass_goes_to_zero() -> None:
    case = ratio_case([1, 10**9], [10**9, 1])
    assert (value(BOUND, case) <= Fraction(1001, 1000) * optimum(case)).value is True


def test_softmax_tv_mean_upper_changes_branch_at_mean_ratio_two() -> None:
    assert value(BOUND, ratio_case([1], [2])).exact == Fraction(1, 2)
    assert value(BOUND, ratio_case([1], [4])).exact == Fraction(4, 5)


@facts
@given(ratio_cases())
def test_softmax_tv_mean_upper_is_never_vacuous(case: Instance) -> None:
    assert (value(BOUND, case) < 1).value is True
