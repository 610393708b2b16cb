from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_eform_upper import BOUND
from proofkv_verify.bounds.softmax_tv_mean_upper import BOUND as MEAN
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_at_least,
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    assert_tight,
    facts,
    interval_cases,
    logit_cases,
    optimum,
    permuted,
    ratio_case,
    ratio_cases,
    scaled,
    split_first,
    value,
    widened,
)


@facts
@given(ratio_cases())
def test_softmax_tv_eform_upper_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(interval_cases())
def test_softmax_tv_eform_upper_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(logit_cases())
def test_softmax_tv_eform_upper_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@facts
@given(ratio_cases())
def test_softmax_tv_eform_upper_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@facts
@given(ratio_cases())
def test_softmax_tv_eform_upper_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@facts
@given(ratio_cases(max_tokens=4))
def test_softmax_tv_eform_upper_does_not_change_when_a_token_is_split(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, split_first(case)))


@facts
@given(ratio_cases(), st.integers(0, 4))
def test_softmax_tv_eform_upper_does_not_decrease_with_a_ratio(case: Instance, k: int) -> None:
    assert not (value(BOUND, widened(case, k)) < value(BOUND, case)).value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("12/5", "5/2", "301/100", "2"), strict=True)))
def test_softmax_tv_eform_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases())
def test_softmax_tv_eform_upper_is_never_below_the_mean_bound(case: Instance) -> None:
    assert (value(BOUND, case) >= value(MEAN, case)).value is True


def test_softmax_tv_eform_upper_worked_number() -> None:
    assert value(BOUND, ratio_case([1, 1], [1, 2])).exact == Fraction(5, 8)
