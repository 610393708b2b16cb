from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.check import check_number
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from proofkv_verify.verdict import Refuted, Verified
from tests.quality.witnesses import instance
from tests.reference.facts import assert_truth_matches_mpmath, truth
from tests.reference.instances import FACT, NUMBERS, vectors


@st.composite
def pairs(draw: st.DrawFn) -> Instance:
    size = draw(st.integers(0, 4))
    left = draw(vectors(size, NUMBERS))
    right = draw(st.one_of(st.just(left), vectors(size, NUMBERS)))
    kind = draw(st.sampled_from(["element_error", "vector_error", "unchanged"]))
    return instance(kind, left=left, right=right)


@FACT
@given(pairs())
def test_distances_of_recorded_vectors_are_those_of_plain_norms(data: Instance) -> None:
    assert_truth_matches_mpmath(data)


def test_distances_have_the_values_found_by_hand() -> None:
    both = {"left": [1, 0], "right": [4, "-4"]}
    assert truth(instance("element_error", **both)).exact == 4
    assert truth(instance("vector_error", **both)).exact == 5
    assert truth(instance("element_error", left=[], right=[])).exact == 0


@pytest.mark.parametrize(("restored", "outcome"), [("nan", 1), ("inf", 1), ("-inf", 1), ("", 0), ("1/3", 0)])
def test_a_restored_number_that_is_not_finite_counts_as_one_fault(restored: str, outcome: int) -> None:
    data = instance("non_finite", {"restored": restored}, left=[1])
    assert truth(data).exact == outcome
    verdict = check_number(data, Fraction(0)).verdict
    assert isinstance(verdict, Refuted if outcome else Verified)


def test_vectors_that_had_to_differ_and_did_not_count_as_one_fault() -> None:
    assert truth(instance("unchanged", left=[1, "1/3"], right=[1, "1/3"])).exact == 1
    assert truth(instance("unchanged", left=[1, "1/3"], right=[1, "1/4"])).exact == 0


def test_stored_bytes_add_up_and_are_integers() -> None:
    data = instance("stored_bytes", parts=[288, 16, 2])
    assert truth(data).exact == 306
    assert isinstance(check_number(data, Fraction(305)).verdict, Refuted)
    with pytest.raises(InvalidInputError, match="parts: expected an integer"):
        check_number(instance("stored_bytes", parts=["1/2"]), Fraction(1))


def test_recorded_vectors_have_one_length() -> None:
    with pytest.raises(ShapeError, match="right"):
        check_number(instance("vector_error", left=[1], right=[1, 2]), Fraction(1))
