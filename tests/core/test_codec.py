import math
import struct
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proofkv_verify.codec import code_table
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import (
    BF16,
    FLOAT_FORMATS,
    FORMATS,
    FP4_E2M1,
    FP8_E4M3FN,
    FP8_E4M3FNUZ,
    FP8_E5M2,
    FP16,
    FP32,
    FP64,
    INT4,
    INT4_SYMMETRIC,
    INT8,
    INT8_SYMMETRIC,
    INT_FORMATS,
    UINT4,
    UINT8,
    NonFinite,
    decode,
    encode,
    floor_log2,
    policies,
    round_down,
    round_to,
    round_up,
    spacing,
)

SMALL_FLOATS = (FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP4_E2M1)
FP8 = (FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2)
MODES = ("nearest_even", "nearest_away", "up", "down", "toward_zero")
TORCH_DTYPE = {
    "fp8_e4m3fn": torch.float8_e4m3fn,
    "fp8_e4m3fnuz": torch.float8_e4m3fnuz,
    "fp8_e5m2": torch.float8_e5m2,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
ML_DTYPE = {
    "fp8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}
# torch 2.13 saturates e4m3fn only; the other two go to NaN and inf as ml_dtypes does.
TORCH_POLICY = {"fp8_e4m3fn": "saturate", "fp8_e4m3fnuz": "nan", "fp8_e5m2": "inf"}
ML_POLICY = {"fp8_e4m3fn": "nan", "fp8_e4m3fnuz": "nan", "fp8_e5m2": "inf"}

rationals = st.one_of(
    st.fractions(),
    st.builds(
        lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(-(2**60), 2**60), st.integers(-1130, 1000)
    ),
    st.builds(lambda m, e, t: (m + t) * Fraction(2) ** e, st.integers(-512, 512), st.integers(-160, 130),
              st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**80)])),
)  # fmt: skip


def by_id(values):
    return pytest.mark.parametrize("fmt", values, ids=lambda f: f.name)


def as_text(value):
    """The exact value as hex float text; NaN and both zeros collapse."""
    return "nan" if math.isnan(value) else (value + 0.0).hex()


def our_text(value):
    return as_text(float(value.value) if isinstance(value, NonFinite) else float(value))


@cache
def finite_ascending(fmt):
    return sorted({v for v in code_table(fmt) if isinstance(v, Fraction)})


@by_id([*FP8, FP16, BF16])
def test_every_code_decodes_as_torch_does(fmt):
    kind = torch.uint8 if fmt.bits == 8 else torch.uint16
    codes = torch.arange(1 << fmt.bits, dtype=torch.int32).to(kind)
    theirs = codes.view(TORCH_DTYPE[fmt.name]).double().tolist()
    assert [our_text(decode(c, fmt)) for c in range(1 << fmt.bits)] == [as_text(x) for x in theirs]


@by_id([*SMALL_FLOATS, FP16, BF16])
def test_every_code_decodes_as_ml_dtypes_does(fmt):
    codes = np.arange(1 << fmt.bits, dtype=np.uint16 if fmt.bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):  # signalling NaN codes
        theirs = codes.view(ML_DTYPE[fmt.name]).astype(np.float64).tolist()
    assert [our_text(decode(c, fmt)) for c in range(1 << fmt.bits)] == [as_text(x) for x in theirs]


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_wide_codes_decode_as_the_machine_does(single, double):
    (as_single,) = struct.unpack("<f", single.to_bytes(4, "little"))
    (as_double,) = struct.unpack("<d", double.to_bytes(8, "little"))
    assert our_text(decode(single, FP32)) == as_text(as_single)
    assert our_text(decode(double, FP64)) == as_text(as_double)


@by_id([INT4, UINT4])
def test_int4_codes_decode_as_ml_dtypes_does(fmt):
    theirs = np.arange(16, dtype=np.uint8).view(getattr(ml_dtypes, fmt.name)).astype(np.int32).tolist()
    assert [decode(c, fmt) for c in range(16)] == theirs


@by_id([INT8, UINT8])
def test_int8_codes_decode_as_numpy_does(fmt):
    theirs = np.arange(256, dtype=np.uint8).view(fmt.name).tolist()
    assert [decode(c, fmt) for c in range(256)] == theirs


@pytest.mark.parametrize(("fmt", "code"), [(INT8_SYMMETRIC, 0x80), (INT4_SYMMETRIC, 0x8)])
def test_symmetric_integers_have_no_lowest_code(fmt, code):
    with pytest.raises(InvalidInputError, match=fmt.name):
        decode(code, fmt)
    assert decode(code + 1, fmt) == fmt.low
    assert encode(Fraction(-1000), fmt, overflow="saturate") == code + 1


