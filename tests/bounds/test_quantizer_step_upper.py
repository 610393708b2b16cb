from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_mpmath_overlaps,
    assert_precisions_overlap,
    bound_fraction,
    grown,
    true_fraction,
    with_fields,
)
from tests.quality.test_mutants_quantizer import element
from tests.reference.instances import FACT, POSITIVE, SMALL, quantizer_steps

SLUG = "quantizer_step_upper"
LENGTHS = ("divisor", "scale", "offset_in", "offset_out", "value_low", "value_high", "value", "restored")
PLACES = ("offset_in", "offset_out", "value_low", "value_high", "value", "restored")


def field(data: Instance, name: str) -> Fraction:
    value = data.fields[name]
    assert isinstance(value, Fraction)
    return value


def moved(data: Instance, names: tuple[str, ...], by: Fraction) -> Instance:
    return with_fields(data, **{name: field(data, name) + by for name in names})


def largest_error(data: Instance) -> Fraction:
    """The largest |value - restored| over everything hidden that the premises allow: it lies at interval ends."""
    divisor, code = field(data, "divisor"), field(data, "code")
    centre, half = divisor * code + field(data, "offset_in"), divisor / 2
    low, high = field(data, "value_low"), field(data, "value_high")
    if code > field(data, "code_min"):
        low = max(low, centre - half)
    if code < field(data, "code_max"):
        high = min(high, centre + half)
    grid = field(data, "scale") * code + field(data, "offset_out")
    slop = field(data, "roundoff") * abs(grid)
    return max(abs(value - grid) for value in (low, high)) + slop


@FACT
@given(quantizer_steps())
def test_the_bound_contains_the_true_error(data: Instance) -> None:
    assert_contains_truth(SLUG, data)
    assert bound_fraction(SLUG, data) >= largest_error(data)


@FACT
@given(quantizer_steps())
def test_precisions_and_libraries_overlap(data: Instance) -> None:
    assert_precisions_overlap(SLUG, data)
    assert_mpmath_overlaps(SLUG, data)


@FACT
@given(quantizer_steps())
def test_inside_the_range_with_one_offset_the_bound_is_the_largest_error(data: Instance) -> None:
    assume(field(data, "offset_in") == field(data, "offset_out"))
    assume(field(data, "code_min") < field(data, "code") < field(data, "code_max"))
    reach = field(data, "divisor") * 1000
    wide = moved(moved(data, ("value_low",), -reach), ("value_high",), reach)
    assert bound_fraction(SLUG, wide) == largest_error(wide)


@FACT
@given(quantizer_steps())
def test_one_scale_and_one_offset_give_half_a_step_inside_the_range(data: Instance) -> None:
    assume(field(data, "code_min") < field(data, "code") < field(data, "code_max"))
    matched = with_fields(data, scale=field(data, "divisor"), offset_out=field(data, "offset_in"), roundoff=0)
    assert bound_fraction(SLUG, matched) == field(data, "divisor") / 2


@FACT
@given(quantizer_steps(), st.sampled_from(["value_high", "roundoff"]), POSITIVE)
def test_the_bound_grows_with_the_range_and_the_roundoff(data: Instance, name: str, by: Fraction) -> None:
    before = bound_fraction(SLUG, data)
    for more in (*grown(data, name, by), *grown(data, "value_low", -by)):
        assert bound_fraction(SLUG, more) >= before


@FACT
@given(quantizer_steps(), SMALL)
def test_a_common_shift_changes_nothing_without_roundoff(data: Instance, by: Fraction) -> None:
    plain = with_fields(data, roundoff=0)
    shifted = moved(plain, PLACES, by)
    assert bound_fraction(SLUG, shifted) == bound_fraction(SLUG, plain)
    assert true_fraction(shifted) == true_fraction(plain)


@FACT
@given(quantizer_steps(), POSITIVE)
def test_a_change_of_unit_scales_bound_and_truth(data: Instance, unit: Fraction) -> None:
    scaled = with_fields(data, **{name: field(data, name) * unit for name in LENGTHS})
    assert bound_fraction(SLUG, scaled) == unit * bound_fraction(SLUG, data)
    assert true_fraction(scaled) == unit * true_fraction(data)


@FACT
@given(quantizer_steps())
def test_a_mirrored_element_has_the_same_bound(data: Instance) -> None:
    flipped = {name: -field(data, name) for name in ("offset_in", "offset_out", "code", "value", "restored")}
    ends = {"code_min": "code_max", "code_max": "code_min", "value_low": "value_high", "value_high": "value_low"}
    mirrored = with_fields(data, **flipped, **{name: -field(data, other) for name, other in ends.items()})
    assert bound_fraction(SLUG, mirrored) == bound_fraction(SLUG, data)
    assert_contains_truth(SLUG, mirrored)


@pytest.mark.parametrize(
    "changes",
    [
        {"value": "1/2"},  # half a step at a tie
        {"value": "-1/2"},
        {"code": 127, "value": 500, "value_high": 500, "restored": 127},  # beyond the largest code
        {"code": -127, "value": -500, "value_low": -500, "restored": -127},
        {"scale": "5/4", "code": 4, "value": "7/2", "restored": 5},  # the stored scale is larger: tie from below
        {"scale": "3/4", "code": 4, "value": "9/2", "restored": 3},
        {"offset_out": "1/10", "value": "-1/2", "restored": "1/10"},  # zero points differ
        {"code": 100, "roundoff": "1/256", "value": "199/2", "restored": "25700/256"},  # and the roundoff on top
    ],
)
def test_the_bound_is_attained(changes: dict[str, Any]) -> None:
    data = element(**changes)
    assert true_fraction(data) == bound_fraction(SLUG, data)
    assert_contains_truth(SLUG, data)


def test_a_saturated_code_reaches_as_far_as_the_range_and_no_less_than_half_a_step() -> None:
    assert bound_fraction(SLUG, element(code=127, value=127, value_high=127, restored=127)) == Fraction(1, 2)
    assert bound_fraction(SLUG, element(code=127, value=127, value_high=300, restored=127)) == 173
    single = element(code_min=0, code_max=0, value_low=-9, value_high=7)
    assert bound_fraction(SLUG, single) == 9


def test_the_hypotheses_are_named_in_order() -> None:
    names = ("scales_positive", "code_is_nearest_or_clamped", "value_in_group_range", "dequantization_roundoff")
    assert BOUNDS[SLUG].hypotheses == names
