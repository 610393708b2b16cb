"""Exact decoding, exact rounding, and encoding with a stated overflow policy.

Every number here is a `fractions.Fraction`; no float is ever formed. `exact` re-exports the public
names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Literal

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.formats import (
    Extended,
    FloatFormat,
    Format,
    IntFormat,
    NonFinite,
    power_of_two,
)
from proofkv_verify.numerals import brief_text

Rounding = Literal["nearest_even", "nearest_away", "up", "down", "toward_zero"]
OverflowPolicy = Literal["saturate", "nan", "inf", "error"]

_HALF = Fraction(1, 2)
_TO_INTEGER: Mapping[str, Callable[[Fraction], int]] = MappingProxyType(
    {
        "nearest_even": round,
        "nearest_away": lambda q: math.floor(q + _HALF) if q >= 0 else math.ceil(q - _HALF),
        "up": math.ceil,
        "down": math.floor,
        "toward_zero": math.trunc,
    }
)


def floor_log2(q: Fraction) -> int:
    """The integer e with 2^e <= |q| < 2^(e+1), exactly.

    Raises:
        InvalidInputError: q is zero.
    """
    if not q:
        raise InvalidInputError("q", "a nonzero number", q)
    top, bottom = abs(q.numerator), q.denominator
    exponent = top.bit_length() - bottom.bit_length()
    return exponent if abs(q) >= power_of_two(exponent) else exponent - 1


def spacing(q: Fraction, fmt: Format) -> Fraction:
    """The distance of neighbours of `fmt` in the binade of q (of zero: the smallest subnormal).

    Returns:
        Exact; the exponent range is unbounded above: q may exceed the largest finite number.
    """
    if isinstance(fmt, IntFormat):
        return Fraction(1)
    exponent = max(floor_log2(q), fmt.emin) if q else fmt.emin
    return power_of_two(exponent - fmt.precision + 1)


def round_to(q: Fraction, fmt: Format, mode: Rounding) -> Extended:
    """Rounds q to a number of `fmt` as IEEE 754 does, the exponent range unbounded first, then cut.

    Args:
        q: any rational.
        fmt: the target; subnormals are kept.
        mode: `nearest_even`, `nearest_away`, `up`, `down` or `toward_zero`.

    Returns:
        The exact rounded number; or an infinity when that exceeds the largest finite number and the
        mode does not point back to it. So too for formats without an infinity: there it says that
        no number of the format serves, and `encode` applies the overflow policy.

    Raises:
        InvalidInputError: q is not a rational, or the mode is unknown.
    """
    exact = _require_rational(q)
    if mode not in _TO_INTEGER:
        raise InvalidInputError("mode", f"one of {', '.join(_TO_INTEGER)}", mode)
    step = spacing(exact, fmt)
    rounded = _TO_INTEGER[mode](exact / step) * step
    if rounded > fmt.max_finite:
        return fmt.max_finite if mode in ("down", "toward_zero") else NonFinite.POS_INF
    if rounded < fmt.min_finite:
        return fmt.min_finite if mode in ("up", "toward_zero") else NonFinite.NEG_INF
    return rounded


def round_up(q: Fraction, fmt: Format) -> Extended:
    """The smallest number of `fmt` that is >= q, or POS_INF when there is none."""
    return round_to(q, fmt, "up")


def round_down(q: Fraction, fmt: Format) -> Extended:
    """The largest number of `fmt` that is <= q, or NEG_INF when there is none."""
    return round_to(q, fmt, "down")


def decode(code: int, fmt: Format) -> Extended:
    """The exact value of a code; both zeros decode to 0.

    Raises:
        InvalidInputError: the code is no int in [0, 2^bits), or not a value of the integer format.
    """
    if type(code) is not int or not 0 <= code < 1 << fmt.bits:
        raise InvalidInputError("code", f"an integer in [0, {1 << fmt.bits}) for {fmt.name}", code)
    if isinstance(fmt, IntFormat):
        return _decode_int(code, fmt)
    return code_table(fmt)[code] if fmt.bits <= 16 else _decode_float(code, fmt)


@cache
def code_table(fmt: FloatFormat) -> tuple[Extended, ...]:
    """The exact value of every code of a float format of 16 bits or fewer, indexed by code."""
    if fmt.bits > 16:
        raise InvalidInputError("fmt", "a format of at most 16 bits", fmt.name)
    return tuple(_decode_float(code, fmt) for code in range(1 << fmt.bits))


def _decode_int(code: int, fmt: IntFormat) -> Fraction:
    value = code - (1 << fmt.bits) if fmt.low < 0 and code >> (fmt.bits - 1) else code
    if not fmt.low <= value <= fmt.high:
        raise InvalidInputError("code", f"a value in [{fmt.low}, {fmt.high}] ({fmt.name})", value)
    return Fraction(value)


def _decode_float(code: int, fmt: FloatFormat) -> Extended:
    special = _special(code, fmt)
    if special is not None:
        return special
    negative, magnitude = divmod(code, 1 << (fmt.bits - 1))
    hidden = 1 << (fmt.precision - 1)
    field, fraction = divmod(magnitude, hidden)
    # Exponent field 0 has no hidden bit and shares the exponent of field 1.
    significand = fraction if field == 0 else fraction + hidden
    exponent = fmt.emin + max(field, 1) - fmt.precision
    signed = -significand if negative else significand
    return Fraction(signed << max(exponent, 0), 1 << max(-exponent, 0))


def _special(code: int, fmt: FloatFormat) -> NonFinite | None:
    sign = 1 << (fmt.bits - 1)
    magnitude = code & (sign - 1)
    if fmt.specials == "fn":
        return NonFinite.NAN if magnitude == sign - 1 else None
    if fmt.specials == "fnuz":
        return NonFinite.NAN if code == sign else None
    infinity = _infinity_code(fmt)
    if fmt.specials == "finite" or magnitude < infinity:
        return None
    if magnitude > infinity:
        return NonFinite.NAN
    return NonFinite.NEG_INF if code & sign else NonFinite.POS_INF


def _infinity_code(fmt: FloatFormat) -> int:
    hidden_bit = fmt.precision - 1
    return ((1 << (fmt.bits - 1)) - 1) >> hidden_bit << hidden_bit


def encode(q: Fraction, fmt: Format, *, overflow: OverflowPolicy, rounding: Rounding = "nearest_even") -> int:
    """The code of q after rounding; a result beyond the largest finite number follows the policy.

    Args:
        q: any rational; an infinity or NaN has no place here and is refused.
        fmt: the target format.
        overflow: `saturate` (nearest finite end), `nan`, `inf`, or `error`.
        rounding: see `round_to`. `down` of a large positive q ends at the largest finite number by
            rounding itself: that is no overflow.

    Returns:
        The code; a negative q that rounds to zero gives -0 where the format has one.

    Raises:
        InvalidInputError: q is not rational, the format cannot express the policy, or the policy is
            `error` and the result is out of range.
    """
    if overflow not in policies(fmt):
        raise InvalidInputError("overflow", f"one of {', '.join(policies(fmt))} for {fmt.name}", overflow)
    rounded = round_to(q, fmt, rounding)
    if isinstance(rounded, NonFinite):
        return _encode_overflow(rounded, q, fmt, overflow)
    if isinstance(fmt, IntFormat):
        return int(rounded) % (1 << fmt.bits)
    return _encode_exact(rounded, fmt, q < 0)


def policies(fmt: Format) -> tuple[OverflowPolicy, ...]:
    """The overflow policies that a format can express."""
    choices: tuple[tuple[OverflowPolicy, bool], ...] = (
        ("saturate", True),
        ("nan", fmt.has_nan),
        ("inf", fmt.has_inf),
        ("error", True),
    )
    return tuple(policy for policy, possible in choices if possible)


def _encode_overflow(side: NonFinite, q: Fraction, fmt: Format, overflow: OverflowPolicy) -> int:
    negative = side is NonFinite.NEG_INF
    if overflow == "saturate":
        end = fmt.min_finite if negative else fmt.max_finite
        return encode(end, fmt, overflow="error")
    if overflow == "error" or isinstance(fmt, IntFormat):
        raise InvalidInputError("q", f"a number within the range of {fmt.name}", brief_text(q))
    code = fmt.nan_code if overflow == "nan" else _infinity_code(fmt)
    return code | (negative << (fmt.bits - 1))


def _encode_exact(value: Fraction, fmt: FloatFormat, negative: bool) -> int:
    step = spacing(value, fmt)
    significand = int(abs(value) / step)
    # Adding the hidden bit to the field is what moves a normal number to field >= 1.
    field = floor_log2(step) - (fmt.emin - fmt.precision + 1)
    magnitude = (field << (fmt.precision - 1)) + significand
    sign = negative and (magnitude > 0 or fmt.signed_zero)
    return magnitude | (sign << (fmt.bits - 1))


def _require_rational(q: object) -> Fraction:
    if isinstance(q, Fraction):
        return q
    if isinstance(q, int) and not isinstance(q, bool):
        return Fraction(q)
    raise InvalidInputError("q", "a Fraction or an int", f"{type(q).__name__} {q!r}")
