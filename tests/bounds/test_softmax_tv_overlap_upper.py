from fractions import Fraction

import pytest

from proofkv_verify.bounds.softmax_tv_overlap_upper import BOUND
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import GUARDS, assert_tight, optimum, ratio_case, value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("21/10", "17/5", "1003/1000", "4"), strict=True)))
def test_softmax_tv_overlap_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


def test_softmax_tv_overlap_upper_is_near_the_optimum_for_a_tiny_mass_with_a_huge_ratio() -> None:
    case = ratio_case([1, 10**6], [10**8, 1])
    assert (value(BOUND, case) <= Fraction(1001, 1000) * optimum(case)).value is True


def test_softmax_tv_overlap_upper_worked_number() -> None:
    assert value(BOUND, ratio_case([1, 1], [1, 3])).exact == Fraction(2, 3)
