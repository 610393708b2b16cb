"""Shrinking ends at the smallest case, and never at one that does not fail."""

from __future__ import annotations

from fractions import Fraction

import pytest

from proofkv_verify.claims import claim
from proofkv_verify.kinds import Instance
from proofkv_verify.search.batch import complexity
from proofkv_verify.search.forms import refuted
from proofkv_verify.search.inside import inside
from proofkv_verify.search.result import Clock
from proofkv_verify.search.shrink import shrink
from proofkv_verify.search.structure import without, without_plane
from tests.search.claims import half_step_of_unrounded_scale, mean_without_condition, ties_are_wins
from tests.search.test_inside import broken_premises


def case(kind, fields, params=None):
    """An instance whose whole numbers are written as integers."""
    return Instance(kind, {name: exact(value) for name, value in fields.items()}, params or {})


def exact(value):
    return tuple(exact(entry) for entry in value) if isinstance(value, tuple) else Fraction(value)


WEIGHTS = inside(
    case(
        "softmax_tv",
        {
            "weights": (Fraction(1, 2**20), Fraction(13, 16), Fraction(3, 16), Fraction(7, 1024)),
            "ratios": (Fraction(2**22 + 1, 2), Fraction(1025, 512), 2, Fraction(65, 32)),
            "tilts": (Fraction(2**22 + 1, 2), 0, 0, 0),
            "previous_weights": (1,) * 4,
        },
        {"pages": [[0, 1], [2, 3]]},
    )
)
ARGMAX = inside(
    case(
        "argmax",
        {
            "scores_hat": (Fraction(77, 16), Fraction(77, 16), -1, 4),
            "radii": (0, 0, 3, Fraction(1, 4)),
            "rows": ((),) * 4,
            "hidden_hat": (),
            "hidden_radius": 0,
            "score_errors": (0, 0, 1, Fraction(-1, 4)),
            "hidden_error": (),
        },
        {"candidate": 1},
    )
)
QUANTIZER = inside(
    case(
        "quantizer_step",
        {
            "divisor": Fraction(33, 1024), "scale": Fraction(129, 4096), "offset_in": Fraction(7, 3),
            "offset_out": Fraction(7, 3), "code": 93, "code_min": -127, "code_max": 127, "value_low": -9,
            "value_high": 99, "roundoff": 0, "value": 9, "restored": 0,
        },
    )
)  # fmt: skip


def shrunk(planted, instance):
    assert refuted(planted, instance)
    small = shrink(instance, lambda candidate: refuted(planted, candidate), Clock(30))
    assert refuted(planted, small)
    assert broken_premises(small) == []
    assert complexity(small) < complexity(instance)
    return small


def test_fewest_tokens_and_no_field_that_is_not_needed():
    small = shrunk(mean_without_condition, WEIGHTS)
    assert set(small.fields) == {"weights", "ratios", "tilts"}
    assert small.params == {}
    assert len(small.fields["weights"]) == 2
    assert complexity(small)[2] <= 25


def test_a_tie_shrinks_to_two_equal_zeros():
    small = shrunk(ties_are_wins, ARGMAX)
    assert small.fields["scores_hat"] == (0, 0)
    assert small.fields["radii"] == (0, 0)
    assert small.params == {"candidate": 1}


def test_quantizer_numbers_become_short():
    small = shrunk(half_step_of_unrounded_scale, QUANTIZER)
    assert complexity(small)[2] <= 20


def test_a_case_that_is_already_minimal_stays():
    small = shrunk(ties_are_wins, ARGMAX)
    assert shrink(small, lambda candidate: refuted(ties_are_wins, candidate), Clock(30)) == small


def test_shrinking_out_of_time_returns_a_failing_case():
    assert shrink(WEIGHTS, lambda candidate: refuted(mean_without_condition, candidate), Clock(0)) == WEIGHTS


