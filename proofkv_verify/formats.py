"""Number formats of 64 bits and fewer as data: their constants are exact rationals.

`exact` re-exports the public names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

Specials = Literal["ieee", "fn", "fnuz", "finite"]


class NonFinite(Enum):
    """A value that is not a number on the real line; never mixed with `Fraction` by accident."""

    NAN = "nan"
    POS_INF = "inf"
    NEG_INF = "-inf"


Extended = Fraction | NonFinite


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format: sign bit, exponent field, `precision - 1` fraction bits.

    Args:
        name: the registry key.
        bits: width of a code.
        precision: significand bits p, the hidden bit included.
        emin: exponent of the smallest normal number, 2^emin.
        specials: `ieee` (top exponent field is inf and NaN), `fn` (only the all-ones codes are NaN,
            no inf), `fnuz` (only the code of -0 is NaN, no inf, one zero), `finite` (neither).
    """

    name: str
    bits: int
    precision: int
    emin: int
    specials: Specials

    @property
    def emax(self) -> int:
        """The exponent of the largest finite number."""
        top = (1 << (self.bits - self.precision)) - 2
        return self.emin + top - (self.specials == "ieee")

    @property
    def has_inf(self) -> bool:
        """Whether some code is an infinity."""
        return self.specials == "ieee"

    @property
    def has_nan(self) -> bool:
        """Whether some code is a NaN."""
        return self.specials != "finite"

    @property
    def signed_zero(self) -> bool:
        """Whether -0 has a code of its own."""
        return self.specials != "fnuz"

    @property
    def max_finite(self) -> Fraction:
        """The largest finite number."""
        significand = (1 << self.precision) - (2 if self.specials == "fn" else 1)
        return significand * power_of_two(self.emax - self.precision + 1)

    @property
    def min_finite(self) -> Fraction:
        """The smallest finite number, -max_finite."""
        return -self.max_finite

    @property
    def min_normal(self) -> Fraction:
        """The smallest positive normal number, 2^emin."""
        return power_of_two(self.emin)

    @property
    def min_subnormal(self) -> Fraction:
        """The smallest positive number, 2^(emin - p + 1)."""
        return power_of_two(self.emin - self.precision + 1)

    @property
    def unit_roundoff(self) -> Fraction:
        """The unit roundoff u = 2^-p; half of what torch calls eps."""
        return power_of_two(-self.precision)

    @property
    def nan_code(self) -> int:
        """The code an encoder of this package writes for NaN; -1 when there is none."""
        sign = 1 << (self.bits - 1)
        quiet = ((sign - 1) >> (self.precision - 2)) << (self.precision - 2)
        return {"ieee": quiet, "fn": sign - 1, "fnuz": sign, "finite": -1}[self.specials]


@dataclass(frozen=True, slots=True)
class IntFormat:
    """An integer format: two's complement when `low` < 0; only [low, high] is valid."""

    name: str
    bits: int
    low: int
    high: int
    has_inf: bool = False
    has_nan: bool = False

    @property
    def max_finite(self) -> Fraction:
        """The largest number."""
        return Fraction(self.high)

    @property
    def min_finite(self) -> Fraction:
        """The smallest number."""
        return Fraction(self.low)


Format = FloatFormat | IntFormat

FP64 = FloatFormat("fp64", 64, 53, -1022, "ieee")
FP32 = FloatFormat("fp32", 32, 24, -126, "ieee")
FP16 = FloatFormat("fp16", 16, 11, -14, "ieee")
BF16 = FloatFormat("bf16", 16, 8, -126, "ieee")
FP8_E4M3FN = FloatFormat("fp8_e4m3fn", 8, 4, -6, "fn")
FP8_E4M3FNUZ = FloatFormat("fp8_e4m3fnuz", 8, 4, -7, "fnuz")
FP8_E5M2 = FloatFormat("fp8_e5m2", 8, 3, -14, "ieee")
FP4_E2M1 = FloatFormat("fp4_e2m1", 4, 2, 0, "finite")
INT8 = IntFormat("int8", 8, -128, 127)
INT8_SYMMETRIC = IntFormat("int8_symmetric", 8, -127, 127)
UINT8 = IntFormat("uint8", 8, 0, 255)
INT4 = IntFormat("int4", 4, -8, 7)
INT4_SYMMETRIC = IntFormat("int4_symmetric", 4, -7, 7)
UINT4 = IntFormat("uint4", 4, 0, 15)

FLOAT_FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {f.name: f for f in (FP64, FP32, FP16, BF16, FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP4_E2M1)}
)
INT_FORMATS: Mapping[str, IntFormat] = MappingProxyType(
    {f.name: f for f in (INT8, INT8_SYMMETRIC, UINT8, INT4, INT4_SYMMETRIC, UINT4)}
)
FORMATS: Mapping[str, Format] = MappingProxyType({**FLOAT_FORMATS, **INT_FORMATS})


def power_of_two(exponent: int) -> Fraction:
    """The number 2^exponent, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)
