"""The levels that codes stand for: integers, or the numbers of an 8-bit float format, with our own rounding.

A grid maps float64 quotients to unsigned codes and back. torch's float8 casts are not used: what they do beyond the
largest number differs by version, and one of them turns infinity into 448.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch
from torch import Tensor

from proofkv_verify.codec import code_table
from proofkv_verify.exact import FloatFormat, NonFinite, to_float


class Grid(Protocol):
    """A finite set of levels, symmetric about 0 or starting at 0."""

    @property
    def bits(self) -> int:
        """Width of a code."""

    @property
    def low(self) -> float:
        """The least level."""

    @property
    def high(self) -> float:
        """The greatest level."""

    def encode(self, quotient: Tensor, *, nan_on_overflow: bool) -> Tensor:
        """The uint8 codes of the levels nearest to finite float64 quotients, ties to even, ends saturating or NaN."""

    def levels(self, codes: Tensor) -> Tensor:
        """The float64 levels of codes, exactly."""

    def half_gap(self, levels: Tensor) -> Tensor:
        """Half the distance to the next level away from 0: the greatest rounding error that ends at this level."""


@dataclass(frozen=True, slots=True)
class IntGrid:
    """The integers low..high; a code is the level minus low."""

    bits: int
    low: float
    high: float

    def encode(self, quotient: Tensor, *, nan_on_overflow: bool) -> Tensor:
        """See `Grid`; integers have no NaN, so `nan_on_overflow` must be False."""
        assert not nan_on_overflow
        return (quotient.round().clamp(self.low, self.high) - self.low).to(torch.uint8)

    def levels(self, codes: Tensor) -> Tensor:
        """See `Grid`."""
        return codes.double() + self.low

    def half_gap(self, levels: Tensor) -> Tensor:
        """See `Grid`."""
        return torch.full_like(levels, 0.5)


@dataclass(frozen=True, slots=True)
class FloatGrid:
    """The finite numbers of an 8-bit float format; a code is the code of the format."""

    fmt: FloatFormat

    @property
    def bits(self) -> int:
        """See `Grid`."""
        return self.fmt.bits

    @property
    def low(self) -> float:
        """See `Grid`."""
        return -self.high

    @property
    def high(self) -> float:
        """See `Grid`."""
        return to_float(self.fmt.max_finite)

    def encode(self, quotient: Tensor, *, nan_on_overflow: bool) -> Tensor:
        """See `Grid`."""
        magnitude = quotient.abs()
        step = _power(self._exponent(magnitude))
        # A power of two divides and multiplies exactly, so the only rounding is `round`, ties to even.
        rounded = (magnitude / step).round() * step
        kept = rounded.clamp(max=self.high)
        exponent = self._exponent(kept)
        significand = (kept / _power(exponent)).long()
        code = (exponent - self._least) * (1 << (self.fmt.precision - 1)) + significand
        if nan_on_overflow:
            code = torch.where(rounded > self.high, self.fmt.nan_code, code)
        return (code + torch.signbit(quotient).long() * 128).to(torch.uint8)

    def levels(self, codes: Tensor) -> Tensor:
        """See `Grid`; NaN for codes of NaN or infinity."""
        return _table(self.fmt).to(codes.device)[codes.long()]

    def half_gap(self, levels: Tensor) -> Tensor:
        """See `Grid`."""
        return _power(self._exponent(levels.nan_to_num().abs()) - 1)

    @property
    def _least(self) -> int:
        return self.fmt.emin - self.fmt.precision + 1

    def _exponent(self, magnitude: Tensor) -> Tensor:
        """Exponent of the spacing in the binade of a nonnegative float64."""
        exponent = (magnitude.view(torch.int64) >> 52) - 1023
        return (exponent - self.fmt.precision + 1).clamp(min=self._least)


def _power(exponent: Tensor) -> Tensor:
    """2^exponent from its bits: library exp2 need not be exact."""
    return ((exponent + 1023) << 52).view(torch.float64)


@cache
def _table(fmt: FloatFormat) -> Tensor:
    values = [torch.nan if isinstance(v, NonFinite) else to_float(v) for v in code_table(fmt)]
    return torch.tensor(values, dtype=torch.float64)
