import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.codec import code_table
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.exact import (
    FP4_E2M1,
    FP8_E4M3FN,
    FP64,
    INT8,
    ExactTensor,
    NonFinite,
    format_exact,
    lift_codes,
    lift_extended,
    lift_float,
    lift_matrix,
    lift_tensor,
    lift_vector,
    parse_exact,
    round_up,
    to_float,
)
from proofkv_verify.numerals import MAX_DIGITS, MAX_EXPONENT, brief_text

TINY = Fraction(1, 2**1074)
TORCH_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
TORCH_FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2)
NUMBERS = [[0.1, -2.5, 3.0], [0.0, 1.75, -0.3]]


@pytest.fixture
def flush_to_zero():
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    yield
    torch.set_flush_denormal(False)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_lifts_to_its_binary_value_and_back(x):
    assert lift_float(x) == Fraction(x)
    assert to_float(lift_float(x)) == x


@pytest.mark.parametrize(("x", "value"), [(3, 3), (-0.0, 0), (np.float64(0.1), Fraction(0.1)), (10**400, 10**400)])
def test_ints_zeros_and_numpy_doubles_lift(x, value):
    assert lift_float(x) == value


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_a_float_that_is_no_number_is_refused_by_name(x):
    with pytest.raises(InvalidInputError, match=rf"claims.bound: expected a finite number, got {x}"):
        lift_float(x, "claims.bound")


def test_nonfinite_floats_are_told_apart():
    got = [lift_extended(x) for x in (math.nan, math.inf, -math.inf, 1.5)]
    assert got == [NonFinite.NAN, NonFinite.POS_INF, NonFinite.NEG_INF, Fraction(3, 2)]


@pytest.mark.parametrize("x", [True, "1.0", None, Fraction(1), np.float32(1), torch.tensor(1.0)])
def test_what_is_no_float_is_refused(x):
    with pytest.raises(InvalidInputError, match="expected a float"):
        lift_extended(x)


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(2) ** 1024, TINY / 2, 2**53 + Fraction(1)])
def test_to_float_never_rounds(q):
    with pytest.raises(InvalidInputError, match="binary64"):
        to_float(q)


def test_to_float_passes_infinities_and_refuses_nan():
    assert to_float(NonFinite.POS_INF) == math.inf
    assert to_float(NonFinite.NEG_INF) == -math.inf
    assert to_float(round_up(Fraction(10) ** 400, FP64)) == math.inf
    with pytest.raises(InvalidInputError, match="nan"):
        to_float(NonFinite.NAN)


def test_flushed_subnormals_do_not_reach_lifted_values(flush_to_zero):
    smallest = torch.tensor([[1, 0, -(2**31) + 3]], dtype=torch.int32).view(torch.float32)
    # The trap: the interpreter's own exact conversion reads zero here.
    assert struct.unpack("<d", b"\1" + bytes(7))[0].as_integer_ratio() == (0, 1)
    assert lift_float(5e-324) == TINY
    assert struct.pack("<d", to_float(TINY)) == b"\1" + bytes(7)
    assert lift_tensor(smallest).values == (Fraction(1, 2**149), 0, -Fraction(3, 2**149))
    assert lift_tensor(smallest.t()[::2]).values == (Fraction(1, 2**149), -Fraction(3, 2**149))
    assert lift_tensor(smallest.numpy()).values == lift_tensor(smallest).values


@pytest.mark.parametrize("dtype", [*TORCH_FLOATS, *TORCH_FP8], ids=str)
def test_torch_tensors_lift_to_what_they_hold(dtype):
    tensor = torch.tensor(NUMBERS).to(dtype)
    assert lift_tensor(tensor).nested() == [[Fraction(x) for x in row] for row in tensor.double().tolist()]


@pytest.mark.parametrize(
    "dtype",
    ["<f8", ">f8", "<f4", ">f4", "<f2", ">f2", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
     ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn],
    ids=str,
)  # fmt: skip
def test_numpy_arrays_lift_to_what_they_hold(dtype):
    array = np.array(NUMBERS).astype(dtype)
    assert lift_tensor(array).nested() == [[Fraction(x) for x in row] for row in array.astype(float).tolist()]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
