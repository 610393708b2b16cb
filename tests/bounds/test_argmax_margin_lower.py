from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, precision
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_equal,
    assert_mpmath_overlaps,
    assert_precisions_overlap,
    bound_fraction,
    bound_value,
    corners,
    grown,
    true_fraction,
    with_fields,
    with_params,
)
from tests.quality.test_mutants_argmax import scores, unembedding
from tests.reference.instances import FACT, POSITIVE, SMALL, norm_above, score_boxes, vectors

SLUG = "argmax_margin_lower"
CASES = score_boxes()
M = BallMath()


def certifies(data: Instance) -> bool | None:
    with precision(200):
        return (bound_value(SLUG, data) > 0).value


def first_maximum(values: list[Fraction]) -> int:
    return values.index(max(values))


@st.composite
def boxes(draw: st.DrawFn) -> Instance:
    """Scores alone, on a grid so coarse that ties are common."""
    size = draw(st.integers(1, 4))
    grid = st.integers(0, 4).map(lambda n: Fraction(n, 2))
    hat, radii = draw(vectors(size, grid)), draw(vectors(size, st.sampled_from([Fraction(0), Fraction(1, 2)])))
    return scores([*hat], [*radii], [0] * size, draw(st.integers(0, size - 1)))


@FACT
@given(CASES)
def test_a_positive_bound_certifies_the_first_maximum(data: Instance) -> None:
    assert_contains_truth(SLUG, data)


@FACT
@given(CASES)
def test_precisions_and_libraries_overlap(data: Instance) -> None:
    assert_precisions_overlap(SLUG, data)
    assert_mpmath_overlaps(SLUG, data)


@FACT
@given(boxes())
def test_for_boxes_of_scores_the_certificate_is_complete(data: Instance) -> None:
    """Positive exactly when the candidate is the first maximum at every corner of the box, hence everywhere in it."""
    hat, radii = data.fields["scores_hat"], data.fields["radii"]
    assert isinstance(hat, tuple)
    at_corners = (
        first_maximum([s + e for s, e in zip(hat, corner, strict=True)])  # type: ignore[arg-type]
        for corner in corners(radii)  # type: ignore[arg-type]
    )
    assert certifies(data) is all(winner == data.params["candidate"] for winner in at_corners)


@FACT
@given(CASES, st.sampled_from(["radii", "hidden_radius"]), POSITIVE)
def test_a_larger_radius_never_turns_no_into_yes(data: Instance, name: str, by: Fraction) -> None:
    for more in grown(data, name, by):
        assert not (certifies(more) is True and certifies(data) is False)


@FACT
@given(CASES, SMALL, POSITIVE)
def test_a_common_shift_and_a_change_of_unit_leave_the_decision(data: Instance, by: Fraction, unit: Fraction) -> None:
    hat, radii = data.fields["scores_hat"], data.fields["radii"]
    shifted = with_fields(data, scores_hat=[s + by for s in hat])  # type: ignore[union-attr, operator]
    assert_equal(bound_value(SLUG, shifted), bound_value(SLUG, data))
    rows: Any = data.fields["rows"]
    scaled = with_fields(
        data,
        scores_hat=[s * unit for s in hat],  # type: ignore[union-attr, operator]
        radii=[r * unit for r in radii],  # type: ignore[union-attr, operator]
        rows=[[w * unit for w in row] for row in rows],
    )
    assert certifies(scaled) is certifies(data)


@FACT
@given(CASES, vectors(3, SMALL))
def test_a_vector_added_to_every_row_cancels_in_all_pairs(data: Instance, extra: list[Fraction]) -> None:
    rows: Any = data.fields["rows"]
    moved = with_fields(data, rows=[[w + u for w, u in zip(row, extra, strict=False)] for row in rows])
    assert_equal(bound_value(SLUG, moved), bound_value(SLUG, data))


@FACT
@given(CASES, st.permutations(range(4)))
def test_rivals_may_be_listed_in_any_order_on_their_side_of_the_candidate(data: Instance, order: list[int]) -> None:
    candidate, size = data.params["candidate"], len(data.fields["radii"])  # type: ignore[arg-type]
    before, after = [i for i in order if i < candidate], [i for i in order if candidate < i < size]
    places = [*before, candidate, *after]
    names = ("scores_hat", "radii", "rows", "score_errors")
    listed: dict[str, Any] = {name: [data.fields[name][i] for i in places] for name in names}  # type: ignore[index]
    assert_equal(bound_value(SLUG, with_fields(data, **listed)), bound_value(SLUG, data))


