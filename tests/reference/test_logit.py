from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from proofkv_verify.check import check_number
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from tests.quality.test_mutants_logit import logit
from tests.reference.facts import assert_truth_matches_mpmath, broken_premise, changed, truth
from tests.reference.instances import FACT, logit_changes


@FACT
@given(logit_changes())
def test_the_true_change_of_a_logit_is_that_of_full_rotation_matrices(data: Instance) -> None:
    assert broken_premise(data) is None
    assert_truth_matches_mpmath(data)


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"key_error": [1, 0]}, 1),
        ({"key_error": [1, 0], "softmax_scale": "-1/8"}, Fraction(1, 8)),
        ({"key_error": [1, 0], "rope_factor": 2}, 4),  # once for the query's side and once for the key's
        ({"key_error": [0, 1]}, 0),
        # a quarter turn takes coordinate 1 to minus coordinate 0
        ({"key_error": [0, 1], "params": {"planes": [[0, 1]]}, "cos": [0], "sin": [1]}, 1),
        # the query's own error meets the exact key, its product with the key error included
        ({"queries": [[0, 0]], "query_radius": 1, "query_error": [1, 0], "key_hat": [2, 0], "key_norm": 2}, 2),
        (
            {
                "queries": [[0, 0]],
                "query_radius": 1,
                "query_error": [1, 0],
                "key_hat": [2, 0],
                "key_norm": 2,
                "key_error": [1, 0],
            },
            3,
        ),
    ],
)
def test_the_change_has_the_value_found_by_hand(changes: dict[str, Any], value: Fraction) -> None:
    assert truth(logit(**changes)).exact == value


def test_a_query_head_reads_its_own_query_and_the_floor_of_its_group() -> None:
    two_by_two = {"queries": [[1, 0], [3, 0]], "norm_radii": [0, 1], "key_error": [1, 0]}
    values = []
    for head in range(4):
        data = logit(params={"query_head": head}, **two_by_two)
        values.append((truth(data).exact, broken_premise(data)))
    refused = "norm(key_error) <= norm_radii[head]"
    assert values == [(1, refused), (3, refused), (1, None), (3, None)]


@pytest.mark.parametrize(
    ("changes", "premise"),
    [
        ({"query_radius": "-1/2"}, "query_radius >= 0"),
        ({"key_norm": "-1/2"}, "key_norm >= 0"),
        ({"box_radii": [1, "-1/2"]}, "box_radii[1] >= 0"),
        ({"norm_radii": ["-1/2"]}, "norm_radii[0] >= 0"),
        ({"band_radii": ["-1/2"]}, "band_radii[0] >= 0"),
        (
            {"params": {"planes": [[0, 1]]}, "cos": ["3/5"], "sin": ["799999/1000000"]},
            "cos[0]^2 + sin[0]^2 == 1",
        ),
        ({"params": {"planes": [[0, 1]]}, "cos": ["3/5"], "sin": ["800001/1000000"]}, "cos[0]^2 + sin[0]^2 == 1"),
        ({"key_error": ["3/5", "81/100"]}, "norm(key_error) <= norm_radii[head]"),
        ({"query_error": [0, "1/9"]}, "norm(query_error) <= query_radius"),
        ({"key_hat": [0, "1/9"]}, "norm(key_hat) <= key_norm"),
        ({"key_error": ["1/2", 0], "box_radii": ["1/3", 1]}, "abs(key_error[0]) <= box_radii[0]"),
        ({"key_error": ["1/2", 0], "band_radii": ["1/3"]}, "norm of band 0 <= band_radii[0]"),
    ],
)
def test_each_broken_premise_is_named(changes: dict[str, Any], premise: str) -> None:
    assert broken_premise(logit(**changes)) == premise


def test_the_premises_hold_at_their_boundary() -> None:
    edge = logit(
        params={"planes": [[0, 1]]},
        cos=["-3/5"],
        sin=["4/5"],
        key_error=["3/5", "-4/5"],
        box_radii=["3/5", "4/5"],
        query_radius=5,
        query_error=[3, 4],
        key_norm=13,
        key_hat=[-5, 12],
    )
    assert broken_premise(edge) is None


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"params": {"planes": [[0, 0]]}, "cos": [1], "sin": [0]}, "planes"),
        ({"params": {"planes": [[0, 2]]}, "cos": [1], "sin": [0]}, "planes"),
        ({"params": {"planes": [[-1, 0]]}, "cos": [1], "sin": [0]}, "planes"),
        ({"params": {"planes": [[0]]}, "cos": [1], "sin": [0]}, "planes"),
        ({"params": {"planes": [[0, 1], [1, 0]]}, "cos": [1, 1], "sin": [0, 0]}, "planes"),
        ({"params": {"planes": [[0, 1]]}}, "planes"),
        ({"params": {"query_head": 1}}, "query_head"),
        ({"params": {"query_head": -1}}, "query_head"),
        ({"params": {"surprise": 1}}, "surprise"),
    ],
)
def test_impossible_planes_and_heads_are_bad_input(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_number(logit(**changes), Fraction(1))
    assert raised.value.name == name


def test_vectors_of_different_lengths_are_bad_input() -> None:
    for name in ("box_radii", "key_hat", "key_error", "query_error"):
        with pytest.raises(ShapeError, match=name):
            check_number(changed(logit(), **{name: [0]}), Fraction(1))
