from fractions import Fraction

import pytest
from hypothesis import given

from proofkv_verify.bounds.softmax_tv_eform_upper import BOUND
from proofkv_verify.bounds.softmax_tv_mean_upper import BOUND as MEAN
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import GUARDS, assert_tight, facts, ratio_case, ratio_cases, value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("12/5", "5/2", "301/100", "2"), strict=True)))
def test_softmax_tv_eform_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases())
def test_softmax_tv_eform_upper_is_never_below_the_mean_bound(case: Instance) -> None:
    assert (value(BOUND, case) >= value(MEAN, case)).value is True


def test_softmax_tv_eform_upper_worked_number() -> None:
    assert value(BOUND, ratio_case([1, 1], [1, 2])).exact == Fraction(5, 8)
