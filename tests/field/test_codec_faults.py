"""Field faults A1, A2, A3 and the codec half of A5: the values of the reports, and the kind of fault behind each."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import (
    FORMATS,
    FP4_E2M1,
    FP8_E4M3FN,
    FP8_E4M3FNUZ,
    FP8_E5M2,
    FP16,
    FP32,
    INT8,
    INT8_SYMMETRIC,
    NonFinite,
    decode,
    encode,
    lift_codes,
    lift_float,
    lift_tensor,
    parse_exact,
    policies,
    round_to,
    to_float,
)
from proofkv_verify.schemes.codec_check import CodecFault, check_codec, codec_inputs
from proofkv_verify.schemes.mx import MxBlock, check_mx, decode_mx, encode_mx

E4M3 = FP8_E4M3FN
SMALL = [f for f in FORMATS.values() if f.bits <= 8]
TORCH_DTYPE = {E4M3: torch.float8_e4m3fn, FP8_E4M3FNUZ: torch.float8_e4m3fnuz, FP8_E5M2: torch.float8_e5m2}
ML_DTYPE = {E4M3: ml_dtypes.float8_e4m3fn, FP8_E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
            FP8_E5M2: ml_dtypes.float8_e5m2, FP4_E2M1: ml_dtypes.float4_e2m1fn}  # fmt: skip
ROW_A1 = [448.0, 464.0, 465.0, 480.0, 1000.0, -1000.0, math.inf, math.nan]
# The report's decimals, as the float32 numbers a cache would hold.
ROW_A3 = np.array([-5.3191e-37, -1.2519e-36, 2.8094e-36, 9.1835e-40, 1.0433e-37] + [0.0] * 27, np.float32)


def as_float(value):
    return float(value.value) if isinstance(value, NonFinite) else float(value)


def exact_decoder(fmt):
    return lambda code: as_float(decode(code, fmt))


def exact_encoder(fmt, policy, rounding="nearest_even", nonfinite=None):
    """The exact encoder as a program would have it; non-finite numbers go to one code or are refused."""

    def encode_number(x):
        if not math.isfinite(x) and nonfinite is not None:
            return nonfinite
        return encode(lift_float(x), fmt, overflow=policy, rounding=rounding)

    return encode_number


def torch_decoder(fmt):
    return lambda code: torch.tensor([code], dtype=torch.uint8).view(TORCH_DTYPE[fmt]).double().item()


def torch_encoder(fmt):
    return lambda x: torch.tensor([x]).to(TORCH_DTYPE[fmt]).view(torch.uint8).item()


def ml_decoder(fmt):
    return lambda code: float(np.array([code], np.uint8).view(ML_DTYPE[fmt])[0])


def ml_encoder(fmt):
    return lambda x: int(np.array([x], np.float32).astype(ML_DTYPE[fmt]).view(np.uint8)[0])


def kinds(faults):
    return {fault.of for fault in faults}


@pytest.mark.parametrize("fmt", SMALL, ids=lambda f: f.name)
def test_the_exact_codec_has_no_fault_under_any_policy_it_can_express(fmt):
    for policy in policies(fmt):
        assert check_codec(exact_decoder(fmt), exact_encoder(fmt, policy), fmt, policy) == ()


# A1: one number, two meanings of overflow.


def test_a1_row_has_the_reported_values_under_both_policies():
    finite = [lift_float(x) for x in ROW_A1[:6]]
    as_nan = [decode(encode(q, E4M3, overflow="nan"), E4M3) for q in finite]
    saturated = [decode(encode(q, E4M3, overflow="saturate"), E4M3) for q in finite]
    assert as_nan == [448, 448, *[NonFinite.NAN] * 4]
    assert saturated == [448, 448, 448, 448, 448, -448]


def test_a1_torch_and_ml_dtypes_differ_on_the_row_as_recorded():
    by_torch = [decode(torch_encoder(E4M3)(x), E4M3) for x in ROW_A1]
    by_ml = [decode(ml_encoder(E4M3)(x), E4M3) for x in ROW_A1]
    assert by_torch == [448, 448, 448, 448, 448, -448, 448, NonFinite.NAN]
    assert by_ml == [448, 448, *[NonFinite.NAN] * 6]
    assert [decode(torch_encoder(f)(math.inf), f) for f in (FP8_E4M3FNUZ, FP8_E5M2)] == [
        NonFinite.NAN,
        NonFinite.POS_INF,
    ]


@pytest.mark.parametrize(
    ("fmt", "policy", "infinity"),
    [(E4M3, "saturate", "saturate"), (FP8_E4M3FNUZ, "nan", "nonfinite"), (FP8_E5M2, "inf", "nonfinite")],
    ids=["e4m3fn", "e4m3fnuz", "e5m2"],
)
def test_a1_torch_keeps_its_policy_when_that_is_declared(fmt, policy, infinity):
    assert check_codec(torch_decoder(fmt), torch_encoder(fmt), fmt, policy, infinity) == ()


@pytest.mark.parametrize(
    ("fmt", "policy"),
    [(E4M3, "nan"), (FP8_E4M3FNUZ, "nan"), (FP8_E5M2, "inf")],
    ids=["e4m3fn", "e4m3fnuz", "e5m2"],
)
def test_a1_ml_dtypes_keeps_its_policy_when_that_is_declared(fmt, policy):
    assert check_codec(ml_decoder(fmt), ml_encoder(fmt), fmt, policy) == ()


def test_a1_ml_dtypes_fp4_saturates_but_turns_nonfinite_numbers_into_numbers():
    faults = check_codec(ml_decoder(FP4_E2M1), ml_encoder(FP4_E2M1), FP4_E2M1, "saturate", "saturate")
    assert kinds(faults) == {"nan"}


def test_a1_torch_turning_infinity_into_448_is_caught_unless_declared():
    faults = check_codec(torch_decoder(E4M3), torch_encoder(E4M3), E4M3, "saturate")
    assert faults == (
        CodecFault("infinity", "inf", "refused or inf or nan", "448"),
        CodecFault("infinity", "-inf", "refused or -inf or nan", "-448"),
    )


@pytest.mark.parametrize("fmt", [E4M3, FP8_E4M3FNUZ, FP8_E5M2, FP4_E2M1, INT8], ids=lambda f: f.name)
def test_a1_a_policy_other_than_the_declared_one_is_caught_at_the_first_overflow(fmt):
    for declared in policies(fmt):
        for real in set(policies(fmt)) - {declared}:
            faults = check_codec(exact_decoder(fmt), exact_encoder(fmt, real), fmt, declared)
            assert kinds(faults) == {"overflow"}
            overflowing = [q for q in codec_inputs(fmt) if isinstance(round_to(q, fmt, "nearest_even"), NonFinite)]
            assert parse_exact(faults[0].at) == overflowing[0]


@pytest.mark.parametrize(("declared", "shown"), [(None, "none declared"), ("inf", "inf")])
def test_a1_an_undeclared_or_impossible_policy_is_a_fault(declared, shown):
    faults = check_codec(exact_decoder(E4M3), exact_encoder(E4M3, "saturate"), E4M3, declared)
    assert faults == (CodecFault("policy", "fp8_e4m3fn", "one of saturate, nan, error", shown),)


@pytest.mark.parametrize("fmt", [E4M3, INT8], ids=lambda f: f.name)
def test_a1_a_nan_that_becomes_a_number_is_caught(fmt):
    codec = exact_encoder(fmt, "saturate", nonfinite=0)
    assert kinds(check_codec(exact_decoder(fmt), codec, fmt, "saturate")) == {"infinity", "nan"}


# A2: the decoder forgets that exponent field 0 has no hidden bit.


def test_a2_row_has_the_reported_values():
    assert lift_codes([0x01, 0x07, 0x08, 0x7E, 0x81], E4M3) == [
        Fraction(1, 512), Fraction(7, 512), Fraction(1, 64), 448, -Fraction(1, 512),
    ]  # fmt: skip
    assert decode(0x7F, E4M3) is NonFinite.NAN


def normal_formula_decoder(fmt):
    """The bug: 2^(field + emin - 1) (1 + fraction) for every field."""

    def decode_code(code):
        right = decode(code, fmt)
        if isinstance(right, NonFinite):
            return as_float(right)
        negative, magnitude = divmod(code, 1 << (fmt.bits - 1))
        field, fraction = divmod(magnitude, 1 << (fmt.precision - 1))
        value = (1 + Fraction(fraction, 1 << (fmt.precision - 1))) * Fraction(2) ** (fmt.emin - 1 + field)
        return float(-value if negative else value)

    return decode_code


@pytest.mark.parametrize("fmt", [E4M3, FP8_E4M3FNUZ, FP8_E5M2, FP4_E2M1], ids=lambda f: f.name)
def test_a2_a_decoder_without_subnormals_is_caught_on_exactly_those_codes(fmt):
    faults = check_codec(normal_formula_decoder(fmt), exact_encoder(fmt, "saturate"), fmt, "saturate")
    field_zero = {c for c in range(1 << fmt.bits) if isinstance(decode(c, fmt), Fraction)
                  and abs(decode(c, fmt)) < fmt.min_normal}  # fmt: skip
    assert kinds(faults) == {"decode"}
    assert {int(fault.at, 16) for fault in faults} == field_zero


def test_a2_the_reported_wrong_value_is_shown_exactly():
    faults = check_codec(normal_formula_decoder(E4M3), exact_encoder(E4M3, "saturate"), E4M3, "saturate")
    assert normal_formula_decoder(E4M3)(0x01) == 0.0087890625
    assert faults[1] == CodecFault("decode", "0x01", "1*2^-9", "9*2^-10")


@pytest.mark.parametrize("fmt", [E4M3, FP8_E4M3FNUZ, FP8_E5M2, FP4_E2M1], ids=lambda f: f.name)
def test_a2_an_encoder_that_flushes_subnormals_is_caught(fmt):
    right = exact_encoder(fmt, "saturate")
    faults = check_codec(
        exact_decoder(fmt), lambda x: 0 if abs(lift_float(x)) < fmt.min_normal else right(x), fmt, "saturate"
    )
    assert kinds(faults) >= {"encode"}
    assert all(fault.got == "0" for fault in faults if fault.of == "encode")


# A5, the codec half: a store that truncates, or breaks ties another way.


def test_a5_row_rounds_to_nearest_and_the_bug_truncates():
    row = [Fraction(9, 10), Fraction(-9, 10), Fraction(3, 2), Fraction(-3, 2), Fraction(1266, 10), Fraction(127)]
    nearest = [decode(encode(q, INT8, overflow="error"), INT8) for q in row]
    truncated = [decode(encode(q, INT8, overflow="error", rounding="toward_zero"), INT8) for q in row]
    assert nearest == [1, -1, 2, -2, 127, 127]
    assert truncated == [0, 0, 1, -1, 126, 127]
    assert max(abs(a - b) for a, b in zip(row, nearest, strict=True)) == Fraction(1, 2)
    assert max(abs(a - b) for a, b in zip(row, truncated, strict=True)) == Fraction(9, 10)


@pytest.mark.parametrize("rounding", ["toward_zero", "nearest_away", "up", "down"])
@pytest.mark.parametrize("fmt", SMALL, ids=lambda f: f.name)
def test_a5_an_encoder_that_rounds_another_way_is_caught(fmt, rounding):
    faults = check_codec(exact_decoder(fmt), exact_encoder(fmt, "saturate", rounding), fmt, "saturate")
    assert "encode" in kinds(faults)


def test_a5_a_symmetric_store_that_writes_the_lowest_code_is_caught():
    faults = check_codec(exact_decoder(INT8), exact_encoder(INT8, "saturate"), INT8_SYMMETRIC, "saturate")
    assert faults[0] == CodecFault("overflow", "-255*2^-1", "-127", "refused")


# A3: a shared scale of 2^-127 is a float32 subnormal.


def test_a3_row_has_the_reported_exponent_and_codes():
    block = encode_mx(lift_tensor(ROW_A3).values)
    assert block.scale == 0
    assert lift_codes(block.codes[:5], E4M3) == [-88, -208, 448, Fraction(5, 32), 18]
    assert set(block.codes[5:]) == {0}
    quotient = lift_tensor(ROW_A3).values[2] * 2**127
    assert 477 < quotient < 479
    assert NonFinite.NAN not in decode_mx(block)


@pytest.fixture
def flush_to_zero():
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    yield
    torch.set_flush_denormal(False)


def test_a3_row_is_the_same_while_subnormals_are_flushed(flush_to_zero):
    tensor = torch.from_numpy(ROW_A3)
    assert (torch.tensor([2.0**-126]) * 0.5).item() == 0  # flushing is on
    assert lift_codes(encode_mx(lift_tensor(tensor).values).codes[:5], E4M3) == [-88, -208, 448, Fraction(5, 32), 18]


def mx_encoder(block):
    return encode_mx([lift_float(x) for x in block])


def inverse_scale_encoder(flush):
    """Multiplies by 1 / scale; the bug is a float32 scale flushed to zero, so each x * inf is infinite or NaN."""

    def encode_block(block):
        scale = mx_encoder(block).scale
        stored = Fraction(2) ** (scale - 127)
        inverse = math.inf if flush and stored < FP32.min_normal else to_float(1 / stored)
        return MxBlock(scale, tuple(saturating(x * inverse) for x in block))

    return encode_block


def saturating(x):
    if math.isnan(x):
        return E4M3.nan_code
    return encode(lift_float(min(max(x, -1e6), 1e6)), E4M3, overflow="saturate")


@pytest.mark.parametrize("encode_block", [mx_encoder, inverse_scale_encoder(flush=False)], ids=["exact", "inverse"])
def test_a3_a_right_block_encoder_has_no_fault(encode_block):
    assert check_mx(encode_block) == ()


def test_a3_a_flushed_scale_gives_the_reported_garbage_and_is_caught():
    encode_block = inverse_scale_encoder(flush=True)
    wrong = encode_block([float(x) for x in ROW_A3])
    assert [decode(code, E4M3) for code in wrong.codes] == [-448, -448, 448, 448, 448, *[NonFinite.NAN] * 27]
    faults = check_mx(encode_block)
    assert {fault.got for fault in faults} > {"nan"}
    assert all(encode_mx([parse_exact(x) for x in fault.block]).scale == 0 for fault in faults)


def test_a3_rounding_the_scale_up_instead_of_down_is_caught():
    def encode_block(block):
        scale = min(mx_encoder(block).scale + 1, 254)
        codes = [encode(lift_float(x) / Fraction(2) ** (scale - 127), E4M3, overflow="saturate") for x in block]
        return MxBlock(scale, tuple(codes))

    assert all(fault.element is not None for fault in check_mx(encode_block))
    assert check_mx(encode_block)


@pytest.mark.parametrize(
    ("encode_block", "got"),
    [
        (lambda block: MxBlock(255, (0,) * 32), "nan"),
        (lambda block: MxBlock(256, (0,) * 32), "InvalidInputError: scale: expected a byte, got 256"),
        (lambda block: MxBlock(mx_encoder(block).scale, mx_encoder(block).codes[:31]), "31 codes"),
    ],
    ids=["scale_nan", "no_byte", "short"],
)
def test_a3_a_malformed_block_is_caught(encode_block, got):
    assert {fault.got for fault in check_mx(encode_block)} == {got}


def test_a3_an_infinite_element_stays_infinite():
    assert decode_mx(MxBlock(127, (0x7C,)), FP8_E5M2) == (NonFinite.POS_INF,)


def test_a3_an_empty_block_is_refused():
    with pytest.raises(InvalidInputError, match="block"):
        encode_mx([])


def test_formats_wider_than_8_bits_are_refused_by_the_check():
    with pytest.raises(InvalidInputError, match="8 bits"):
        codec_inputs(FP16)
