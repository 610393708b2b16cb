"""The claim interface a second time, on Python fractions and mpmath numbers with a running error bound.

It shares no code with `ball`: field operations on fractions are Python's, elementary functions are mpmath's, and the
error of every number is carried by first-order rules with padding. mpmath promises accuracy of its functions but
proves none of it, and its interval `iv` has been seen to miss the true value, so this is an opinion, not a proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, NoReturn

import mpmath

from proofkv_verify.errors import InvalidInputError, UndecidedError

_PADDING = 16  # an elementary function of mpmath is trusted to this many units in the last place


@dataclass(frozen=True, slots=True)
class Decision:
    """Three-valued outcome of a comparison: True, False, or None when the error bounds overlap."""

    value: bool | None

    def __and__(self, other: Decision) -> Decision:
        if False in (self.value, other.value):
            return Decision(False)
        return Decision(None if None in (self.value, other.value) else True)

    def __or__(self, other: Decision) -> Decision:
        if True in (self.value, other.value):
            return Decision(True)
        return Decision(None if None in (self.value, other.value) else False)

    def __invert__(self) -> Decision:
        return Decision(None if self.value is None else not self.value)

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError("the comparison is undecided at this number of digits")
        return self.value


class Approx:
    """A number as an exact fraction, or as an mpmath number with a bound of its error."""

    __slots__ = ("error", "math", "value")

    def __init__(self, math: MpMath, value: Any, error: Any = 0) -> None:
        self.math: MpMath = math
        self.value: Any = value
        self.error: Any = error

    @property
    def exact(self) -> Fraction | None:
        """The value as a fraction where it is one, else None."""
        return self.value if isinstance(self.value, Fraction) else None

    @property
    def point(self) -> Any:
        """The value as an mpmath number of the working precision."""
        return self.math.point(self.value)

    @property
    def radius(self) -> Any:
        """Bound of |true value - point|."""
        exact = isinstance(self.value, Fraction)
        return abs(self.point) * self.math.unit if exact else self.error

    def __add__(self, other: Any) -> Approx:
        a, b = self, self.math.const(other)
        if a.exact is not None and b.exact is not None:
            return Approx(self.math, a.exact + b.exact)
        return self.math.rounded(a.point + b.point, a.radius + b.radius)

    def __mul__(self, other: Any) -> Approx:
        a, b = self, self.math.const(other)
        if a.exact is not None and b.exact is not None:
            return Approx(self.math, a.exact * b.exact)
        if 0 in (a.exact, b.exact):
            return Approx(self.math, Fraction(0))
        error = abs(a.point) * b.radius + abs(b.point) * a.radius + a.radius * b.radius
        return self.math.rounded(a.point * b.point, error)

    def __truediv__(self, other: Any) -> Approx:
        a, b = self, self.math.const(other)
        if b.exact == 0:
            raise ZeroDivisionError("division by an exact zero")
        if a.exact is not None and b.exact is not None:
            return Approx(self.math, a.exact / b.exact)
        least = abs(b.point) - b.radius
        if least <= 0:
            raise UndecidedError("a divisor may be zero at this number of digits")
        quotient = a.point / b.point
        return self.math.rounded(quotient, (a.radius + abs(quotient) * b.radius) / least)

    def __neg__(self) -> Approx:
        return Approx(self.math, -self.value, self.error)

    def __sub__(self, other: Any) -> Approx:
        return self + (-self.math.const(other))

    def __radd__(self, other: Any) -> Approx:
        return self + self.math.const(other)

    def __rmul__(self, other: Any) -> Approx:
        return self * self.math.const(other)

    def __rsub__(self, other: Any) -> Approx:
        return -self + self.math.const(other)

    def __rtruediv__(self, other: Any) -> Approx:
        return self.math.const(other) / self

    def __lt__(self, other: Any) -> Decision:
        return self._less(self.math.const(other), strict=True)

    def __le__(self, other: Any) -> Decision:
        return self._less(self.math.const(other), strict=False)

    def __gt__(self, other: Any) -> Decision:
        return ~(self <= self.math.const(other))

    def __ge__(self, other: Any) -> Decision:
        return ~(self < self.math.const(other))

    def __eq__(self, other: object) -> Decision:  # type: ignore[override]
        return (self <= other) & (self >= other)

    def __ne__(self, other: object) -> Decision:  # type: ignore[override]
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("a number has no truth value; compare it")

    def __repr__(self) -> str:
        return f"Approx({self.value})"

    def _less(self, other: Approx, *, strict: bool) -> Decision:
        if self.exact is not None and other.exact is not None:
            return Decision(self.exact < other.exact if strict else self.exact <= other.exact)
        gap = other.point - self.point
        return Decision(None if abs(gap) <= 2 * (self.radius + other.radius) else bool(gap > 0))


class MpMath:
    """The `Math` of claims at a stated number of decimal digits, in a context of its own."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self._mp = mpmath.MPContext()
        self._mp.dps = digits
        self.unit = self._mp.mpf(2) ** (1 - self._mp.prec)

    def point(self, value: Any) -> Any:
        """A fraction or mpmath number as an mpmath number of this context."""
        if isinstance(value, Fraction):
            return self._mp.mpf(value.numerator) / value.denominator
        return self._mp.mpf(value)

    def rounded(self, value: Any, error: Any) -> Approx:
        """A computed number whose inputs cost `error`, with its own rounding added."""
        return Approx(self, value, error * (1 + _PADDING * self.unit) + 2 * abs(value) * self.unit)

    def const(self, value: Any) -> Approx:
        """The exact number `value`."""
        return value if isinstance(value, Approx) else Approx(self, Fraction(value))

    def sum(self, values: Iterable[Approx]) -> Approx:
        """The sum; the empty sum is 0."""
        total = self.const(0)
        for value in values:
            total = total + value
        return total

    def max(self, *values: Any) -> Approx:
        """The largest of at least one value."""
        best = self.const(values[0])
        for value in values[1:]:
            best = self._larger(best, self.const(value))
        return best

    def min(self, *values: Any) -> Approx:
        """The smallest of at least one value."""
        return -self.max(*(-self.const(value) for value in values))

    def abs(self, value: Any) -> Approx:
        """The absolute value."""
        return self.max(value, -self.const(value))

    def where(self, condition: Decision, yes: Any, no: Any) -> Approx:
        """`yes` if the condition holds, else `no`; undecided raises `UndecidedError`."""
        return self.const(yes if condition else no)

    def exp(self, value: Any) -> Approx:
        """The exponential."""
        x = self.const(value)
        if x.exact == 0:
            return self.const(1)
        found = self._mp.exp(x.point)
        return self._elementary(found, found * self._mp.expm1(x.radius))

    def log(self, value: Any) -> Approx:
        """The natural logarithm of a number shown to be positive."""
        x = self.const(value)
        if x.exact == 1:
            return self.const(0)
        least = x.point - x.radius
        if least <= 0:
            raise UndecidedError("log: the argument may not be positive at this number of digits")
        return self._elementary(self._mp.log(x.point), x.radius / least)

    def sqrt(self, value: Any) -> Approx:
        """The square root of a number that is not negative; exact for squares of fractions."""
        x = self.const(value)
        if x.exact is not None:
            return self._exact_root(x.exact)
        if x.point + x.radius < 0:
            raise InvalidInputError("sqrt", "a non-negative number", x)
        high = self._mp.sqrt(x.point + x.radius)
        low = self._mp.sqrt(max(x.point - x.radius, 0))
        return self._elementary((low + high) / 2, (high - low) / 2)

    def _exact_root(self, value: Fraction) -> Approx:
        if value < 0:
            raise InvalidInputError("sqrt", "a non-negative number", value)
        root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
        return self.const(root) if root * root == value else self._elementary(self._mp.sqrt(self.point(value)), 0)

    def _larger(self, a: Approx, b: Approx) -> Approx:
        if a.exact is not None and b.exact is not None:
            return a if a.exact >= b.exact else b
        return Approx(self, max(a.point, b.point), max(a.radius, b.radius))

    def _elementary(self, value: Any, error: Any) -> Approx:
        return Approx(self, value, (error + abs(value) * self.unit) * _PADDING)
