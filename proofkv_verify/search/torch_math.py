"""The scalar interface on batches: one scalar is a float64 tensor [batch], differentiable and not rigorous.

Used to screen and to climb only. A value here is the nearest-rounded float64 evaluation of the formula, so nothing is
decided by it: the exact checker judges every case that a search wants to keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

import torch

from proofkv_verify.ball import Real
from proofkv_verify.errors import InvalidInputError

TorchLike: TypeAlias = "TorchScalar | torch.Tensor | Fraction | int | float | Real"

NO_BRANCH = (
    "a comparison has no truth value here; write m.where(condition, yes, no) in place of `if`, max() or sorted()"
)


class TorchCondition:
    """The result of comparing two batched scalars: a bool tensor [batch]."""

    __slots__ = ("mask",)

    def __init__(self, mask: torch.Tensor) -> None:
        self.mask = mask

    def __and__(self, other: TorchCondition) -> TorchCondition:
        return TorchCondition(self.mask & other.mask)

    def __or__(self, other: TorchCondition) -> TorchCondition:
        return TorchCondition(self.mask | other.mask)

    def __invert__(self) -> TorchCondition:
        return TorchCondition(~self.mask)

    def __bool__(self) -> bool:
        raise TypeError(NO_BRANCH)


class TorchScalar:
    """A batched scalar: float64 tensor of shape [batch], or [] for a constant."""

    __slots__ = ("t",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.t = tensor

    def __add__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(self.t + _tensor(other))

    def __sub__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(self.t - _tensor(other))

    def __mul__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(self.t * _tensor(other))

    def __truediv__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(self.t / _tensor(other))

    def __radd__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(_tensor(other) + self.t)

    def __rsub__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(_tensor(other) - self.t)

    def __rmul__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(_tensor(other) * self.t)

    def __rtruediv__(self, other: TorchLike) -> TorchScalar:
        return TorchScalar(_tensor(other) / self.t)

    def __neg__(self) -> TorchScalar:
        return TorchScalar(-self.t)

    def __le__(self, other: TorchLike) -> TorchCondition:
        return TorchCondition(self.t <= _tensor(other))

    def __lt__(self, other: TorchLike) -> TorchCondition:
        return TorchCondition(self.t < _tensor(other))

    def __ge__(self, other: TorchLike) -> TorchCondition:
        return TorchCondition(self.t >= _tensor(other))

    def __gt__(self, other: TorchLike) -> TorchCondition:
        return TorchCondition(self.t > _tensor(other))

    def __eq__(self, other: object) -> TorchCondition:  # type: ignore[override]
        return TorchCondition(self.t == _tensor(other))

    def __ne__(self, other: object) -> TorchCondition:  # type: ignore[override]
        return TorchCondition(self.t != _tensor(other))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a scalar has no truth value; compare it inside m.where")


class TorchMath:
    """The functions a claim may use, on batched float64 tensors."""

    def const(self, value: TorchLike) -> TorchScalar:
        """The number `value`, rounded to float64 where it is not one."""
        return TorchScalar(_tensor(value))

    def sum(self, values: Iterable[TorchLike]) -> TorchScalar:
        """The sum; the empty sum is 0."""
        total = TorchScalar(_tensor(0))
        for value in values:
            total = total + value
        return total

    def max(self, *values: TorchLike) -> TorchScalar:
        """The largest of at least one value."""
        best = _tensor(values[0])
        for value in values[1:]:
            best = torch.maximum(best, _tensor(value))
        return TorchScalar(best)

    def min(self, *values: TorchLike) -> TorchScalar:
        """The smallest of at least one value."""
        best = _tensor(values[0])
        for value in values[1:]:
            best = torch.minimum(best, _tensor(value))
        return TorchScalar(best)

    def abs(self, value: TorchLike) -> TorchScalar:
        """The absolute value."""
        return TorchScalar(_tensor(value).abs())

    def where(self, condition: TorchCondition, yes: TorchLike, no: TorchLike) -> TorchScalar:
        """`yes` where the condition holds, `no` where it does not."""
        return TorchScalar(torch.where(condition.mask, _tensor(yes), _tensor(no)))

    def exp(self, value: TorchLike) -> TorchScalar:
        """The exponential."""
        return TorchScalar(torch.exp(_tensor(value)))

    def log(self, value: TorchLike) -> TorchScalar:
        """The natural logarithm; NaN below zero."""
        return TorchScalar(torch.log(_tensor(value)))

    def sqrt(self, value: TorchLike) -> TorchScalar:
        """The square root; NaN below zero."""
        return TorchScalar(_SafeRoot.apply(_tensor(value)))  # type: ignore[no-untyped-call]


class _SafeRoot(torch.autograd.Function):
    """sqrt whose derivative at zero is 0 in place of infinity, so that a flat start does not poison the climb."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, value: torch.Tensor) -> torch.Tensor:
        root = value.sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        (root,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return torch.where(root > 0, grad / (2 * root), torch.zeros_like(root))


def _tensor(value: object) -> torch.Tensor:
    if isinstance(value, TorchScalar):
        return value.t
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64)
    if isinstance(value, Real):
        value = value.exact if value.exact is not None else float(value.ball.mid())
    if isinstance(value, Fraction | int | float):
        return torch.tensor(_float(value), dtype=torch.float64)
    raise InvalidInputError("number", "a scalar, an int, a float or a fraction", type(value).__name__)


def _float(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
