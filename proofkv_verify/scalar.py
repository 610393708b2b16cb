"""The small interface in which claims are written: scalars with + - * / and comparisons, and a `Math` of functions.

The same plain function is evaluated on enclosures (`ball.Real`), on torch tensors and on z3 terms. A scalar
supports the field operations with other scalars, ints, floats (exact binary value) and fractions, and the four
order comparisons, whose results combine with `&`, `|` and `~` and go into `Math.where`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

Scalar: TypeAlias = Any  # Real, a torch tensor wrapper or a z3 term wrapper: same operators, checked at run time
Condition: TypeAlias = Any  # the result of comparing two scalars


class Math(Protocol):
    """The functions beside the operators that a claim, a premise or a true quantity may use."""

    def const(self, value: Any) -> Scalar:
        """The exact number `value`."""

    def sum(self, values: Iterable[Scalar]) -> Scalar:
        """The sum; the empty sum is 0."""

    def max(self, *values: Scalar) -> Scalar:
        """The largest of at least one value."""

    def min(self, *values: Scalar) -> Scalar:
        """The smallest of at least one value."""

    def abs(self, value: Scalar) -> Scalar:
        """The absolute value."""

    def where(self, condition: Condition, yes: Scalar, no: Scalar) -> Scalar:
        """`yes` where the condition holds, `no` where it does not."""

    def exp(self, value: Scalar) -> Scalar:
        """The exponential; `NotAlgebraicError` in z3."""

    def log(self, value: Scalar) -> Scalar:
        """The natural logarithm; `NotAlgebraicError` in z3."""

    def sqrt(self, value: Scalar) -> Scalar:
        """The square root of a non-negative number."""
