"""Exact comparison of errors with radii in bulk: no tolerance, and the worst case returned as exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.exact import Extended, decode
from proofkv_verify.formats import BF16, FP16, FP32, FP64, FloatFormat

_FORMATS: dict[torch.dtype, FloatFormat] = {
    torch.float64: FP64,
    torch.float32: FP32,
    torch.float16: FP16,
    torch.bfloat16: BF16,
}
_BITS = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


@dataclass(frozen=True, slots=True)
class Violation:
    """One element whose error exceeds its radius, exactly; `index` is its place in the tensor."""

    index: tuple[int, ...]
    original: Fraction
    restored: Extended
    radius: Extended


def first_violation(original: Tensor, restored: Tensor, radius: Tensor) -> Violation | None:
    """The first finite original, in row-major order, with |original - restored| > radius; None when there is none.

    A restored NaN or infinity, and a radius that is NaN or negative, is a violation, unless the radius is +inf.

    Args:
        original: fp32, fp16 or bf16; entries that are not finite are skipped.
        restored: same shape, fp64, fp32, fp16 or bf16.
        radius: same shape, float64 or narrower.

    Returns:
        Decided exactly: the difference is formed as an unevaluated sum of two float64 numbers, which is exact for
        numbers of at most 53 bits whose difference neither overflows nor has bits below 2^-1074; all three tensors
        are read from their bits, so flush-to-zero modes do not matter.
    """
    if not original.shape == restored.shape == radius.shape:
        raise ShapeError("restored, radius", f"shape {tuple(original.shape)}", (restored.shape, radius.shape))
    live = torch.isfinite(original)
    x, y, r = (read_bits(t).flatten() for t in (original, restored, radius))
    bad = _exceeds(x, y, r) & live.flatten() & (r != torch.inf)
    where = bad.nonzero()
    return _violation(original, restored, radius, int(where[0])) if len(where) else None


def read_bits(x: Tensor) -> Tensor:
    """The float64 numbers of a floating tensor, from its bits: subnormals survive flush-to-zero modes.

    float64 tensors are returned as they are.
    """
    fmt = _format(x)
    if fmt is FP64:
        return x
    bits = x.contiguous().view(_BITS[fmt.bits]).long() & ((1 << fmt.bits) - 1)
    width = fmt.precision - 1
    field = (bits >> width) & ((1 << (fmt.bits - 1 - width)) - 1)
    fraction = bits & ((1 << width) - 1)
    significand = torch.where(field > 0, fraction + (1 << width), fraction).double()
    scale = ((field.clamp(min=1) + (fmt.emin - fmt.precision + 1023)) << 52).view(torch.float64)
    value = torch.where(bits >> (fmt.bits - 1) > 0, -significand, significand) * scale
    return torch.where(torch.isfinite(x), value, x.double())


def _exceeds(x: Tensor, y: Tensor, r: Tensor) -> Tensor:
    # Knuth's two-sum: difference + rest == x - y exactly. A radius is a float64 number, so the exact |x - y| exceeds
    # it exactly when the rounded one does, or equals it with a rest on the far side.
    difference = x - y
    back = difference - x
    rest = (x - (difference - back)) - (y + back)
    magnitude = difference.abs()
    outward = rest * torch.sign(difference) > 0
    return ~(magnitude <= r) | ((magnitude == r) & outward)


def _violation(original: Tensor, restored: Tensor, radius: Tensor, flat: int) -> Violation:
    index: list[int] = []
    left = flat
    for size in reversed(original.shape):
        left, i = divmod(left, size)
        index.insert(0, i)
    x, y, r = (_exact(t.reshape(-1)[flat]) for t in (original, restored, radius))
    assert isinstance(x, Fraction)
    assert not isinstance(y, Fraction) or not isinstance(r, Fraction) or abs(x - y) > r
    return Violation(tuple(index), x, y, r)


def _exact(x: Tensor) -> Extended:
    fmt = _format(x)
    return decode(int(x.view(_BITS[fmt.bits])) & ((1 << fmt.bits) - 1), fmt)


def _format(x: Tensor) -> FloatFormat:
    if x.dtype not in _FORMATS:
        raise InvalidInputError("tensor", "dtype fp64, fp32, fp16 or bf16", x.dtype)
    return _FORMATS[x.dtype]
