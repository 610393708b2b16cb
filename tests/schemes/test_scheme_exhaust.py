"""All 16-bit inputs through one scale: built-in schemes pass, planted faults give the first exception, exactly."""

import time
from fractions import Fraction

import pytest
import torch

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.exhaust import exhaust_scheme, exhaust_step, finite_numbers
from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.user import wrap
from tests.schemes.scheme_inputs import scheme_texts

TEXTS = [t for t in scheme_texts() if "key_scale" not in t]
COUNTS = {torch.float16: 63488, torch.bfloat16: 65280}


@pytest.mark.parametrize("text", TEXTS)
def test_built_in_steps_hold_for_every_16_bit_input(text):
    scheme = scheme_named(text)
    for dtype, count in COUNTS.items():
        for scale in (2.0**-14, 1.0, 1.5 * 2.0**9):
            result = exhaust_step(scheme, dtype, scale)
            assert (result.inputs, result.violation, result.vacuous) == (count, None, 0)


@pytest.mark.parametrize("text", TEXTS)
def test_built_in_schemes_hold_for_every_16_bit_input_up_to_a_reach(text):
    scheme = scheme_named(text)
    for dtype, count in COUNTS.items():
        for reach in (0.875, 448.0, float(torch.finfo(dtype).max)):
            result = exhaust_scheme(scheme, dtype, reach)
            assert (result.violation, result.vacuous) == (None, 0)
        assert result.inputs == count


def test_exhausting_takes_less_than_two_seconds():
    start = time.perf_counter()
    exhaust_step(scheme_named("fp8_e4m3fn"), torch.bfloat16, 1.0)
    exhaust_scheme(scheme_named("int4_kivi"), torch.float16, 100.0)
    assert time.perf_counter() - start < 2


class Truncating:
    """int8 codes cut toward zero; half a step claimed inside the code range."""

    def step(self, values, scale):
        x = values.double()
        codes = (x / scale).clamp(-127, 127).trunc()
        radius = torch.where(x.abs() > 127 * scale, torch.inf, scale / 2)
        return codes, (codes * scale).float(), radius


def test_a_truncating_step_is_refuted_by_its_first_input_beyond_half_a_step():
    result = exhaust_step(Truncating(), torch.float16, 1.0)
    found = result.violation
    assert found is not None
    # The first fp16 number above one half, in the order of codes.
    assert (found.original, found.restored, found.radius) == (Fraction(1025, 2048), 0, Fraction(1, 2))
    assert found.index == (int(torch.tensor(0.5, dtype=torch.float16).view(torch.int16)) + 1,)
    assert result.vacuous > 0


def test_a_radius_one_bit_too_small_is_refuted():
    class Tight(Truncating):
        def step(self, values, scale):
            codes, restored, _ = scheme_named("int8").step(values, scale)
            error = (values.double() - restored.double()).abs()
            error[5000] = torch.nextafter(error[5000], torch.zeros((), dtype=torch.float64))
            return codes, restored, error

    found = exhaust_step(Tight(), torch.float16, 2.0**-10).violation
    assert found is not None
    assert found.index == (5000,)


def test_every_finite_number_is_tried_once():
    for dtype, count in COUNTS.items():
        numbers = finite_numbers(dtype)
        assert len(numbers.view(torch.int16).unique()) == len(numbers) == count


def test_reach_must_be_a_positive_number_of_the_dtype():
    scheme = scheme_named("int8")
    for reach, message in (
        (0.0, "a positive number"),
        (float("nan"), "a positive number"),
        (0.1, "a finite number of fp16"),
    ):
        with pytest.raises(InvalidInputError, match=f"reach: expected {message}"):
            exhaust_scheme(scheme, torch.float16, reach)
    with pytest.raises(InvalidInputError, match="dtype: expected fp16 or bf16"):
        exhaust_step(scheme, torch.float32, 1.0)


def test_a_step_of_the_wrong_shape_and_a_scheme_without_a_box_are_refused():
    class Short:
        def step(self, values, scale):
            return values, values[:1], values[:1]

    with pytest.raises(InvalidInputError, match="step: expected restored and radius of shape"):
        exhaust_step(Short(), torch.float16, 1.0)

    class Boxless:
        def compress(self, keys, values):
            return keys, values

        def restore(self, pages):
            return pages

        def sidecar(self, pages):
            return {}

    with pytest.raises(InvalidInputError, match="sidecar: expected a key_box, got none"):
        exhaust_scheme(wrap(Boxless(), "boxless"), torch.float16, 1.0)


def test_step_refuses_a_scale_that_is_not_stored_as_given():
    values = torch.ones(3, dtype=torch.float16)
    for scale, message in ((0.0, "a positive number"), (float("nan"), "a positive number"), (0.1, "number of fp16")):
        with pytest.raises(InvalidInputError, match=message):
            scheme_named("int8:scale=fp16").step(values, scale)


def test_step_of_an_asymmetric_scheme_takes_an_offset():
    codes, restored, radius = scheme_named("int4_kivi").step(torch.tensor([10.0, 10.6, 99.0]), 1.0, 10.0)
    assert codes.tolist() == [0, 1, 15]
    assert restored.tolist() == [10.0, 11.0, 25.0]
    assert [round(float(r), 4) for r in radius] == [74.0, 0.5, 74.0]
