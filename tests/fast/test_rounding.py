"""What the error model assumes of torch, and the outward steps."""

import math
import struct
from fractions import Fraction

import flint
import pytest
import torch
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import lift_float
from proofkv_verify.fast.logit_abs_norm_upper import logit_abs_norm_upper
from proofkv_verify.fast.rounding import (
    FP32,
    FP64,
    down,
    float_above,
    float_below,
    gamma,
    returned_above,
    returned_below,
    scaled_down,
    scaled_up,
    up,
)
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper

TINY32 = float(FP32.tiny)


def float32_codes(first: int, last: int, stride: int) -> torch.Tensor:
    """The float32 numbers whose codes run from first to last."""
    return torch.arange(first, last, stride, dtype=torch.int64).to(torch.int32).view(torch.float32)


def code(x: float) -> int:
    return struct.unpack("<i", struct.pack("<f", x))[0]


def error_beyond_model(found: torch.Tensor, true: torch.Tensor, error: float) -> torch.Tensor:
    """How far the float32 results are outside the assumed error, against float64 values good to 2^-50."""
    allowed = true.abs() * (error * (1 - 2.0**-20)) + TINY32 * (true.abs() < 2 * TINY32)
    return ((found.double() - true).abs() - allowed).clamp(min=0)


def test_exp_in_fp32_is_within_two_ulps_on_a_grid():
    x = -float32_codes(0, code(104.0), 1009)
    worst = error_beyond_model(torch.exp(x), torch.exp(x.double()), float(FP32.exp_error))
    assert float(worst.max()) == 0, x[worst.argmax()]


def test_expm1_in_fp32_is_within_two_ulps_on_a_grid():
    x = float32_codes(0, code(88.7), 1009)
    worst = error_beyond_model(torch.expm1(x), torch.expm1(x.double()), float(FP32.exp_error))
    assert float(worst.max()) == 0, x[worst.argmax()]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "last", "sign"), [("exp", 104.0, -1), ("expm1", 88.7, 1)])
def test_fp32_functions_are_within_two_ulps_for_every_number(name, last, sign):
    function, step = getattr(torch, name), 1 << 15
    for start in range(0, code(last) + 1, step):
        x = sign * float32_codes(start, min(start + step, code(last) + 1), 1)
        worst = error_beyond_model(function(x), function(x.double()), float(FP32.exp_error))
        assert float(worst.max()) == 0, x[worst.argmax()]


@pytest.mark.parametrize("length", [1, 3, 8, 17, 1000])
def test_functions_in_fp64_are_within_two_ulps_of_arb_in_any_vector_length(length):
    g = torch.Generator().manual_seed(length)
    x = -(torch.rand(length, generator=g, dtype=torch.float64) ** 3) * 708
    c = torch.rand(length, generator=g, dtype=torch.float64) * 10.0 ** torch.linspace(-300, 2.8, length).double()
    with flint.ctx.workprec(160):
        for values, found, function in ((x, torch.exp(x), arb.exp), (c, torch.expm1(c), arb.expm1)):
            for a, b in zip(values.tolist(), found.tolist(), strict=True):
                true = function(arb(a))
                assert abs(arb(b) - true) <= true * arb(2) ** -51, (a, b)


def test_both_functions_are_exact_at_zero_and_keep_subnormals():
    for dtype in (torch.float32, torch.float64):
        least = torch.nextafter(torch.zeros((), dtype=dtype), torch.ones((), dtype=dtype))
        assert torch.exp(torch.zeros((), dtype=dtype)) == 1
        assert torch.expm1(torch.zeros((), dtype=dtype)) == 0
        assert torch.expm1(least) == least


@pytest.mark.parametrize("model", [FP32, FP64], ids=["fp32", "fp64"])
def test_weights_below_the_cap_are_subnormal(model):
    with flint.ctx.workprec(80):
        assert arb(-model.cap).exp() < arb(flint.fmpq(model.tiny.numerator, model.tiny.denominator))


def test_gamma_is_exact_and_refuses_what_the_model_does_not_cover():
    assert gamma(3, Fraction(1, 8)) == Fraction(3, 8) / Fraction(5, 8)
    with pytest.raises(InvalidInputError, match="length of a sum"):
        gamma(4, Fraction(1, 8))


@settings(derandomize=True, deadline=None)
@given(st.fractions().map(lambda q: q * Fraction(1, 3)), st.integers(-160, 140), st.sampled_from([FP32, FP64]))
def test_outward_floats_enclose_and_are_neighbours(q, exponent, model):
    value = q * Fraction(2) ** exponent
    low, high = float_below(value, model.dtype), float_above(value, model.dtype)
    assert low == -math.inf or lift_float(low) <= value
    assert high == math.inf or lift_float(high) >= value
    step = torch.nextafter(torch.tensor(low, dtype=model.dtype), torch.tensor(math.inf, dtype=model.dtype))
    assert high in (low, float(step))


@settings(derandomize=True, deadline=None)
@given(st.floats(0, 1e300), st.floats(0, 1e300), st.integers(1, 50))
def test_outward_steps_enclose_the_exact_results(x, y, numerator):
    a, b, factor = (torch.tensor(v, dtype=torch.float64) for v in (x, y, 0)[:2]), None, Fraction(numerator, 7)
    a, b = a
    exact_sum = lift_float(x) + lift_float(y)
    assert lift_float(float(down(a + b))) <= exact_sum <= lift_float(float(up(a + b)))
    high, low = float(scaled_up(a, factor)), float(scaled_down(a, factor))
    assert low <= high
    assert high == math.inf or lift_float(high) >= lift_float(x) * factor
    assert lift_float(low) <= lift_float(x) * factor


@settings(derandomize=True, deadline=None)
@given(st.floats(width=64))
def test_a_returned_float32_is_outside_the_float64(x):
    value = torch.tensor(x, dtype=torch.float64)
    high, low = returned_above(value, torch.float32), returned_below(value, torch.float32)
    assert (float(high), float(low)) == (math.inf, -math.inf) if math.isnan(x) else float(low) <= x <= float(high)


@pytest.fixture
def restore_precision():
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.usefixtures("restore_precision")
def test_products_of_lower_precision_are_refused():
    torch.set_float32_matmul_precision("medium")
    with pytest.raises(InvalidInputError, match="matmul_precision"):
        softmax_tv_mean_upper(torch.zeros(2), torch.zeros(2))


def test_flush_to_zero_is_refused():
    assert torch.set_flush_denormal(True)
    try:
        with pytest.raises(InvalidInputError, match="subnormal"):
            softmax_tv_mean_upper(torch.zeros(2), torch.zeros(2))
    finally:
        torch.set_flush_denormal(False)


def test_autocast_and_gradients_do_not_reach_the_arithmetic():
    g = torch.Generator().manual_seed(0)
    queries, radii = torch.randn(1, 2, 3, 16, generator=g), torch.rand(1, 1, 5, generator=g)
    expected = logit_abs_norm_upper(queries, radii, 0.25)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = logit_abs_norm_upper(queries.requires_grad_(), radii, 0.25)
        by_name = logit_abs_norm_upper(queries=queries, radii=radii, softmax_scale=0.25)
    assert torch.equal(found, expected)
    assert torch.equal(by_name, expected)
    assert not found.requires_grad
