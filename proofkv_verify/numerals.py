"""Exact numbers as text: `3`, `5*2^-9`, `1/3`; never a decimal.

`exact` re-exports the public names.
"""

from __future__ import annotations

import re
from fractions import Fraction

from proofkv_verify.errors import InvalidInputError

MAX_DIGITS = 4096
"""Most decimal digits of an integer inside exact text (below the limit of Python's own reader)."""
MAX_EXPONENT = 1 << 15
"""Largest |e| in the text m*2^e; a binary64 number needs 1074."""

# 2^13600 has 4095 decimal digits.
_MAX_BITS = 13_600
_INTEGER = r"(?:0|-?[1-9][0-9]*)"
_TEXT = re.compile(rf"(?P<top>{_INTEGER})(?:\*2\^(?P<exponent>{_INTEGER})|/(?P<bottom>[1-9][0-9]*))?")

_LIMITS = f"at most {MAX_DIGITS} digits and an exponent within {MAX_EXPONENT}"


def format_exact(q: Fraction) -> str:
    """The one text of a rational: `3`, `5*2^-9` (odd factor) or `1/3` (lowest terms).

    Returns:
        Canonical text: an integer in decimal, else a dyadic number as m*2^e with m odd and e < 0,
        else p/q. Equal numbers have equal texts.

    Raises:
        InvalidInputError: beyond MAX_DIGITS or MAX_EXPONENT.
    """
    top, bottom = q.numerator, q.denominator
    dyadic = bottom & (bottom - 1) == 0
    exponent = bottom.bit_length() - 1 if dyadic else 0
    widest = max(top.bit_length(), 0 if dyadic else bottom.bit_length())
    if widest > _MAX_BITS or exponent > MAX_EXPONENT:
        raise InvalidInputError("q", _LIMITS, f"{widest} bits, exponent -{exponent}")
    if bottom == 1:
        return str(top)
    return f"{top}*2^-{exponent}" if dyadic else f"{top}/{bottom}"


def parse_exact(text: str, name: str = "text") -> Fraction:
    """The rational that an exact text states; decimals, exponents of ten and blanks are refused.

    Args:
        text: an integer, m*2^e or p/q in ASCII digits; what is not canonical (`2/4`, `4*2^-1`) is
            read too, and `format_exact` writes it in its one form.
        name: how messages call it.

    Raises:
        InvalidInputError: another form, more than MAX_DIGITS digits, or |e| > MAX_EXPONENT.
    """
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInputError(name, "an integer, m*2^e or p/q", repr(text)[:80])
    top, exponent, bottom = match.group("top", "exponent", "bottom")
    longest = max(len(part.lstrip("-")) for part in (top, exponent or "", bottom or ""))
    if longest > MAX_DIGITS or abs(int(exponent or "0")) > MAX_EXPONENT:
        raise InvalidInputError(name, _LIMITS, text[:80])
    scale = int(exponent or "0")
    return Fraction(int(top) << max(scale, 0), int(bottom or "1") << max(-scale, 0))


def brief_text(q: Fraction) -> str:
    """A short text of a rational for messages: exact when short, else its size in powers of two."""
    bits = max(q.numerator.bit_length(), q.denominator.bit_length())
    if bits <= 128:
        return format_exact(q)
    sign = "-" if q < 0 else ""
    return f"about {sign}2^{q.numerator.bit_length() - q.denominator.bit_length()}"
