from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from proofkv_verify.check import check_number
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from proofkv_verify.mp_truth import true_quantity
from proofkv_verify.verdict import Refuted, Verified
from tests.quality.test_mutants_argmax import scores, unembedding
from tests.reference.facts import broken_premise, changed, truth
from tests.reference.instances import FACT, score_boxes


@FACT
@given(score_boxes())
def test_the_winning_number_is_positive_exactly_for_the_first_maximum(data: Instance) -> None:
    assert broken_premise(data) is None
    number = truth(data).exact
    assert number is not None
    assert (number > 0) == (true_quantity(data, 100) > 0)


@pytest.mark.parametrize(
    ("hat", "candidate", "number"),
    [
        ([5], 0, 1),
        ([2, 1, 0], 0, 1),  # capped at 1
        ([1, "3/4"], 0, 1),  # a rival with a larger index counts from 1
        (["3/4", 1], 1, Fraction(1, 4)),
        ([1, 1], 0, 1),  # a tie goes to the lower index
        ([1, 1], 1, 0),
        ([0, 1], 0, -1),
        ([2, 3, 3], 2, 0),
        ([2, 3, 3], 1, 1),
    ],
)
def test_the_winning_number_has_the_value_found_by_hand(hat: list[object], candidate: int, number: Fraction) -> None:
    zeros: list[object] = [0] * len(hat)
    assert truth(scores(hat, zeros, zeros, candidate)).exact == number


def test_score_errors_and_hidden_errors_both_count() -> None:
    assert truth(scores([1, 0], [1, 1], [-1, "1/2"])).exact == Fraction(-1, 2)
    assert truth(unembedding([[1, 0], [0, 1]], [1, 0], 5, [-3, 1])).exact == -3


def test_a_decision_is_sound_when_negative_or_right() -> None:
    loses = scores([0, 1], [0, 0], [0, 0])
    wins = scores([1, 0], [0, 0], [0, 0])
    assert isinstance(check_number(loses, Fraction(0)).verdict, Verified)
    assert isinstance(check_number(loses, Fraction(1, 10**9)).verdict, Refuted)
    assert isinstance(check_number(wins, Fraction(10**9)).verdict, Verified)


@pytest.mark.parametrize(
    ("changes", "premise"),
    [
        ({"hidden_radius": "-1/2"}, "hidden_radius >= 0"),
        ({"radii": [0, "-1/2"]}, "radii[1] >= 0"),
        ({"hidden_error": ["1/2", 0], "hidden_radius": "1/3"}, "norm(hidden_error) <= hidden_radius"),
        ({"score_errors": [0, "-1/2"], "radii": [0, "1/3"]}, "abs(score_errors[1]) <= radii[1]"),
    ],
)
def test_each_broken_premise_is_named(changes: dict[str, Any], premise: str) -> None:
    data = unembedding([[1, 0], [0, 1]], [1, 0], 0, [0, 0])
    assert broken_premise(changed(data, **changes)) == premise


def test_the_premises_hold_at_their_boundary() -> None:
    data = unembedding([[1, 0], [0, 1]], [1, 0], 5, [3, -4])
    assert broken_premise(changed(data, score_errors=["-1/3", "1/3"], radii=["1/3", "1/3"])) is None


@pytest.mark.parametrize("candidate", [-1, 2])
def test_a_candidate_outside_the_vocabulary_is_bad_input(candidate: int) -> None:
    with pytest.raises(InvalidInputError, match=r"candidate: expected 0\.\.1"):
        check_number(scores([1, 0], [0, 0], [0, 0], candidate), Fraction(1))


def test_rows_of_different_lengths_are_bad_input() -> None:
    data = unembedding([[1, 0], [0, 1]], [1, 0], 0, [0, 0])
    with pytest.raises(ShapeError, match="rows"):
        check_number(changed(data, rows=[[1, 0]]), Fraction(1))
    with pytest.raises(ShapeError, match="rows"):
        check_number(changed(data, rows=[[1, 0], [1]]), Fraction(1))