@by_id(FORMATS.values())
@pytest.mark.parametrize("code", [-1, None, True, 0.0, "0"])
def test_what_is_no_code_is_refused(fmt, code):
    with pytest.raises(InvalidInputError, match="code"):
        decode(1 << fmt.bits if code is None else code, fmt)


def test_code_table_refuses_wide_formats():
    with pytest.raises(InvalidInputError, match="16 bits"):
        code_table(FP32)


@pytest.mark.parametrize(
    ("fmt", "emax", "largest", "smallest", "nan"),
    [
        (FP64, 1023, Fraction(np.finfo(np.float64).max), Fraction(1, 2**1074), 0x7FF8 << 48),
        (FP32, 127, (2 - Fraction(1, 2**23)) * 2**127, Fraction(1, 2**149), 0x7FC00000),
        (FP16, 15, 65504, Fraction(1, 2**24), 0x7E00),
        (BF16, 127, 255 * 2**120, Fraction(1, 2**133), 0x7FC0),
        (FP8_E4M3FN, 8, 448, Fraction(1, 2**9), 0x7F),
        (FP8_E4M3FNUZ, 7, 240, Fraction(1, 2**10), 0x80),
        (FP8_E5M2, 15, 57344, Fraction(1, 2**16), 0x7E),
        (FP4_E2M1, 2, 6, Fraction(1, 2), -1),
    ],
)
def test_format_constants(fmt, emax, largest, smallest, nan):
    assert (fmt.emax, fmt.max_finite, fmt.min_finite) == (emax, largest, -largest)
    assert (fmt.min_subnormal, fmt.min_normal) == (smallest, smallest * 2 ** (fmt.precision - 1))
    assert fmt.nan_code == nan
    assert fmt.unit_roundoff == Fraction(1, 2**fmt.precision)
    assert fmt.has_nan is (nan >= 0)
    if fmt.has_nan:
        assert decode(nan, fmt) is NonFinite.NAN


def test_registry_names_every_format_once():
    assert dict(FORMATS) == {**FLOAT_FORMATS, **INT_FORMATS}
    assert all(name == fmt.name for name, fmt in FORMATS.items())
    assert {f.name for f in FLOAT_FORMATS.values() if f.has_inf} == {"fp64", "fp32", "fp16", "bf16", "fp8_e5m2"}
    assert [f.name for f in FLOAT_FORMATS.values() if not f.signed_zero] == ["fp8_e4m3fnuz"]


@by_id(FP8)
@pytest.mark.parametrize("source", [np.float16, ml_dtypes.bfloat16], ids=["fp16", "bf16"])
def test_every_16_bit_number_encodes_as_ml_dtypes_and_torch_do(fmt, source):
    numbers = np.arange(1 << 16, dtype=np.uint16).view(source).astype(np.float32)
    numbers = numbers[np.isfinite(numbers)]
    by_ml = numbers.astype(ML_DTYPE[fmt.name]).view(np.uint8).tolist()
    by_torch = torch.from_numpy(numbers).to(TORCH_DTYPE[fmt.name]).view(torch.uint8).tolist()
    for x, ml_code, torch_code in zip(numbers.tolist(), by_ml, by_torch, strict=True):
        if x == 0:  # a rational has no sign of zero
            continue
        ours = encode(Fraction(x), fmt, overflow=ML_POLICY[fmt.name])
        assert same_code(ours, ml_code, fmt), (x, ours, ml_code)
        if decode(ours, fmt) is NonFinite.NAN:
            ours = encode(Fraction(x), fmt, overflow=TORCH_POLICY[fmt.name])
        assert same_code(ours, torch_code, fmt), (x, ours, torch_code)


def same_code(ours, theirs, fmt):
    both_nan = decode(ours, fmt) is decode(theirs, fmt) is NonFinite.NAN
    return ours == theirs or both_nan


@by_id([FP16, BF16])
@given(bits=st.integers(0, 2**32 - 1))
def test_float32_encodes_to_16_bits_as_torch_does(fmt, bits):
    x = torch.tensor([bits], dtype=torch.int64).to(torch.uint32).view(torch.float32)
    value = decode(bits, FP32)
    if isinstance(value, Fraction) and value:
        theirs = x.to(TORCH_DTYPE[fmt.name]).view(torch.uint16).item()
        assert encode(value, fmt, overflow="inf") == theirs


@given(rationals)
def test_rationals_encode_to_binary64_as_python_divides(q):
    try:
        theirs = q.numerator / q.denominator
    except OverflowError:
        theirs = math.inf if q > 0 else -math.inf
    (bits,) = struct.unpack("<Q", struct.pack("<d", theirs))
    assert encode(q, FP64, overflow="inf") == bits


