from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import Real
from proofkv_verify.bounds.softmax_tv_optimum import BOUND
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    PARTS,
    assert_at_least,
    assert_overlap,
    assert_tight,
    facts,
    fractions_of,
    optimum,
    ratio_case,
    ratio_cases,
    value,
)


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("51/50", "1.01", "1.001", "1.01"), strict=True)))
def test_softmax_tv_optimum_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases())
def test_softmax_tv_optimum_exceeds_the_best_subset_by_at_most_the_largest_token_squared(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    gap = (max(weights) / sum(weights)) ** 2 * (max(ratios) ** 2 - 1) / 4
    assert (value(BOUND, case) <= optimum(case) + gap).value is not False


@facts
@given(ratio_cases(), st.lists(PARTS, min_size=5, max_size=5))
def test_softmax_tv_optimum_is_at_least_every_choice_of_parts(case: Instance, parts: list[Fraction]) -> None:
    rows = list(zip(fractions_of(case, "weights"), fractions_of(case, "ratios"), parts, strict=False))
    total = sum(p for p, _, _ in rows)
    a, b = sum(p * r * x for p, r, x in rows), sum(p / r * (1 - x) for p, r, x in rows)
    assert_at_least(BOUND, case, a / (a + b) - sum(p * x for p, _, x in rows) / total)


@pytest.mark.parametrize("r", [2, 3, 9])
def test_softmax_tv_optimum_of_one_token_is_the_odds_bound(r: int) -> None:
    assert_overlap(value(BOUND, ratio_case([1], [r])), Real(Fraction(r - 1, r + 1)))


def test_softmax_tv_optimum_counts_sets_with_the_lowest_ratio() -> None:
    case = ratio_case([1, 2], [1, "3/2"])
    assert optimum(case) == Fraction(2, 21)
    assert_at_least(BOUND, case, Fraction(2, 21))


def test_softmax_tv_optimum_exceeds_a_best_subset_that_is_no_two_sided_set() -> None:
    case = ratio_case([1, 1, 2], ["3/2", 2, 3])
    assert optimum(case) == Fraction(7, 20)
    assert (value(BOUND, case) > Fraction(417, 1000)).value is True