def test_torch_integers_lift(dtype):
    codes = torch.arange(256, dtype=torch.int32).to(dtype)
    assert list(lift_tensor(codes).values) == codes.tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", ml_dtypes.int4, ml_dtypes.uint4], ids=str)
def test_numpy_integers_lift(dtype):
    codes = np.arange(256).astype(dtype)
    assert list(lift_tensor(codes).values) == codes.astype(int).tolist()


def test_packed_fp4_lifts_low_half_first_and_doubles_the_last_axis():
    packed = torch.tensor([[0x21, 0xF7]], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert lift_tensor(packed) == ExactTensor((1, 4), (Fraction(1, 2), Fraction(1), Fraction(6), Fraction(-6)))
    assert lift_tensor(packed[0, 0]).shape == (2,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e4m3fn], ids=str)
def test_strided_views_lift_as_their_contiguous_copies(dtype):
    base = torch.arange(24.0).reshape(2, 3, 4).to(dtype)
    for view in (base.transpose(0, 2), base[:, ::2], base[:, :, 1:2], base[1].expand(3, 3, 4)):
        assert lift_tensor(view) == lift_tensor(view.clone(memory_format=torch.contiguous_format))


def test_lazily_negated_and_gradient_views_lift_to_their_values():
    negated = torch.tensor([1 + 2j]).conj().imag
    assert negated.is_neg()
    assert lift_tensor(negated).values == (-2,)
    assert lift_tensor(torch.nn.Parameter(torch.ones(2))).values == (1, 1)


@pytest.mark.parametrize("empty", [torch.zeros(0, 3), np.zeros((0, 3))], ids=["torch", "numpy"])
def test_empty_tensors_lift_to_no_values(empty):
    assert lift_tensor(empty) == ExactTensor((0, 3), ())
    assert lift_tensor(empty).matrix() == []


@pytest.mark.parametrize("scalar", [torch.tensor(2.5), np.float16(2.5)], ids=["torch", "numpy"])
def test_rank_zero_lifts_to_one_number(scalar):
    assert lift_tensor(scalar).nested() == Fraction(5, 2)


@pytest.mark.parametrize("dtype", [*TORCH_FLOATS, torch.float8_e5m2, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_nonfinite_element_is_refused_with_its_index(dtype, bad):
    tensor = torch.zeros(2, 3).to(dtype)
    saturating = dtype is torch.float8_e4m3fn
    tensor[1, 2] = math.nan if saturating else bad  # torch stores 448 for inf there
    shown = "nan" if saturating else str(bad)
    with pytest.raises(InvalidInputError, match=rf"keys\[1, 2\]: expected a finite number, got {shown}"):
        lift_tensor(tensor, "keys")


@pytest.mark.parametrize(
    "bad",
    [[1.0], 1.0, None, np.ma.masked_array([1.0], [True]), torch.tensor([1]), torch.tensor([True]), np.array([1 + 2j]),
     np.array([1.0], object), np.array([1.0], np.longdouble), torch.zeros(2, dtype=torch.complex64)],
)  # fmt: skip
def test_what_is_no_known_tensor_is_refused(bad):
    with pytest.raises(InvalidInputError, match="keys"):
        lift_tensor(bad, "keys")


def test_vectors_and_matrices_check_their_rank():
    assert lift_vector(torch.tensor([1.0, 2.0])) == [1, 2]
    assert lift_matrix(np.array([[1.0, 2.0]])) == [[1, 2]]
    with pytest.raises(ShapeError, match="q: expected 1 dimensions"):
        lift_vector(torch.zeros(2, 2), "q")
    with pytest.raises(ShapeError, match="k: expected 2 dimensions"):
        lift_matrix(torch.zeros(2), "k")


def test_codes_lift_by_table_and_refuse_nan_by_position():
    assert lift_codes([0x01, 0x7E], FP8_E4M3FN) == [Fraction(1, 512), 448]
    assert lift_codes(range(8), FP4_E2M1) == list(code_table(FP4_E2M1)[:8])
    assert lift_codes([0xFF], INT8) == [-1]
    with pytest.raises(InvalidInputError, match=r"page\[1\]: expected a finite number, got nan"):
        lift_codes([0, 0x7F], FP8_E4M3FN, "page")


def test_exact_tensor_indexes_in_row_major_order():
    tensor = ExactTensor((2, 3), tuple(Fraction(i) for i in range(6)))
    assert tensor[1].values == (3, 4, 5)
    assert tensor[1, 2].nested() == 5
    assert tensor.matrix() == tensor.nested() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("index", [2, -1, (0, 3), (0, 0, 0)])
def test_exact_tensor_refuses_an_index_outside(index):
    with pytest.raises(ShapeError, match="index"):
        ExactTensor((2, 3), tuple(Fraction(i) for i in range(6)))[index]


def test_exact_tensor_refuses_a_wrong_count():
    with pytest.raises(ShapeError, match="6 values"):
        ExactTensor((2, 3), (Fraction(0),))


@pytest.mark.parametrize(
    ("q", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(3), "3"),
        (Fraction(-8), "-8"),
        (Fraction(5, 512), "5*2^-9"),
        (Fraction(-1, 2), "-1*2^-1"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-22, 7), "-22/7"),
        (Fraction(0.1), "3602879701896397*2^-55"),
        (TINY, "1*2^-1074"),
    ],
)
def test_exact_text_is_canonical(q, text):
    assert format_exact(q) == text
    assert parse_exact(text) == q