@FACT
@given(CASES)
def test_pairwise_margins_are_never_weaker_than_separate_intervals(data: Instance) -> None:
    rows: Any = data.fields["rows"]
    hat, radii, state = (list(data.fields[n]) for n in ("scores_hat", "radii", "hidden_hat"))  # type: ignore[arg-type]
    with precision(200):
        spread = [M.sqrt(M.sum(M.const(w * w) for w in row)) * data.fields["hidden_radius"] for row in rows]  # type: ignore[operator]
        centre = [s + sum(w * h for w, h in zip(row, state, strict=True)) for s, row in zip(hat, rows, strict=True)]
        low, high = ([c + sign * (d + r) for c, d, r in zip(centre, spread, radii, strict=True)] for sign in (-1, 1))
        i = data.params["candidate"]
        apart = M.min(1, *(low[i] - top for j, top in enumerate(high) if j != i))
    if (apart > 0).value:
        assert certifies(data) is not False


def test_a_rival_row_counts_and_not_the_winners_alone() -> None:
    data = unembedding([[1, 0], ["1/2", 2]], [1, "3/10"], "3/10", [0, 0])
    assert certifies(data) is False
    assert bound_fraction(SLUG, scores([3, 2, 1], [0, 0, 3], [0, 0, 0])) == -1  # the distant rival, not the runner-up


def test_the_margin_is_attained_by_the_worst_state_in_the_ball() -> None:
    data = with_params(unembedding([[0, 0], [3, 4]], [4, 3], 2, ["-6/5", "-8/5"]), candidate=1)
    worst = 3 * Fraction(14, 5) + 4 * Fraction(7, 5)  # the exact score of row 1; row 0 scores 0
    assert bound_fraction(SLUG, data) == worst == 14
    beaten = with_params(unembedding([[0, 0], [3, 4]], [4, 3], 5, [-3, -4]), candidate=1)
    assert (bound_fraction(SLUG, beaten), true_fraction(beaten)) == (-1, -1)


def test_shared_rows_keep_a_margin_that_separate_intervals_lose() -> None:
    data = unembedding([[10, 1], [10, 0]], [0, 1], "1/2", [0, 0])
    assert bound_fraction(SLUG, data) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("hat", "radii", "candidate", "value"),
    [
        ([1, 1], [0, 0], 0, 1),  # an exact tie goes to the lower index
        ([1, 1], [0, 0], 1, 0),
        ([2, 1], ["1/2", "1/2"], 0, 1),  # the intervals touch: still the lower index
        ([1, 2], ["1/2", "1/2"], 1, 0),
        ([1, 1, 1], [0, 0, 0], 1, 0),
        ([0, 1, 1], [0, 0, 0], 1, 1),
        ([1, 1], [0, "1/1000"], 0, Fraction(-1, 1000)),
        ([5], [100], 0, 1),  # one row has no rival
    ],
)
def test_ties_go_to_the_lowest_index_and_are_certified_only_there(
    hat: list[object], radii: list[object], candidate: int, value: Fraction
) -> None:
    data = scores(hat, radii, [0] * len(hat), candidate)
    assert bound_fraction(SLUG, data) == value


@FACT
@given(vectors(2, SMALL), vectors(2, SMALL), st.integers(0, 2))
def test_two_rows_on_a_ball_are_decided_by_the_worst_state(
    difference: list[Fraction], state: list[Fraction], radius: int
) -> None:
    """Complete for one rival: the state moved against the difference of rows by the whole radius decides."""
    data = unembedding([[0, 0], [*difference]], [*state], radius, [0, 0])
    data = with_params(data, candidate=1)
    centre = sum((w * h for w, h in zip(difference, state, strict=True)), Fraction(0))
    worst_above = centre - norm_above(difference) * radius  # at most 2^-39 below the worst score
    if worst_above > 0:
        assert certifies(data) is True
    if worst_above < -Fraction(1, 1 << 30):
        assert certifies(data) is False


@pytest.mark.parametrize(("errors", "candidate"), list(product([(0, 0), (1, -1), (-1, 1)], [0, 1])))
def test_the_decision_does_not_depend_on_the_hidden_errors(errors: tuple[int, int], candidate: int) -> None:
    data = scores([3, 0], [1, 1], [*errors], candidate)
    assert bound_fraction(SLUG, data) == (1 if candidate == 0 else -5)


def test_the_hypotheses_are_named_in_order() -> None:
    names = ("scores_within_radii", "hidden_state_in_ball", "every_row_compared", "strict_or_lower_id")
    assert BOUNDS[SLUG].hypotheses == names
