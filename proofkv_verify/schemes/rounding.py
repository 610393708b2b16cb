"""Outward rounding of tensors: how scales are stored and how radii leave, with the proofs of their slack.

All arithmetic of the built-in schemes is float64 on data of at most 24 significant bits, so a few rounding errors of
relative size 2^-53 are the whole difference to real numbers; `inflate` covers them.
"""

from __future__ import annotations

from types import MappingProxyType

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError

DTYPES = MappingProxyType({"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16})
DTYPE_NAMES = MappingProxyType({dtype: name for name, dtype in DTYPES.items()})
SLACK = 1 + 2.0**-40
"""Relative slack of every radius: more than 2^12 float64 roundings."""
FLUSH = 2.0**-122
"""Absolute slack of every coded radius: eight fp32 or bf16 subnormals read or written as 0 by a flushing CPU mode."""
_BITS = MappingProxyType({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64})
# Subnormal fp32 and bf16 scales vanish where subnormals are flushed; fp16 is converted bit by bit and keeps its own.
_LEAST_SCALE = MappingProxyType({torch.float32: 2.0**-126, torch.bfloat16: 2.0**-126, torch.float16: 2.0**-24})


def dtype_named(name: str, parameter: str = "dtype") -> torch.dtype:
    """The torch dtype of "fp32", "fp16" or "bf16".

    Raises:
        InvalidInputError: another name.
    """
    if name not in DTYPES:
        raise InvalidInputError(parameter, f"one of {', '.join(DTYPES)}", name)
    return DTYPES[name]


def largest(dtype: torch.dtype) -> float:
    """The largest finite number of a floating dtype, exactly."""
    return float(torch.finfo(dtype).max)


def round_up(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A number of `dtype` that is >= x, next to x or equal to it; infinite where none is finite.

    Args:
        x: float64, any shape, no NaN.
        dtype: a narrower floating dtype.
    """
    near = x.to(dtype)
    bits = near.view(_BITS[near.element_size()])
    above = torch.where(near == 0, 1, torch.where(near > 0, bits + 1, bits - 1))
    return torch.where(near.double() < x, above.to(bits.dtype).view(dtype), near)


def round_down(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A number of `dtype` that is <= x; see `round_up`."""
    return -round_up(-x, dtype)


def store_scale(x: Tensor, dtype: torch.dtype, *, up: bool) -> Tensor:
    """A scale as stored: rounded up or to nearest, then cut to [least, largest], so never 0, infinite or flushed.

    Args:
        x: float64, >= 0, no NaN.
        dtype: dtype of the stored scale.
        up: whether to round up (no element saturates then) or to nearest even.
    """
    least = _LEAST_SCALE[dtype]
    cut = x.clamp(least, largest(dtype))
    # Rounding to nearest below a binade's first number can cross the least scale only upwards: the cut stays.
    return round_up(cut, dtype) if up else cut.to(dtype)


def store_offset(x: Tensor, dtype: torch.dtype) -> Tensor:
    """An offset as stored: rounded down, cut to the finite range."""
    top = largest(dtype)
    return round_down(x.clamp(-top, top), dtype)


def inflate(radius: Tensor) -> Tensor:
    """Upper bound of the real-number result behind a float64 sum or product of few nonnegative terms.

    Args:
        radius: float64, >= 0; infinite stays infinite and NaN becomes infinite.

    Returns:
        radius * (1 + 2^-40): outward for up to 2^12 roundings of relative size 2^-53 each.
    """
    return torch.nan_to_num(radius * SLACK, nan=torch.inf, posinf=torch.inf)


def norm_up(box: Tensor) -> Tensor:
    """The Euclidean norm over the last axis is at most the returned number.

    Args:
        box: float64, >= 0, at most 2^11 entries on the last axis, each 0 or in [2^-500, 2^500] or infinite.
    """
    return inflate((box * box).sum(-1).sqrt())


def difference_up(a: Tensor, b: Tensor) -> Tensor:
    """|a - b| of each pair is at most the returned float64 number; infinite where either is not finite.

    Exactly 0 where both have the same bits; else subtraction errs by at most 2^-53 of the result, and `FLUSH` covers
    subnormals that a flushing CPU mode reads as 0.
    """
    distance = inflate((a.double() - b.double()).abs()) + FLUSH
    if a.dtype != b.dtype:
        return distance
    kind = _BITS[a.element_size()]
    same = (a.contiguous().view(kind) == b.contiguous().view(kind)) & torch.isfinite(a)
    return torch.where(same, 0.0, distance)


def cast_finite(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x in another dtype, finite numbers cut to its finite range first; NaN and infinity pass."""
    if x.dtype == dtype:
        return x.clone()
    top = largest(dtype)
    return torch.where(torch.isfinite(x), x.double().clamp(-top, top), x.double()).to(dtype)


def storable(value: float, dtype: torch.dtype, name: str) -> float:
    """The value itself, if `dtype` holds it exactly.

    Raises:
        InvalidInputError: it does not, or the value is not finite.
    """
    stored = torch.tensor(value, dtype=torch.float64).to(dtype)
    if not bool(torch.isfinite(stored)) or float(stored) != value:
        raise InvalidInputError(name, f"a finite number of {DTYPE_NAMES[dtype]}", value)
    return value
