from fractions import Fraction
from math import log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real
from proofkv_verify.bounds.softmax_tv_optimum import BOUND
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from proofkv_verify.reference.tv_optimum import best_subset, bracket, bracket_plain, subset_value
from tests.bounds.tv_cases import ends, facts, fractions_of, ratio_cases, value

TINY = Fraction(1, 2**150)


@facts
@given(ratio_cases(max_tokens=7))
def test_bracket_encloses_the_best_subset(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    found, (best, _) = bracket(weights, ratios), best_subset(weights, *ends(case))
    assert found.lower <= best <= found.upper


@facts
@given(ratio_cases(max_tokens=8))
def test_divide_and_conquer_equals_all_pairs_of_cuts(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    fast, plain = bracket(weights, ratios), bracket_plain(weights, ratios)
    assert abs(fast.upper - plain.upper) < TINY
    assert abs(fast.lower - plain.lower) < TINY


@facts
@given(ratio_cases())
def test_bracket_agrees_with_the_claim(case: Instance) -> None:
    found = bracket(fractions_of(case, "weights"), fractions_of(case, "ratios"))
    high = value(BOUND, case).upper()
    assert high is not None
    assert abs(high - found.upper) < Fraction(1, 2**40)


@facts
@given(ratio_cases(max_tokens=7))
def test_gap_is_at_most_the_partly_taken_token_squared(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    found, best = bracket(weights, ratios), best_subset(weights, *ends(case))[0]
    k, _ = found.partial
    share = weights[k] / sum(weights)
    lowered = sum(p / r for p, r in zip(weights, ratios, strict=True)) / sum(weights)
    assert found.upper - best <= share**2 * (ratios[k] - 1 / ratios[k]) / (4 * lowered) + TINY
    assert found.upper - best <= share**2 * (ratios[k] ** 2 - 1) / 4 + TINY


@facts
@given(st.lists(st.fractions(1, 20, max_denominator=6), min_size=1, max_size=7))
def test_equal_weights_make_the_lower_end_the_optimum(ratios: list[Fraction]) -> None:
    weights = [Fraction(1)] * len(ratios)
    best, _ = best_subset(weights, [1 / r for r in ratios], ratios)
    assert 0 <= best - bracket(weights, ratios).lower < TINY


@facts
@given(ratio_cases(max_tokens=7))
def test_lower_end_is_attained_by_the_subset(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    found = bracket(weights, ratios)
    assert 0 <= subset_value(weights, *ends(case), found.subset) - found.lower < TINY


@facts
@given(ratio_cases(max_tokens=6), st.integers(0, 63), st.integers(0, 63))
def test_set_function_is_submodular(case: Instance, left: int, right: int) -> None:
    weights = fractions_of(case, "weights")
    one, two = ({i for i in range(len(weights)) if code >> i & 1} for code in (left, right))
    values = [subset_value(weights, *ends(case), tuple(s)) for s in (one, two, one | two, one & two)]
    assert values[0] + values[1] >= values[2] + values[3]


def test_one_token_has_optimum_zero_and_the_odds_bound_as_upper_end() -> None:
    found = bracket([Fraction(1)], [Fraction(3)])
    assert found.lower == 0
    assert 0 <= found.upper - Fraction(1, 2) < TINY
    assert found.subset in ((), (0,))
    assert found.partial[0] == 0
    assert abs(found.partial[1] - Fraction(1, 4)) < TINY


def test_two_sided_sets_are_not_enough_and_the_bracket_says_so() -> None:
    found = bracket([Fraction(k) for k in (1, 1, 2)], [Fraction(3, 2), Fraction(2), Fraction(3)])
    assert abs(found.lower - Fraction(17, 50)) < TINY
    assert found.lower < Fraction(7, 20) < found.upper < Fraction(4175, 10000)


def test_exact_keys_have_optimum_zero() -> None:
    found = bracket([Fraction(k) for k in (1, 5, 3)], [Fraction(1)] * 3)
    assert found.lower == 0
    assert found.upper < TINY


def test_enclosed_ratios_need_an_order_and_give_the_same_bracket() -> None:
    m = BallMath()
    radii = [Fraction(1, 8), Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(2)]
    weights = [m.exp(Fraction(k, 4)) for k in (0, 3, -1, 2, -8)]
    ratios = [m.exp(c) for c in radii]
    with pytest.raises(InvalidInputError, match="order"):
        bracket(weights, ratios)
    fast, plain = (find(weights, ratios, order=radii) for find in (bracket, bracket_plain))
    assert abs(fast.upper - plain.upper) < Fraction(1, 2**40)
    assert fast.lower < plain.upper


def test_a_ratio_that_may_be_one_still_gives_an_upper_end() -> None:
    near = BallMath().exp(Real(1) / 2**70)  # at 53 bits this ball holds 1
    found = bracket([Fraction(1), Fraction(1)], [near, Real(1)], order=[Fraction(1), Fraction(0)], bits=53)
    assert found.lower >= 0
    assert 0 <= found.upper < Fraction(1, 2**40)


def test_candidates_grow_like_n_log_n_and_the_gap_stays_quadratic() -> None:
    random = Random(7)
    n = 1024
    weights = [Fraction(random.randint(1, 2**20)) for _ in range(n)]
    ratios = [1 + Fraction(random.randint(0, 2**20), 2**18) for _ in range(n)]
    found = bracket(weights, ratios, bits=96)
    assert found.candidates <= 4 * n * log2(n)
    assert 0 <= found.upper - found.lower <= (max(weights) / sum(weights)) ** 2 * (max(ratios) ** 2 - 1)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ShapeError):
        bracket([], [])
    with pytest.raises(ShapeError):
        bracket([Fraction(1)], [])
    with pytest.raises(ShapeError):
        bracket([Fraction(1)], [Fraction(2)], order=[])
    with pytest.raises(InvalidInputError, match="at most 20"):
        best_subset([Fraction(1)] * 21, [Fraction(1)] * 21, [Fraction(1)] * 21)


def test_an_unbounded_enclosure_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="unbounded"):
        bracket([BallMath().log(Real(0)), Fraction(1)], [Fraction(2), Fraction(2)])
