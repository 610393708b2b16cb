from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import Real
from proofkv_verify.bounds.softmax_tv_odds_upper import BOUND, largest_pair
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    MATH,
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
    value,
    widened,
)


@facts
@given(ratio_cases())
def test_softmax_tv_odds_upper_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(interval_cases())
def test_softmax_tv_odds_upper_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(logit_cases())
def test_softmax_tv_odds_upper_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@facts
@given(ratio_cases())
def test_softmax_tv_odds_upper_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@facts
@given(ratio_cases())
def test_softmax_tv_odds_upper_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@facts
@given(interval_cases(), st.sampled_from(["1/3", "2", "7"]))
def test_softmax_tv_odds_upper_does_not_change_when_all_ends_are_scaled(case: Instance, factor: str) -> None:
    moved = scaled(scaled(case, "lower", Fraction(factor)), "upper", Fraction(factor))
    assert_overlap(value(BOUND, case), value(BOUND, moved))


@facts
@given(ratio_cases(), st.integers(0, 4))
def test_softmax_tv_odds_upper_does_not_decrease_with_a_ratio(case: Instance, k: int) -> None:
    assert not (value(BOUND, widened(case, k)) < value(BOUND, case)).value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("23/10", "101/100", "19/10", "111/100"), strict=True)))
def test_softmax_tv_odds_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_softmax_tv_odds_upper_is_attained_at_odds_one_over_k(k: int) -> None:
    case = ratio_case([1, k], [k, k])
    assert value(BOUND, case).exact == Fraction(k - 1, k + 1) == optimum(case)


def test_softmax_tv_odds_upper_of_one_token_is_zero() -> None:
    assert value(BOUND, ratio_case([1], [1000])).exact == 0


def test_softmax_tv_odds_upper_takes_the_two_largest_ratios() -> None:
    assert value(BOUND, ratio_case([1, 1, 1], [2, 8, 1])).exact == Fraction(3, 5)


@facts
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.lists(st.integers(1, 9), min_size=6, max_size=6))
def test_largest_pair_equals_all_pairs(above: list[int], below: list[int]) -> None:
    found = largest_pair([Real(u) for u in above], [Real(v) for v in below[: len(above)]], MATH)
    pairs = [u * v for i, u in enumerate(above) for j, v in enumerate(below[: len(above)]) if i != j]
    assert found.exact == max(1, *pairs)