@given(st.fractions(), st.integers(-1200, 1200))
def test_exact_text_round_trips(q, e):
    value = q * Fraction(2) ** e
    assert parse_exact(format_exact(value)) == value


@pytest.mark.parametrize(("text", "q"), [("2/4", Fraction(1, 2)), ("4*2^-1", 2), ("3*2^2", 12), ("0*2^0", 0)])
def test_other_spellings_of_the_three_forms_are_read(text, q):
    assert parse_exact(text) == q


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1\n", "+1", "-0", "-0*2^1", "-0/3", "01", "1.0", "1e3", "0x1", "1/0", "1/-2", "1/02", "-", "1*2^",
     "1*2^-0", "1*2^+3", "1*2^1.5", "1*3^2", "1*2^3/5", "inf", "nan", "1_000", "\u0661", "1\u00b2", None, 1, 0.5, b"1"],
)  # fmt: skip
def test_other_text_is_refused(text):
    with pytest.raises(InvalidInputError, match="alpha: expected an integer, m"):
        parse_exact(text, "alpha")


@pytest.mark.parametrize(
    "text",
    ["9" * (MAX_DIGITS + 1), "-" + "9" * (MAX_DIGITS + 1), "1/" + "9" * 5000, f"1*2^{MAX_EXPONENT + 1}",
     f"1*2^-{MAX_EXPONENT + 1}", "1*2^" + "9" * 5000],
)  # fmt: skip
def test_text_beyond_the_limits_is_refused(text):
    with pytest.raises(InvalidInputError, match="at most 4096 digits"):
        parse_exact(text)


@pytest.mark.parametrize(
    "q",
    [Fraction(2) ** 13_600, Fraction(1, 3**9000), Fraction(1, 2 ** (MAX_EXPONENT + 1))],
    ids=["int", "p/q", "dyadic"],
)
def test_numbers_beyond_the_limits_are_not_written(q):
    with pytest.raises(InvalidInputError, match="at most 4096 digits"):
        format_exact(q)


@pytest.mark.parametrize("q", [Fraction(2) ** 13_600 - 1, Fraction(1, 2**MAX_EXPONENT), Fraction(1, 3**8500)])
def test_numbers_at_the_limits_round_trip(q):
    assert parse_exact(format_exact(q)) == q
    assert parse_exact("9" * MAX_DIGITS) == 10**MAX_DIGITS - 1


@pytest.mark.parametrize(
    ("q", "text"),
    [(Fraction(1, 3), "1/3"), (-(Fraction(10) ** 5000), "about -2^16609"), (Fraction(1, 3**9000), "about 2^-14264")],
)
def test_brief_text_is_short(q, text):
    assert brief_text(q) == text
