from fractions import Fraction

import pytest
from hypothesis import given

from proofkv_verify.bounds.softmax_tv_exact import BOUND
from proofkv_verify.check import check_claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.verdict import Verified
from tests.bounds.tv_cases import GUARDS, assert_tight, attained, facts, optimum, ratio_case, ratio_cases, value


@facts
@given(ratio_cases())
def test_softmax_tv_exact_equals_the_best_subset(case: Instance) -> None:
    assert value(BOUND, case).exact == optimum(case)


@facts
@given(ratio_cases(max_tokens=4))
def test_softmax_tv_exact_is_attained_by_data_in_the_box(case: Instance) -> None:
    judgement = check_claim(BOUND, attained(case))
    assert isinstance(judgement.verdict, Verified)
    assert judgement.truth == judgement.claimed


def test_softmax_tv_exact_grows_when_a_token_is_split() -> None:
    assert value(BOUND, ratio_case([1], [2])).exact == 0
    assert value(BOUND, ratio_case([1, 2], [2, 2])).exact == Fraction(1, 3)


def test_softmax_tv_exact_refuses_more_than_twelve_tokens() -> None:
    assert value(BOUND, ratio_case([1] * 12, [1] * 12)).exact == 0
    with pytest.raises(InvalidInputError, match="at most 12 tokens, got 13"):
        value(BOUND, Instance("softmax_tv", {"weights": (Fraction(1),) * 13, "ratios": (Fraction(2),) * 13}))


@pytest.mark.parametrize("case", GUARDS)
def test_softmax_tv_exact_is_the_optimum_on_fixed_cases(case: Instance) -> None:
    assert_tight(BOUND, case, Fraction(1))
