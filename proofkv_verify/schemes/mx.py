"""Blocks of small floats with one power-of-two scale (MX), exactly, and a check of their encoders.

The stored scale is an E8M0 byte b, the number 2^(b - 127); 2^-127 is a float32 subnormal, so a path
that multiplies by its float32 inverse meets 0 * inf where subnormals are flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import (
    FP8_E4M3FN,
    FP32,
    Extended,
    FloatFormat,
    NonFinite,
    OverflowPolicy,
    decode,
    encode,
    floor_log2,
    format_exact,
    round_to,
    to_float,
)

SCALE_BIAS = 127
"""The stored scale byte b means 2^(b - SCALE_BIAS)."""
SCALE_NAN = 255
"""The stored scale byte of NaN."""


@dataclass(frozen=True, slots=True)
class MxBlock:
    """A block as stored: the E8M0 scale byte and one element code a number."""

    scale: int
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MxFault:
    """One block on which an encoder differs from the exact one, in exact text."""

    block: tuple[str, ...]
    element: int | None
    expected: str
    got: str


def encode_mx(
    block: Sequence[Fraction],
    fmt: FloatFormat = FP8_E4M3FN,
    overflow: OverflowPolicy = "saturate",
) -> MxBlock:
    """The exact MX block: scale 2^(floor(log2 max|x|) - emax), each quotient to nearest even.

    Args:
        block: the numbers of one block (32 in the MX standard), not empty.
        fmt: the element format.
        overflow: what a quotient beyond the largest element does; the floor rule reaches it.

    Returns:
        Scale byte, cut to [0, 254], and codes; the scale byte of an all-zero block is 0.

    Raises:
        InvalidInputError: the block is empty.

    Source:
        OCP Microscaling Formats (MX) v1.0, section 6.3.
    """
    if not block:
        raise InvalidInputError("block", "at least one number", "none")
    largest = max(abs(x) for x in block)
    exponent = floor_log2(largest) - fmt.emax + SCALE_BIAS if largest else 0
    scale = min(max(exponent, 0), SCALE_NAN - 1)
    return MxBlock(scale, tuple(encode(x / _scale(scale), fmt, overflow=overflow) for x in block))


def decode_mx(block: MxBlock, fmt: FloatFormat = FP8_E4M3FN) -> tuple[Extended, ...]:
    """The exact values of a stored block; a NaN scale makes every element NaN.

    Raises:
        InvalidInputError: the scale byte or a code is out of range.
    """
    if not 0 <= block.scale <= SCALE_NAN:
        raise InvalidInputError("scale", "a byte", block.scale)
    return tuple(_product(block.scale, decode(code, fmt)) for code in block.codes)


def check_mx(
    encode_block: Callable[[Sequence[float]], MxBlock],
    fmt: FloatFormat = FP8_E4M3FN,
    overflow: OverflowPolicy = "saturate",
) -> tuple[MxFault, ...]:
    """Each hard block decodes to what the exact encoder's block decodes to, element by element.

    Args:
        encode_block: the encoder under test, given float32 numbers.
        fmt: the element format.
        overflow: the declared overflow policy.

    Returns:
        All faults, the blocks as `mx_inputs` orders them: empty when there is none. Values are
        compared, so the scale byte of an all-zero block is free, save NaN.
    """
    return tuple(fault for block in mx_inputs(fmt) for fault in _faults(encode_block, block, fmt, overflow))


def mx_inputs(fmt: FloatFormat = FP8_E4M3FN) -> tuple[tuple[Fraction, ...], ...]:
    """Blocks of 32 float32 numbers whose scale is ordinary, smallest, largest, cut, or of zeros."""
    smallest = fmt.emax - SCALE_BIAS
    tops = (0, smallest, smallest + 1, smallest - 1, FP32.emin, -140, -149, FP32.emax)
    zeros = (Fraction(0),) * 32
    return (*(_spread(top, fmt) for top in tops), zeros)


def _spread(top: int, fmt: FloatFormat) -> tuple[Fraction, ...]:
    """Numbers below 2^(top + 1) that fall on values, ties and subnormals of the elements."""
    unit = Fraction(2) ** top
    ties = [unit * (1 + Fraction(2 * i + 1, 1 << fmt.precision)) for i in range(4)]
    small = [-unit * Fraction(3, 1 << (2 * i + 2)) for i in range(12)]
    raw = [unit, -unit, *ties, *small]
    kept = [q for x in raw if isinstance(q := round_to(x, FP32, "nearest_even"), Fraction)]
    return (*kept, *(Fraction(0),) * (32 - len(kept)))


def _faults(
    encode_block: Callable[[Sequence[float]], MxBlock],
    block: tuple[Fraction, ...],
    fmt: FloatFormat,
    overflow: OverflowPolicy,
) -> Iterator[MxFault]:
    text = tuple(format_exact(x) for x in block)
    expected = [_text(v) for v in decode_mx(encode_mx(block, fmt, overflow), fmt)]
    try:
        got = [_text(v) for v in decode_mx(encode_block([to_float(x) for x in block]), fmt)]
    except (ValueError, ArithmeticError) as error:
        yield MxFault(text, None, "a block", f"{type(error).__name__}: {error}")
        return
    if len(got) != len(expected):
        yield MxFault(text, None, f"{len(expected)} codes", f"{len(got)} codes")
    for i, (right, wrong) in enumerate(zip(expected, got, strict=False)):
        if right != wrong:
            yield MxFault(text, i, right, wrong)


def _scale(byte: int) -> Fraction:
    return Fraction(2) ** (byte - SCALE_BIAS)


def _product(scale: int, element: Extended) -> Extended:
    if scale == SCALE_NAN or element is NonFinite.NAN:
        return NonFinite.NAN
    return element if isinstance(element, NonFinite) else element * _scale(scale)


def _text(value: Extended) -> str:
    return value.value if isinstance(value, NonFinite) else format_exact(value)
