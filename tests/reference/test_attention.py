from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.reference.attention import (
    EMPTY,
    Spec,
    State,
    attend,
    dot,
    head_state,
    kv_head,
    merge,
    score,
    visible,
)
from tests.reference.facts import ends
from tests.reference.instances import FACT, SMALL, vectors

M = BallMath()
PLAIN = Spec(Fraction(1))
ROWS = st.lists(st.tuples(SMALL, st.tuples(SMALL, SMALL)), min_size=0, max_size=4)
MP = mpmath.MPContext()
MP.dps = 60


class Poison(Sequence[Any]):
    """A row that must not be read."""

    def __getitem__(self, index: Any) -> NoReturn:
        raise AssertionError(f"read coordinate {index} of a row that is not visible")

    def __len__(self) -> int:
        raise AssertionError("measured a row that is not visible")


def reals(values: Sequence[Any]) -> list[Real]:
    return [Real(Fraction(v)) for v in values]


def state(rows: Sequence[tuple[Fraction, tuple[Fraction, Fraction]]]) -> State:
    return attend([Real(s) for s, _ in rows], [reals(v) for _, v in rows])


def assert_same_state(a: State, b: State) -> None:
    """Both empty, or overlapping narrow enclosures in every number."""
    assert (a.lse is None) == (b.lse is None)
    if a.lse is None or b.lse is None:
        return
    for x, y in zip([a.lse, *a.output], [b.lse, *b.output], strict=True):
        assert (M.abs(x - y) < Fraction(1, 10**9)).value, f"{x} and {y}"


def number(value: Fraction) -> Any:
    return MP.mpf(value.numerator) / value.denominator


def plain_attention(scores: list[Any], values: list[list[Any]]) -> tuple[Any, list[Any]]:
    """Log-sum-exp and output without any shift, with mpmath."""
    weights = [MP.exp(s) for s in scores]
    total = MP.fsum(weights)
    output = [MP.fsum(w * v[c] for w, v in zip(weights, values, strict=True)) / total for c in range(len(values[0]))]
    return MP.log(total), output


@pytest.mark.parametrize("window", [7, 8, 9])
def test_a_window_shows_its_last_w_positions_the_own_one_included(window: int) -> None:
    for length in (window - 1, window, window + 1):
        positions = list(range(length))
        seen = visible(length - 1, positions, window)
        assert seen == positions[max(0, length - window) :]


def test_visibility_follows_positions_and_not_row_numbers() -> None:
    kept = [0, 3]
    assert [visible(t, kept) for t in range(4)] == [[0], [0], [0], [0, 1]]
    assert [visible(t, kept, 2) for t in range(5)] == [[0], [0], [], [1], [1]]
    assert visible(1, [5, 1, 0, 2]) == [1, 2]
    assert visible(0, []) == []


def test_future_keys_are_never_visible_however_large_the_window() -> None:
    assert visible(2, [0, 1, 2, 3], 100) == [0, 1, 2]
    assert visible(0, [1, 2], None) == []


