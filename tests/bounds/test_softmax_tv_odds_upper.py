from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import Real
from proofkv_verify.bounds.softmax_tv_odds_upper import BOUND, largest_pair
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import GUARDS, MATH, assert_tight, facts, optimum, ratio_case, value


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
