"""Finds the inputs on which a codec of 8 bits or fewer differs from the exact one; imports no torch.

A codec is two functions, `decode: code -> float` and `encode: float -> code`. Run the check once for
each path a program has (scalar, vector, kernel), with one declared overflow policy for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from operator import index
from typing import Literal, TypeVar

from proofkv_verify.codec import code_table
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import (
    FP32,
    Extended,
    FloatFormat,
    Format,
    NonFinite,
    OverflowPolicy,
    decode,
    encode,
    format_exact,
    lift_extended,
    policies,
    round_to,
    spacing,
    to_float,
)

CodecProperty = Literal["policy", "decode", "encode", "overflow", "infinity", "nan"]
InfinityRule = Literal["nonfinite", "saturate"]
_T = TypeVar("_T")
_REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class CodecFault:
    """One input on which a codec breaks its declared format.

    Args:
        of: the broken property.
        at: the input, in exact text (`0x01` for a code, `5*2^-9` for a number).
        expected: what the format and the declared policy give.
        got: what the codec gave.
    """

    of: CodecProperty
    at: str
    expected: str
    got: str


def check_codec(
    decode_code: Callable[[int], float],
    encode_number: Callable[[float], int],
    fmt: Format,
    policy: OverflowPolicy | None,
    infinity: InfinityRule = "nonfinite",
) -> tuple[CodecFault, ...]:
    """Every code decodes exactly and every hard number encodes to the nearest, ties to even.

    The numbers tried are `codec_inputs(fmt)`; they are finite in number, so no fault found says
    nothing about other numbers of a codec that is not monotone. All codes are tried.

    Args:
        decode_code: the codec's decoder; infinities and NaN as floats.
        encode_number: its encoder; to refuse a number, it raises ValueError or ArithmeticError.
        fmt: the declared format, at most 8 bits.
        policy: the declared overflow policy; None says that none was declared, itself a fault.
        infinity: `nonfinite`: an infinite input must stay non-finite or be refused, whatever the
            policy; `saturate`: the codec declares that it stores the finite end. NaN must always
            stay NaN or be refused.

    Returns:
        All faults, policy first, then by code, then by magnitude; empty when there is none. Signs
        of zero and NaN payloads are not compared.

    Raises:
        InvalidInputError: the format is wider than 8 bits.
    """
    inputs = codec_inputs(fmt)
    found = [*_policy_faults(fmt, policy), *_decode_faults(decode_code, fmt)]
    found += [f for x in inputs for f in _encode_faults(encode_number, x, fmt, policy)]
    return (*found, *_nonfinite_faults(encode_number, fmt, infinity))


def codec_inputs(fmt: Format) -> tuple[Fraction, ...]:
    """The float32 numbers that tell encoders apart, by magnitude.

    Returns:
        Every finite value of the format, every midpoint of neighbours and the float32 neighbours of
        each midpoint, and overflowing numbers: the tie beyond each end with its neighbours, one and
        two steps beyond, twice the end, and the largest float32.
    """
    values = finite_values(fmt)
    points = set(values)
    for low, high in pairwise(values):
        points.update(_around((low + high) / 2))
    for end, sign in ((values[-1], 1), (values[0], -1)):
        step = sign * spacing(end, fmt)
        points.update(_around(end + step / 2))
        points.update((end + step, end + 2 * step, 2 * end, sign * FP32.max_finite))
    return tuple(sorted(points, key=lambda q: (abs(q), q)))


def finite_values(fmt: Format) -> tuple[Fraction, ...]:
    """All finite values of a format of at most 8 bits, ascending.

    Raises:
        InvalidInputError: the format is wider.
    """
    if fmt.bits > 8:
        raise InvalidInputError("fmt", "a format of at most 8 bits", fmt.name)
    if not isinstance(fmt, FloatFormat):
        return tuple(Fraction(n) for n in range(fmt.low, fmt.high + 1))
    return tuple(sorted({v for v in code_table(fmt) if isinstance(v, Fraction)}))


def _around(point: Fraction) -> Iterator[Fraction]:
    step = spacing(point, FP32)
    yield from (point - step, point, point + step)


def _policy_faults(fmt: Format, policy: OverflowPolicy | None) -> Iterator[CodecFault]:
    if policy not in policies(fmt):
        expected = f"one of {', '.join(policies(fmt))}"
        yield CodecFault("policy", fmt.name, expected, policy or "none declared")


def _decode_faults(decode_code: Callable[[int], float], fmt: Format) -> Iterator[CodecFault]:
    for code in range(1 << fmt.bits):
        try:
            expected = _text(decode(code, fmt))
        except InvalidInputError:  # a symmetric integer format leaves one code unused
            continue
        got = _attempt(lambda c: lift_extended(decode_code(c)), code)
        if got != expected:
            yield CodecFault("decode", f"0x{code:02x}", expected, got)


def _encode_faults(
    encode_number: Callable[[float], int], x: Fraction, fmt: Format, policy: OverflowPolicy | None
) -> Iterator[CodecFault]:
    overflows = isinstance(round_to(x, fmt, "nearest_even"), NonFinite)
    if overflows and policy not in policies(fmt):
        return  # nothing was declared that this could break
    used = policy if overflows and policy else "error"
    expected = _attempt(lambda q: decode(encode(q, fmt, overflow=used), fmt), x)
    got = _attempt(lambda q: decode(index(encode_number(to_float(q))), fmt), x)
    if got != expected:
        yield CodecFault("overflow" if overflows else "encode", format_exact(x), expected, got)


def _nonfinite_faults(
    encode_number: Callable[[float], int], fmt: Format, infinity: InfinityRule
) -> Iterator[CodecFault]:
    ends = ((inf, fmt.max_finite), (-inf, fmt.min_finite))
    for x, end in ends:
        allowed = (format_exact(end),) if infinity == "saturate" else (_REFUSED, str(x), NonFinite.NAN.value)
        got = _attempt(lambda y: decode(index(encode_number(y)), fmt), x)
        if got not in allowed:
            yield CodecFault("infinity", str(x), " or ".join(allowed), got)
    got = _attempt(lambda y: decode(index(encode_number(y)), fmt), nan)
    if got not in (_REFUSED, NonFinite.NAN.value):
        yield CodecFault("nan", "nan", f"{_REFUSED} or nan", got)


def _attempt(action: Callable[[_T], Extended], argument: _T) -> str:
    try:
        return _text(action(argument))
    except (ValueError, ArithmeticError):
        return _REFUSED


def _text(value: Extended) -> str:
    return value.value if isinstance(value, NonFinite) else format_exact(value)
