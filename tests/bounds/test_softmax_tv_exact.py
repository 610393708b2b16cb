from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_exact import BOUND
from proofkv_verify.check import check_claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.verdict import Verified
from tests.bounds.tv_cases import (
    GUARDS,
    assert_at_least,
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    assert_tight,
    attained,
    facts,
    interval_cases,
    logit_cases,
    optimum,
    permuted,
    ratio_case,
    ratio_cases,
    scaled,
    value,
    widened,
)


@facts
@given(ratio_cases())
def test_softmax_tv_exact_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(interval_cases())
def test_softmax_tv_exact_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(logit_cases())
def test_softmax_tv_exact_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@facts
@given(ratio_cases())
def test_softmax_tv_exact_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@facts
@given(ratio_cases())
def test_softmax_tv_exact_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@facts
@given(interval_cases(), st.sampled_from(["1/3", "2", "7"]))
def test_softmax_tv_exact_does_not_change_when_all_ends_are_scaled(case: Instance, factor: str) -> None:
    moved = scaled(scaled(case, "lower", Fraction(factor)), "upper", Fraction(factor))
    assert_overlap(value(BOUND, case), value(BOUND, moved))


@facts
@given(ratio_cases(), st.integers(0, 4))
def test_softmax_tv_exact_does_not_decrease_with_a_ratio(case: Instance, k: int) -> None:
    assert not (value(BOUND, widened(case, k)) < value(BOUND, case)).value


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
