from fractions import Fraction

import pytest

from proofkv_verify.ball import BallMath
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance, Lazy, View, view
from proofkv_verify.reference.registry import KINDS
from tests.quality.witnesses import instance

M = BallMath()


def test_a_lazy_field_is_computed_when_it_is_read() -> None:
    read: list[int] = []
    x = View("k", {"a": Lazy(lambda: read.append(1) or 7)})
    assert (read, "a" in x) == ([], True)
    assert (x.a, read) == (7, [1])


def test_a_view_names_the_fields_that_it_has() -> None:
    x = View("softmax_tv", {"weights": 1, "ratios": 2})
    assert x.extended(more=3).more == 3
    with pytest.raises(AttributeError, match="softmax_tv has no known field 'tilts'; it has ratios, weights"):
        _ = x.tilts


def test_known_fields_need_no_hidden_ones() -> None:
    known = instance("element_error", left=[1], right=[2])
    assert view(known, KINDS["element_error"], M, hidden=False).left[0].exact == 1
    fields = {"divisor": 1, "scale": 1, "offset_in": 0, "offset_out": 0, "code": 0, "code_min": 0, "code_max": 0}
    step = instance("quantizer_step", **fields, value_low=0, value_high=0, roundoff=0)
    assert view(step, KINDS["quantizer_step"], M, hidden=False).scale.exact == 1
    with pytest.raises(InvalidInputError, match="value: expected a field of quantizer_step, got nothing"):
        view(step, KINDS["quantizer_step"], M, hidden=True)


@pytest.mark.parametrize(
    ("data", "error", "name"),
    [
        (Instance("element_error", {"left": Fraction(1), "right": (Fraction(1),)}), ShapeError, "left"),
        (instance("element_error", left=[1], right=[[1]]), ShapeError, "right"),
        (instance("element_error", left=[1], right=[1, 2]), ShapeError, "right"),
        (instance("element_error", left=[1]), InvalidInputError, "right"),
        (instance("element_error", left=[1], right=[1], middle=[1]), InvalidInputError, "middle"),
        (instance("element_error", {"pages": []}, left=[1], right=[1]), InvalidInputError, "pages"),
        (instance("stored_bytes", parts=["1/2"]), InvalidInputError, "parts"),
    ],
)
def test_a_malformed_instance_is_refused_by_name(data: Instance, error: type[InvalidInputError], name: str) -> None:
    with pytest.raises(error) as raised:
        view(data, KINDS[data.kind], M, hidden=True)
    assert raised.value.name == name