@by_id([f for f in FORMATS.values() if f.bits <= 16])
def test_every_finite_code_survives_a_round_trip(fmt):
    for code in range(1 << fmt.bits):
        try:
            value = decode(code, fmt)
        except InvalidInputError:
            continue
        if isinstance(value, Fraction) and value:
            assert encode(value, fmt, overflow="error") == code


def neighbour_choice(q, fmt, mode):
    """Rounding by search in the sorted table: another way than division by the spacing."""
    values = finite_ascending(fmt)
    place = bisect_left(values, q)
    above, below = values[place], values[place if values[place] == q else place - 1]
    if mode == "up" or above == below:
        return above
    if mode == "down":
        return below
    if mode == "toward_zero":
        return below if q > 0 else above
    if q - below != above - q:
        return below if q - below < above - q else above
    if mode == "nearest_away":
        return above if q > 0 else below
    codes = {v: c for c, v in enumerate(code_table(fmt))}
    return above if codes[above] % 2 == 0 else below


@by_id(SMALL_FLOATS)
@pytest.mark.parametrize("mode", MODES)
def test_ties_and_their_neighbours_round_as_table_search_says(fmt, mode):
    for low, high in pairwise(finite_ascending(fmt)):
        middle = (low + high) / 2
        tiny = (high - low) / 2**40
        for q in (low, low + tiny, middle - tiny, middle, middle + tiny, high - tiny, high):
            assert round_to(q, fmt, mode) == neighbour_choice(q, fmt, mode), (q, mode)


@by_id([FP16, BF16, *SMALL_FLOATS])
@settings(deadline=None)  # the first call builds the table
@given(q=rationals)
def test_directed_rounding_brackets_with_no_number_between(fmt, q):
    values = finite_ascending(fmt)
    place = bisect_left(values, q)
    assert round_up(q, fmt) == (values[place] if place < len(values) else NonFinite.POS_INF)
    mirrored = round_up(-q, fmt)
    expected = NonFinite.NEG_INF if mirrored is NonFinite.POS_INF else -mirrored
    assert round_down(q, fmt) == expected


@given(rationals)
def test_round_up_is_the_least_binary64_number_not_below(q):
    upper = round_up(q, FP64)
    if isinstance(upper, NonFinite):
        assert q > FP64.max_finite
        return
    below = math.nextafter(float(upper), -math.inf)
    assert upper >= q
    assert not math.isfinite(below) or Fraction(below) < q


@given(rationals)
def test_round_down_is_the_greatest_float32_number_not_above(q):
    lower = round_down(q, FP32)
    if isinstance(lower, NonFinite):
        assert q < FP32.min_finite
        return
    assert lower <= q
    if lower != FP32.max_finite:
        above = np.nextafter(np.float32(float(lower)), np.float32(np.inf))
        assert Fraction(float(above)) > q


@by_id(INT_FORMATS.values())
@given(q=st.fractions(-300, 300))
def test_integers_round_to_the_nearest_and_even(fmt, q):
    code = encode(q, fmt, overflow="saturate")
    value = decode(code, fmt)
    clamped = min(max(q, Fraction(fmt.low)), Fraction(fmt.high))
    assert abs(value - clamped) <= Fraction(1, 2)
    assert abs(value - clamped) != Fraction(1, 2) or value % 2 == 0
    assert round_up(q, fmt) == (math.ceil(clamped) if q <= fmt.high else NonFinite.POS_INF)


@pytest.mark.parametrize(
    ("q", "fmt", "mode", "expected"),
    [
        (Fraction(449), FP8_E4M3FN, "down", Fraction(448)),
        (Fraction(1000), FP8_E4M3FN, "down", Fraction(448)),
        (Fraction(1000), FP8_E4M3FN, "toward_zero", Fraction(448)),
        (Fraction(-1000), FP8_E4M3FN, "toward_zero", Fraction(-448)),
        (Fraction(-1000), FP8_E4M3FN, "up", Fraction(-448)),
        (Fraction(449), FP8_E4M3FN, "up", NonFinite.POS_INF),
        (Fraction(-449), FP8_E4M3FN, "down", NonFinite.NEG_INF),
        (Fraction(464), FP8_E4M3FN, "nearest_even", Fraction(448)),
        (Fraction(464), FP8_E4M3FN, "nearest_away", NonFinite.POS_INF),
        (Fraction(61440), FP8_E5M2, "nearest_even", NonFinite.POS_INF),
        (Fraction(7), FP4_E2M1, "nearest_even", NonFinite.POS_INF),
        (Fraction(-1, 3), UINT4, "down", NonFinite.NEG_INF),
        (Fraction(-1, 2), UINT4, "nearest_even", Fraction(0)),
        (Fraction(255, 2), INT8, "nearest_even", NonFinite.POS_INF),
        (Fraction(-257, 2), INT8, "nearest_even", Fraction(-128)),
        (Fraction(-5, 2), INT8, "nearest_away", Fraction(-3)),
    ],
)
def test_rounding_at_the_ends(q, fmt, mode, expected):
    assert round_to(q, fmt, mode) == expected


