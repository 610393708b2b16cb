from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from proofkv_verify.check import check_number
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from tests.quality.test_mutants_quantizer import element
from tests.reference.facts import assert_truth_matches_mpmath, broken_premise, changed, truth
from tests.reference.instances import FACT, quantizer_steps


@FACT
@given(quantizer_steps())
def test_the_true_error_of_an_element_is_that_of_plain_arithmetic(data: Instance) -> None:
    assert broken_premise(data) is None
    assert_truth_matches_mpmath(data)


def test_the_error_is_an_exact_rational() -> None:
    assert truth(element(value="1/3", restored=0)).exact == Fraction(1, 3)
    assert truth(element(value="-1/3", restored="1/7")).exact == Fraction(10, 21)


@pytest.mark.parametrize(
    ("changes", "premise"),
    [
        ({"divisor": 0}, "divisor > 0"),
        ({"scale": "-1"}, "scale > 0"),
        ({"roundoff": "-1/9"}, "roundoff >= 0"),
        ({"code": -128, "value": -128, "value_low": -200, "restored": -128}, "code_min <= code"),
        ({"code": 128, "value": 128, "value_high": 200, "restored": 128}, "code <= code_max"),
        ({"value_low": 9, "value_high": 8}, "value_low <= value_high"),
        ({"value_low": "1/2"}, "value_low <= value"),
        ({"value_high": "1/4"}, "value <= value_high"),
        ({"value": "-51/100"}, "code is not above the rounded quotient"),
        ({"value": "51/100"}, "code is not below the rounded quotient"),
        ({"restored": "1/1000"}, "restored is the dequantized code"),
    ],
)
def test_each_broken_premise_is_named(changes: dict[str, Any], premise: str) -> None:
    assert broken_premise(element(**changes)) == premise


@pytest.mark.parametrize(
    "changes",
    [
        {"value": "1/2"},  # a tie may round either way
        {"value": "-1/2"},
        {"code": 127, "value": 10**6, "value_high": 10**6, "restored": 127},  # clamped from above
        {"code": -127, "value": -(10**6), "value_low": -(10**6), "restored": -127},
        {"value": 127, "value_low": 127, "value_high": 127, "code": 127, "restored": 127},  # a one-point range
        {"code": 3, "value": 3, "roundoff": "1/8", "restored": "27/8"},  # the roundoff is used up
        {"code": 3, "value": 3, "roundoff": "1/8", "restored": "21/8"},
        {"code_min": 0, "code_max": 0, "value": 50},  # a single code is clamped on both sides
    ],
)
def test_each_premise_holds_at_its_boundary(changes: dict[str, Any]) -> None:
    assert broken_premise(element(**changes)) is None


def test_a_code_that_is_no_integer_and_a_missing_or_wrong_field_are_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="code: expected an integer"):
        check_number(element(code="1/2"), Fraction(1))
    with pytest.raises(ShapeError, match="value"):
        check_number(changed(element(), value=[1]), Fraction(1))
    fields = dict(element().fields)
    del fields["scale"]
    with pytest.raises(InvalidInputError, match="scale"):
        check_number(Instance("quantizer_step", fields), Fraction(1))
