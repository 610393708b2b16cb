"""The error model of the fast path, and arithmetic on float64 tensors that rounds outward.

Assumed of torch on CPU and CUDA:

1. elementwise + - * / and sqrt of float32 and float64 are IEEE 754, round to nearest, subnormals kept; a sum or matrix
   product is any order of such additions and (fused) products. `ieee_arithmetic` refuses flush-to-zero mode and
   matrix products of lower precision (TF32, bfloat16), and switches autocast off.
2. `torch.exp` and `torch.expm1` are within `EXP_ULPS` = 2 units in the last place, so within 4 u relative, for normal
   results, and within the smallest normal number where the result is subnormal; both map 0 to their exact value.

The tests check 2 on a grid in float32 against float64 and in float64 against Arb balls; a slow test covers every
float32 number in [-104, 0] for exp and every non-negative one below overflow for expm1.

A sum of n non-negative terms in any order is off by at most gamma_n = n u / (1 - n u) of itself.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError

EXP_ULPS = 2
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Model:
    """The constants of one dtype.

    Attributes:
        dtype: float32 or float64.
        unit: unit roundoff u: a rounded operation is off by at most u relative.
        tiny: smallest normal number: an operation that underflows is off by at most this.
        cap: exp(-cap) is below `tiny`, so a weight with a larger exponent is within 2 `tiny` of the computed one.
    """

    dtype: torch.dtype
    unit: Fraction
    tiny: Fraction
    cap: int

    @property
    def exp_error(self) -> Fraction:
        """Relative error of exp and expm1."""
        return 2 * EXP_ULPS * self.unit

    @property
    def weight_error(self) -> Fraction:
        """Relative error of exp(fl(s - max)) against exp(s - max).

        The subtraction is off by u |s - max| <= u cap, which the exponential turns into a relative error, and
        exp adds its own; 1.001 covers the products of the two.
        """
        return (self.cap + 2 * EXP_ULPS) * self.unit * Fraction(1001, 1000)


FP32 = Model(torch.float32, Fraction(1, 2**24), Fraction(1, 2**126), 88)
FP64 = Model(torch.float64, Fraction(1, 2**53), Fraction(1, 2**1022), 709)


def model_of(dtype: torch.dtype) -> Model:
    """The constants of float32 or float64."""
    return FP32 if dtype == torch.float32 else FP64


@functools.lru_cache(maxsize=4096)
def gamma(n: int, unit: Fraction) -> Fraction:
    """gamma_n = n u / (1 - n u).

    Raises:
        InvalidInputError: n u >= 1/2, where the model says nothing.
    """
    if 2 * n * unit >= 1:
        raise InvalidInputError("length of a sum", f"less than {int(1 / (2 * unit))} terms", n)
    return n * unit / (1 - n * unit)


@functools.lru_cache(maxsize=4096)
def float_above(value: Fraction, dtype: torch.dtype = torch.float64) -> float:
    """The least number of the dtype (float32 or float64) that is not below the rational; inf if there is none."""
    near = _nearest(value, dtype)
    if math.isinf(near) or Fraction(near) >= value:
        return near if near > 0 or math.isfinite(near) else -torch.finfo(dtype).max
    return float(torch.nextafter(torch.tensor(near, dtype=dtype), torch.tensor(math.inf, dtype=dtype)).item())


def float_below(value: Fraction, dtype: torch.dtype = torch.float64) -> float:
    """The largest number of the dtype that is not above the rational."""
    return -float_above(-value, dtype)


def _nearest(value: Fraction, dtype: torch.dtype) -> float:
    try:
        return float(torch.tensor(float(value), dtype=torch.float64).to(dtype).item())
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def up(x: Tensor) -> Tensor:
    """The next float64 above: an upper bound of a result that was rounded to nearest."""
    return torch.nextafter(x, x.new_tensor(math.inf))


def down(x: Tensor) -> Tensor:
    """The next float64 below: a lower bound of a result that was rounded to nearest."""
    return torch.nextafter(x, x.new_tensor(-math.inf))


def scaled_up(x: Tensor, factor: Fraction) -> Tensor:
    """An upper bound of x * factor, for x >= 0 and factor >= 0."""
    return up(x * float_above(factor))


def scaled_down(x: Tensor, factor: Fraction) -> Tensor:
    """A lower bound of x * factor, for x >= 0 and factor >= 0."""
    return down(x * float_below(factor)).clamp(min=0)


def returned_above(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A float64 tensor as the dtype, rounded up; NaN becomes +inf."""
    x = torch.where(torch.isnan(x), math.inf, x)
    near = x.to(dtype)
    return torch.where(near.double() < x, torch.nextafter(near, near.new_tensor(math.inf)), near)


def returned_below(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A float64 tensor as the dtype, rounded down; NaN becomes -inf."""
    return -returned_above(-x, dtype)


def ieee_arithmetic(function: Callable[P, R]) -> Callable[P, R]:
    """Runs a function without autograd and autocast, after checking that the arithmetic is the assumed one.

    Raises:
        InvalidInputError: subnormals are flushed to zero, or float32 matrix products may use less than float32.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _require_ieee()
        given = (*args, *kwargs.values())  # an autocast missed here would round matrix products to 16 bits
        device = next((a.device.type for a in given if isinstance(a, Tensor)), "cpu")
        with torch.no_grad(), _without_autocast(device):
            return function(*args, **kwargs)

    return run


def _without_autocast(device: str) -> AbstractContextManager[object]:
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


def _require_ieee() -> None:
    if sys.float_info.min / 2 == 0:
        raise InvalidInputError("torch.set_flush_denormal", "off: subnormal numbers are kept", "on")
    if torch.get_float32_matmul_precision() != "highest":
        got = torch.get_float32_matmul_precision()
        raise InvalidInputError("torch.set_float32_matmul_precision", "highest", got)
    if torch.backends.cuda.matmul.allow_tf32:
        raise InvalidInputError("torch.backends.cuda.matmul.allow_tf32", "False", "True")