def test_query_heads_share_kv_heads_in_blocks_and_not_in_turn() -> None:
    assert [kv_head(h, 4, 2) for h in range(4)] == [0, 0, 1, 1]
    assert [kv_head(h, 9, 3) for h in range(9)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [kv_head(h, 3, 3) for h in range(3)] == [0, 1, 2]
    assert [kv_head(h, 3, 1) for h in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0, 4, 3), "num_heads"), ((0, 4, 0), "num_heads"), ((4, 4, 2), "head"), ((-1, 4, 2), "head")],
)
def test_impossible_head_counts_are_bad_input(arguments: tuple[int, int, int], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        kv_head(*arguments)
    assert raised.value.name == name


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"soft_cap": Fraction(0)}, "soft_cap"), ({"soft_cap": Fraction(-1)}, "soft_cap"), ({"window": 0}, "window")],
)
def test_impossible_specifications_are_bad_input(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Spec(Fraction(1), **changes)
    assert raised.value.name == name


def test_a_score_is_the_scaled_dot_product_exactly() -> None:
    assert score(reals([1, 2]), reals([3, "1/2"]), Spec(Fraction(1, 8))).exact == Fraction(1, 2)
    assert dot([], []).exact == 0
    with pytest.raises(ShapeError, match="key: expected 2 coordinates, got 1"):
        score(reals([1, 2]), reals([1]), PLAIN)


@FACT
@given(SMALL, SMALL, st.sampled_from([Fraction(1, 2), Fraction(30)]))
def test_a_soft_cap_is_cap_times_tanh_of_the_scaled_score(q: Fraction, k: Fraction, cap: Fraction) -> None:
    with precision(160):
        low, high = ends(score([Real(q)], [Real(k)], Spec(Fraction(1, 8), cap)), 160)
    plain = number(cap) * MP.tanh(number(q * k / 8) / number(cap))
    assert number(low) - MP.mpf(10) ** -40 <= plain <= number(high) + MP.mpf(10) ** -40
    assert high - low < Fraction(1, 10**30)
    assert abs(low) <= cap


def test_the_soft_cap_applies_after_the_scale() -> None:
    capped = score([Real(8)], [Real(8)], Spec(Fraction(1, 64), Fraction(1)))
    assert (M.abs(capped - M.tanh(1)) < Fraction(1, 10**12)).value


@FACT
@given(ROWS.filter(len))
def test_attention_is_that_of_unshifted_softmax(rows: list[Any]) -> None:
    lse, output = plain_attention([number(s) for s, _ in rows], [[number(v) for v in row] for _, row in rows])
    with precision(200):
        found = state(rows)
        assert found.lse is not None
        for real, plain in zip([found.lse, *found.output], [lse, *output], strict=True):
            low, high = ends(real, 200)
            assert number(low) - MP.mpf(10) ** -40 <= plain <= number(high) + MP.mpf(10) ** -40
            assert high - low < Fraction(1, 10**40)


@FACT
@given(ROWS, ROWS, ROWS)
def test_merging_is_associative_and_equals_attention_over_all_rows(a: list[Any], b: list[Any], c: list[Any]) -> None:
    left = merge(merge(state(a), state(b)), state(c))
    right = merge(state(a), merge(state(b), state(c)))
    assert_same_state(left, right)
    assert_same_state(left, state([*a, *b, *c]))


@FACT
@given(ROWS, ROWS)
def test_merging_is_commutative(a: list[Any], b: list[Any]) -> None:
    assert_same_state(merge(state(a), state(b)), merge(state(b), state(a)))


@FACT
@given(ROWS)
def test_the_empty_state_is_the_identity_of_merging(rows: list[Any]) -> None:
    full = state(rows)
    assert merge(full, EMPTY) is full
    assert merge(EMPTY, full) is full
    assert merge(EMPTY, EMPTY) is EMPTY


@FACT
@given(ROWS.filter(len), SMALL)
def test_a_shift_of_all_scores_shifts_the_log_sum_exp_and_leaves_the_output(rows: list[Any], by: Fraction) -> None:
    before, after = state(rows), state([(s + by, v) for s, v in rows])
    assert before.lse is not None
    assert_same_state(State(before.lse + by, before.output), after)


def test_scores_far_apart_do_not_overflow() -> None:
    found = state([(Fraction(-(10**6)), (Fraction(1), Fraction(0))), (Fraction(10**6), (Fraction(0), Fraction(1)))])
    assert found.lse is not None
    assert (M.abs(found.lse - 10**6) < Fraction(1, 10**6)).value
    assert (found.output[0] < Fraction(1, 10**6)).value
    assert (found.output[0] > 0).value


def test_no_keys_give_the_empty_state_and_not_a_zero_output() -> None:
    assert attend([], []) is EMPTY
    assert (EMPTY.lse, EMPTY.output) == (None, ())


def test_scores_and_values_of_different_counts_are_bad_input() -> None:
    with pytest.raises(ShapeError, match="values: expected 1 rows, got 0"):
        attend([Real(1)], [])
    ragged = attend([Real(1)], [reals([1])]), attend([Real(1)], [reals([1, 2])])
    with pytest.raises(ShapeError, match="output"):
        merge(*ragged)


@pytest.mark.parametrize("lse", [arb.nan(), arb.pos_inf(), arb.neg_inf()])
def test_a_log_sum_exp_that_is_no_finite_number_is_refused(lse: arb) -> None:
    odd, good = State(Real(lse), (Real(0),)), State(Real(1), (Real(5),))
    with pytest.raises(InvalidInputError, match="lse of the first part"):
        merge(odd, good)
    with pytest.raises(InvalidInputError, match="lse of the second part"):
        merge(good, odd)
    with pytest.raises(InvalidInputError, match="EMPTY for no keys"):
        merge(odd, EMPTY)


@FACT
@given(vectors(2, SMALL), st.lists(st.tuples(vectors(2, SMALL), vectors(1, SMALL)), min_size=3, max_size=3))
def test_a_head_state_reads_the_visible_rows_only(query: list[Fraction], rows: list[Any]) -> None:
    keys: list[Any] = [Poison(), *(reals(k) for k, _ in rows), Poison()]
    values: list[Any] = [Poison(), *(reals(v) for _, v in rows), Poison()]
    spec = Spec(Fraction(1, 2), window=3)
    positions = [0, 1, 2, 3, 4]  # at position 3 a window of 3 sees 1, 2, 3
    found = head_state(reals(query), 3, keys, values, positions, spec)
    scores = [score(reals(query), reals(k), spec) for k, _ in rows]
    assert_same_state(found, attend(scores, [reals(v) for _, v in rows]))


def test_a_head_that_sees_nothing_has_the_empty_state() -> None:
    assert head_state(reals([1]), 0, [Poison()], [Poison()], [1], PLAIN) is EMPTY


@FACT
@given(st.permutations(range(4)), vectors(4, SMALL), vectors(4, SMALL))
def test_the_order_of_the_cache_rows_does_not_matter(
    order: list[int], keys: list[Fraction], values: list[Fraction]
) -> None:
    def over(rows: Sequence[int]) -> State:
        picked = [[Real(keys[i])] for i in rows], [[Real(values[i])] for i in rows]
        return head_state([Real(1)], 2, *picked, list(rows), Spec(Fraction(1), window=3))

    assert_same_state(over(range(4)), over(order))