def test_angles_become_quarter_turns():
    @claim("logit_abs")
    def unrotated(x, m):
        q = x.queries[x.query_head % len(x.queries)]
        return m.sum(m.abs(a) * r for a, r in zip(q, x.box_radii, strict=True)) * m.abs(x.softmax_scale)

    tangent = Fraction(0.41421356237309503)
    c, s = (1 - tangent**2) / (1 + tangent**2), 2 * tangent / (1 + tangent**2)
    fields = {
        "queries": ((1, 0, 0), (3, 1, 2)), "softmax_scale": Fraction(1, 8), "rope_factor": 1,
        "cos": (c,), "sin": (s,), "box_radii": (0, 9, 0), "norm_radii": (0, 0),
        "band_radii": (0, 0), "query_radius": 0, "key_norm": 0, "key_hat": (0,) * 3,
        "key_error": (0, 8, 0), "query_error": (0,) * 3,
    }  # fmt: skip
    params = {"planes": [[0, 1]], "bands": [[0, 1], [2]], "query_head": 2}
    small = shrunk(unrotated, inside(case("logit_abs", fields, params)))
    assert {abs(small.fields["cos"][0]), abs(small.fields["sin"][0])} == {0, 1}
    assert small.params == {"planes": [[0, 1]], "bands": [[0, 1]], "query_head": 0}
    assert len(small.fields["queries"]) == 1
    assert len(small.fields["norm_radii"]) == 1


LOGIT = inside(
    case(
        "logit_abs",
        {
            "queries": ((1, 2, 3, 4, 5),), "softmax_scale": 1, "rope_factor": 1,
            "cos": (1, 0), "sin": (0, 1), "box_radii": (9,) * 5, "norm_radii": (9, 1),
            "band_radii": (9, 8, 7), "query_radius": 0, "key_norm": 0, "key_hat": (0,) * 5,
            "key_error": (1,) * 5, "query_error": (0,) * 5,
        },
        {"planes": [[0, 2], [1, 3]], "bands": [[0, 2], [1, 3], [4]], "query_head": 1},
    )
)  # fmt: skip


def test_a_plane_goes_with_its_coordinates_and_its_band():
    smaller = without_plane(LOGIT, 0)
    assert smaller.params == {"planes": [[0, 1]], "bands": [[0, 1], [2]], "query_head": 1}
    assert smaller.fields["queries"] == ((2, 4, 5),)
    assert smaller.fields["band_radii"] == (8, 7)
    assert broken_premises(smaller) == []


@pytest.mark.parametrize(("axis", "index"), [("d", 0), ("group", 0), ("kv_heads", 1), ("bands", 0)])
def test_what_the_case_is_about_cannot_be_removed(axis, index):
    assert without(LOGIT, axis, index) is None


def test_an_unused_head_can_be_removed():
    smaller = without(LOGIT, "kv_heads", 0)
    assert smaller.params["query_head"] == 0
    assert smaller.fields["norm_radii"] == LOGIT.fields["norm_radii"][1:]


@pytest.mark.parametrize(("axis", "index"), [("cell_edges", 0), ("n", 0)])
def test_the_last_token_and_single_edges_stay(axis, index):
    one = case(
        "softmax_tv",
        {
            "weights": (1,),
            "ratios": (1,),
            "tilts": (1,),
            "cell_edges": (0, 1),
        },
    )
    assert without(one, axis, index) is None


def test_a_cell_goes_with_one_of_its_edges():
    fields = {"weights": (1,), "ratios": (1,), "tilts": (1,)}
    cells = {"cell_edges": (0, Fraction(1, 2), 1), "cell_mu": (2, 3)}
    one = case("softmax_tv", {**fields, **cells})
    for index in (0, 1):
        smaller = without(one, "cells", index)
        assert smaller.fields["cell_edges"] == (0, 1)
        assert smaller.fields["cell_mu"] == (Fraction(3 - index),)
