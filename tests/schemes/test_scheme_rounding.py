"""Stored numbers round the right way, codes equal the exact codec's, and the bulk comparison equals rationals."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest
import torch

from proofkv_verify.exact import (
    BF16,
    FP8_E4M3FN,
    FP8_E5M2,
    FP16,
    FP32,
    FP64,
    NonFinite,
    decode,
    encode,
    lift_float,
    lift_tensor,
    round_up,
    to_float,
)
from proofkv_verify.schemes import rounding
from proofkv_verify.schemes.compare import first_violation, read_bits
from proofkv_verify.schemes.grids import FloatGrid, IntGrid
from proofkv_verify.schemes.packing import pack, unpack
from tests.schemes.scheme_inputs import flush_to_zero

__all__ = ["flush_to_zero"]
FORMATS = {torch.float16: FP16, torch.bfloat16: BF16, torch.float32: FP32}


def awkward_numbers(fmt):
    """Float64 numbers on, beside and between numbers of a format, over its whole range and beyond it."""
    draw = random.Random(7)
    anchors = [fmt.max_finite, fmt.min_normal, fmt.min_subnormal, Fraction(1), Fraction(3, 2), Fraction(1, 3)]
    anchors += [
        Fraction(2) ** draw.randint(fmt.emin - 20, fmt.emax + 2) * draw.randint(1, 4095) / 2048 for _ in range(300)
    ]
    for anchor in anchors:
        for factor in (1, 1 - Fraction(1, 2**45), 1 + Fraction(1, 2**45), 1 + Fraction(1, 2 ** (fmt.precision))):
            for sign in (1, -1):
                up = round_up(anchor * factor * sign, FP64)
                assert not isinstance(up, NonFinite)
                yield to_float(up)


@pytest.mark.parametrize("dtype", list(FORMATS))
def test_round_up_of_a_tensor_is_the_exact_round_up(dtype):
    fmt = FORMATS[dtype]
    numbers = [0.0, -0.0, *awkward_numbers(fmt)]
    stored = rounding.round_up(torch.tensor(numbers, dtype=torch.float64), dtype)
    for x, y in zip(numbers, stored, strict=True):
        exact = round_up(lift_float(x), fmt)
        if exact is NonFinite.POS_INF:
            assert float(y) == torch.inf, x
        elif exact is NonFinite.NEG_INF:
            assert float(y) <= to_float(-fmt.max_finite), x
        else:
            assert lift_float(float(y)) == exact, x


@pytest.mark.parametrize("dtype", list(FORMATS))
def test_round_down_is_minus_round_up_of_minus(dtype):
    x = torch.tensor(list(awkward_numbers(FORMATS[dtype])), dtype=torch.float64)
    assert torch.equal(rounding.round_down(x, dtype), -rounding.round_up(-x, dtype))


@pytest.mark.parametrize("dtype", list(FORMATS))
def test_a_stored_scale_rounded_up_is_not_below_its_number_unless_cut(dtype):
    numbers = torch.tensor([0.0, *(abs(x) for x in awkward_numbers(FORMATS[dtype]))], dtype=torch.float64)
    scale = rounding.store_scale(numbers, dtype, up=True).double()
    assert bool((scale >= numbers.clamp(max=rounding.largest(dtype))).all())
    assert bool((rounding.store_scale(numbers, dtype, up=False) > 0).all())
    assert bool(torch.isfinite(rounding.store_scale(numbers, dtype, up=False)).all())


def test_a_stored_scale_survives_flushing(flush_to_zero):
    for dtype in FORMATS:
        for up in (True, False):
            scale = rounding.store_scale(torch.tensor([0.0, 1e-45, 1e-300], dtype=torch.float64), dtype, up=up)
            assert bool((scale.double() > 0).all()), dtype


def test_norm_up_is_at_least_the_exact_norm():
    box = torch.rand(200, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    box *= torch.exp2(torch.randint(-100, 100, (200, 1), generator=torch.Generator().manual_seed(1)).double())
    norms = lift_tensor(rounding.norm_up(box)).values
    rows = lift_tensor(box).matrix()
    for norm, row in zip(norms, rows, strict=True):
        square = sum(x * x for x in row)
        assert square <= norm**2 <= square * (1 + Fraction(1, 2**35))


def test_difference_up_bounds_the_exact_difference_and_is_zero_for_equal_bits():
    draw = torch.Generator().manual_seed(3)
    a = torch.randn(500, generator=draw) * torch.exp2(torch.randint(-120, 120, (500,), generator=draw).float())
    b = a * (1 + torch.randn(500, generator=draw) * 1e-6)
    for first, second in ((a, b), (a, b.bfloat16()), (a.half().clamp(-6e4, 6e4), b.clamp(-6e4, 6e4).half())):
        radius = rounding.difference_up(first, second)
        triples = zip(*(lift_tensor(t).values for t in (first, second, radius)), strict=True)
        assert all(abs(x - y) <= r for x, y, r in triples)
    assert float(rounding.difference_up(a, a.clone()).max()) == 0


def test_difference_up_is_infinite_at_nan_and_infinity():
    a = torch.tensor([torch.nan, torch.inf, torch.inf, 1.0])
    b = torch.tensor([torch.nan, torch.inf, 0.0, torch.nan])
    assert rounding.difference_up(a, b).tolist() == [torch.inf] * 4


def test_cast_finite_keeps_finite_numbers_finite():
    x = torch.tensor([1e30, -1e30, torch.inf, -torch.inf, torch.nan])
    cast = rounding.cast_finite(x, torch.float16)
    assert cast[:4].tolist() == [65504.0, -65504.0, torch.inf, -torch.inf]
    assert bool(cast[4].isnan())


@pytest.mark.parametrize("value", [257.5, float("nan"), float("inf"), 1e40])
def test_storable_refuses_what_the_dtype_does_not_hold(value):
    with pytest.raises(ValueError, match="scale: expected a finite number of bf16"):
        rounding.storable(value, torch.bfloat16, "scale")


def test_dtype_named_lists_the_names():
    assert rounding.dtype_named("bf16") is torch.bfloat16
    with pytest.raises(ValueError, match="one of fp32, fp16, bf16"):
        rounding.dtype_named("fp64")


@pytest.mark.parametrize("fmt", [FP8_E4M3FN, FP8_E5M2])
@pytest.mark.parametrize("policy", ["saturate", "nan"])
def test_float_grid_codes_equal_the_exact_codec(fmt, policy):
    finite = sorted({v for c in range(256) if isinstance(v := decode(c, fmt), Fraction)})
    middles = [(a + b) / 2 for a, b in pairwise(finite)]
    step = finite[-1] - finite[-2]
    tops = [finite[-1] + step * Fraction(k, 8) for k in range(20)]
    numbers = [*finite, *middles, *tops, *(-t for t in tops)]
    numbers += [q * (1 + Fraction(sign, 2**50)) for q in middles for sign in (1, -1)]
    floats = [to_float(round_up(q, FP64)) for q in numbers]
    codes = FloatGrid(fmt).encode(torch.tensor(floats, dtype=torch.float64), nan_on_overflow=policy == "nan")
    expected = [encode(lift_float(x), fmt, overflow=policy) for x in floats]
    assert [decode(int(c), fmt) for c in codes] == [decode(c, fmt) for c in expected]


@pytest.mark.parametrize("fmt", [FP8_E4M3FN, FP8_E5M2])
def test_float_grid_levels_and_half_gaps_are_exact(fmt):
    grid = FloatGrid(fmt)
    levels = grid.levels(torch.arange(256, dtype=torch.uint8))
    gaps = grid.half_gap(levels)
    values = sorted({v for c in range(256) if isinstance(v := decode(c, fmt), Fraction)})
    above = dict(pairwise(values))
    for code in range(256):
        value = decode(code, fmt)
        if isinstance(value, NonFinite):
            assert bool(levels[code].isnan())
            continue
        assert lift_float(float(levels[code])) == value
        if abs(value) < fmt.max_finite:
            assert lift_float(float(gaps[code])) == (above[abs(value)] - abs(value)) / 2
    assert (grid.low, grid.high, grid.bits) == (-to_float(fmt.max_finite), to_float(fmt.max_finite), 8)


def test_int_grid_rounds_ties_to_even_and_saturates():
    grid = IntGrid(8, -127.0, 127.0)
    quotients = torch.tensor([0.5, 1.5, -0.5, -2.5, 126.5, 127.5, 1e9, -1e9], dtype=torch.float64)
    levels = grid.levels(grid.encode(quotients, nan_on_overflow=False))
    assert levels.tolist() == [0.0, 2.0, 0.0, -2.0, 126.0, 127.0, 127.0, -127.0]


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 32])
def test_unpack_inverts_pack_and_pack_takes_the_fewest_bytes(bits, size):
    codes = torch.randint(0, 1 << bits, (2, 3, size), generator=torch.Generator().manual_seed(size)).to(torch.uint8)
    packed = pack(codes, bits)
    assert packed.shape[-1] == -(-size * bits // 8)
    assert torch.equal(unpack(packed, bits, size), codes)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_read_bits_gives_the_exact_value_of_every_16_bit_number(dtype, flush_to_zero):
    numbers = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    wide = read_bits(numbers)
    table = [decode(code, FORMATS[dtype]) for code in range(1 << 16)]
    for value, x in zip(table, wide.tolist(), strict=True):
        assert (not isinstance(value, Fraction) and x - x != 0) or lift_float(x) == value


def test_first_violation_decides_as_rationals_do():
    draw = random.Random(11)
    for _ in range(400):
        x = draw.choice([1.0, 0.1, 2e38, -(2.0**-133), 100.0]) * draw.choice([1, -1, 1.5])
        y = draw.choice([x, 0.0, x * (1 + 2.0**-20), x + 2.0**-140, -x])
        original = torch.tensor([x], dtype=torch.float32)
        restored = torch.tensor([y], dtype=torch.float32)
        exact = abs(lift_tensor(original).values[0] - lift_tensor(restored).values[0])
        up = to_float(round_up(exact, FP64))
        for radius in (
            up,
            up * (1 - 2.0**-53),
            torch.tensor(up, dtype=torch.float64).nextafter(torch.tensor(-1.0).double()),
        ):
            box = torch.tensor([float(radius)], dtype=torch.float64)
            violated = exact > lift_tensor(box).values[0]
            assert (first_violation(original, restored, box) is not None) == violated


def test_first_violation_sees_a_difference_below_half_an_ulp_of_the_radius():
    original = torch.tensor([2.0**60, 2.0**60])
    restored = torch.tensor([-(2.0**-60), 2.0**-60])
    radius = torch.full((2,), 2.0**60, dtype=torch.float64)
    found = first_violation(original, restored, radius)
    assert found is not None
    assert found.index == (0,)
    assert found.original - found.restored == 2**60 + Fraction(1, 2**60)


@pytest.mark.parametrize(
    ("restored", "radius"),
    [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan")), (1.0, -1.0), (1.0, float("-inf"))],
)
def test_first_violation_treats_nan_infinity_and_negative_radii_as_violations(restored, radius):
    one = torch.ones(1)
    found = first_violation(one, torch.tensor([restored]), torch.tensor([radius]))
    assert found is not None
    assert found.index == (0,)


def test_first_violation_accepts_infinite_radii_and_skips_non_finite_originals():
    original = torch.tensor([1.0, torch.nan, torch.inf])
    restored = torch.tensor([torch.nan, 0.0, 0.0])
    assert first_violation(original, restored, torch.tensor([torch.inf, 0.0, 0.0])) is None


def test_first_violation_names_the_place_and_refuses_wrong_shapes():
    original, restored = torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)
    restored[1, 2, 3] = 1
    found = first_violation(original, restored, torch.zeros(2, 3, 4))
    assert found is not None
    assert (found.index, found.restored) == ((1, 2, 3), Fraction(1))
    with pytest.raises(ValueError, match="shape"):
        first_violation(original, restored, torch.zeros(3))
    with pytest.raises(ValueError, match="dtype fp64, fp32, fp16 or bf16"):
        first_violation(original, restored.int(), torch.zeros(2, 3, 4))


def test_first_violation_is_not_fooled_by_flushing(flush_to_zero):
    least = torch.tensor([1], dtype=torch.int32).view(torch.float32)
    found = first_violation(least, torch.zeros(1), torch.zeros(1, dtype=torch.float64))
    assert found is not None
    assert found.original == FP32.min_subnormal