@pytest.mark.parametrize(
    ("fmt", "expected"),
    [
        (FP8_E4M3FN, ("saturate", "nan", "error")),
        (FP8_E5M2, ("saturate", "nan", "inf", "error")),
        (FP4_E2M1, ("saturate", "error")),
        (INT8, ("saturate", "error")),
    ],
)
def test_a_format_offers_only_the_policies_it_can_express(fmt, expected):
    assert policies(fmt) == expected
    for policy in {"saturate", "nan", "inf", "error", "clip"} - set(expected):
        with pytest.raises(InvalidInputError, match="overflow"):
            encode(Fraction(1), fmt, overflow=policy)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("fmt", "policy", "expected"),
    [
        (FP8_E4M3FN, "saturate", Fraction(448)),
        (FP8_E4M3FN, "nan", NonFinite.NAN),
        (FP8_E4M3FNUZ, "saturate", Fraction(240)),
        (FP8_E4M3FNUZ, "nan", NonFinite.NAN),
        (FP8_E5M2, "saturate", Fraction(57344)),
        (FP8_E5M2, "nan", NonFinite.NAN),
        (FP8_E5M2, "inf", NonFinite.POS_INF),
        (FP4_E2M1, "saturate", Fraction(6)),
        (FP64, "inf", NonFinite.POS_INF),
    ],
)
def test_overflow_follows_the_policy(fmt, policy, expected, sign):
    got = decode(encode(sign * Fraction(10) ** 400, fmt, overflow=policy), fmt)
    if isinstance(expected, Fraction):
        expected = sign * expected
    elif expected is NonFinite.POS_INF and sign < 0:
        expected = NonFinite.NEG_INF
    assert got == expected


@by_id(FORMATS.values())
def test_policy_error_raises_on_overflow_alone(fmt):
    assert decode(encode(fmt.max_finite, fmt, overflow="error"), fmt) == fmt.max_finite
    with pytest.raises(InvalidInputError, match=fmt.name):
        encode(2 * fmt.max_finite + 1, fmt, overflow="error")
    with pytest.raises(InvalidInputError, match="about -2"):
        encode(-(Fraction(10) ** 5000), fmt, overflow="error")


@pytest.mark.parametrize(("fmt", "code"), [(FP8_E4M3FN, 0x80), (FP8_E5M2, 0x80), (FP8_E4M3FNUZ, 0), (FP4_E2M1, 8)])
def test_a_negative_that_rounds_to_zero_keeps_its_sign_where_it_can(fmt, code):
    assert encode(Fraction(-1, 10**9), fmt, overflow="error") == code
    assert encode(Fraction(0), fmt, overflow="error") == 0


@pytest.mark.parametrize("q", [0.5, True, "1", None, NonFinite.NAN, NonFinite.POS_INF])
def test_only_rationals_are_rounded(q):
    with pytest.raises(InvalidInputError, match="Fraction"):
        round_to(q, FP16, "up")
    with pytest.raises(InvalidInputError, match="Fraction"):
        encode(q, FP16, overflow="inf")


def test_an_int_is_a_rational():
    assert round_to(3, FP16, "up") == 3


def test_an_unknown_mode_is_refused():
    with pytest.raises(InvalidInputError, match="nearest_even"):
        round_to(Fraction(1), FP16, "nearest")


@given(rationals.filter(bool))
def test_floor_log2_brackets(q):
    assert Fraction(2) ** floor_log2(q) <= abs(q) < Fraction(2) ** (floor_log2(q) + 1)


def test_floor_log2_refuses_zero():
    with pytest.raises(InvalidInputError, match="nonzero"):
        floor_log2(Fraction(0))


@by_id([FP16, BF16, *SMALL_FLOATS])
def test_spacing_is_the_gap_to_the_next_number(fmt):
    positive = [v for v in finite_ascending(fmt) if v >= 0]
    assert all(spacing(low, fmt) == high - low for low, high in pairwise(positive))
    assert spacing(-positive[-1], fmt) == spacing(positive[-1], fmt)
