"""Real numbers as exact rationals while possible and as Arb balls where not; every operation encloses.

A `Real` holds either an exact rational or a ball that contains the number meant. Field operations on two
rationals stay exact; `exp`, `log` and `sqrt` of a non-square give a ball at the working precision. Comparisons
give a three-valued `Truth`: nothing is ever decided by an overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import flint
from flint import arb, fmpq

from proofkv_verify.errors import InvalidInputError, UndecidedError
from proofkv_verify.exact import lift_float

RealLike: TypeAlias = "Real | Fraction | int | float"

_FAR = 11_000  # larger binary exponents are not written out: the text of an exact number has a longest form


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Sets the working precision of balls to `bits` inside the block only."""
    with flint.ctx.workprec(bits):
        yield


class Truth:
    """A three-valued truth: `Truth(True)`, `Truth(False)` or `Truth(None)` for undecided."""

    __slots__ = ("value",)

    def __init__(self, value: bool | None) -> None:
        self.value = value

    def __and__(self, other: Truth) -> Truth:
        if self.value is False or other.value is False:
            return Truth(False)
        return Truth(None if self.value is None or other.value is None else True)

    def __or__(self, other: Truth) -> Truth:
        return ~(~self & ~other)

    def __invert__(self) -> Truth:
        return Truth(None if self.value is None else not self.value)

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError("the comparison is undecided at this precision")
        return self.value

    def __repr__(self) -> str:
        return f"Truth({self.value})"


class Real:
    """A real number known exactly or enclosed by a ball; NaN balls enclose every number."""

    __slots__ = ("_v",)

    def __init__(self, value: RealLike | arb | fmpq) -> None:
        self._v: arb | fmpq = _raw(value)

    @property
    def exact(self) -> Fraction | None:
        """The value as a rational if it is known exactly, else None."""
        v = self._v
        return Fraction(int(v.p), int(v.q)) if isinstance(v, fmpq) else None

    @property
    def ball(self) -> arb:
        """A ball that contains the number, at the working precision."""
        return self._v if isinstance(self._v, arb) else arb(self._v)

    def is_finite(self) -> bool:
        """Says whether the enclosure is bounded (a NaN or infinite ball is not)."""
        return isinstance(self._v, fmpq) or bool(self._v.is_finite())

    def lower(self) -> Fraction | None:
        """A rational that the number is not below, or None if there is none."""
        return _end(self._v, upper=False)

    def upper(self) -> Fraction | None:
        """A rational that the number is not above, or None if there is none."""
        return _end(self._v, upper=True)

    def __add__(self, other: RealLike) -> Real:
        a, b = _pair(self, other)
        return _wrap(a + b)

    def __sub__(self, other: RealLike) -> Real:
        a, b = _pair(self, other)
        return _wrap(a - b)

    def __mul__(self, other: RealLike) -> Real:
        a, b = self._v, _raw(other)
        if (_is_zero(a) and _bounded(b)) or (_is_zero(b) and _bounded(a)):
            return Real(0)  # stays exact beside a ball, so that a term that is switched off leaves no radius
        a, b = _pair(self, other)
        return _wrap(a * b)

    def __truediv__(self, other: RealLike) -> Real:
        a, b = _pair(self, other)
        if isinstance(b, fmpq) and b == 0:
            raise ZeroDivisionError("division by an exact zero")
        return _wrap(a / b)

    def __radd__(self, other: RealLike) -> Real:
        return Real(other) + self

    def __rsub__(self, other: RealLike) -> Real:
        return Real(other) - self

    def __rmul__(self, other: RealLike) -> Real:
        return Real(other) * self

    def __rtruediv__(self, other: RealLike) -> Real:
        return Real(other) / self

    def __neg__(self) -> Real:
        return _wrap(-self._v)

    def __le__(self, other: RealLike) -> Truth:
        a, b = _pair(self, other)
        return _decide(bool(a <= b), bool(a > b))

    def __lt__(self, other: RealLike) -> Truth:
        a, b = _pair(self, other)
        return _decide(bool(a < b), bool(a >= b))

    def __ge__(self, other: RealLike) -> Truth:
        return Real(other) <= self

    def __gt__(self, other: RealLike) -> Truth:
        return Real(other) < self

    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        if not isinstance(other, Real | Fraction | int | float):
            return NotImplemented
        return (self <= other) & (self >= other)

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("a Real has no truth value; compare it")

    def __repr__(self) -> str:
        return f"Real({self._v})"


class BallMath:
    """The functions a claim may use beside + - * / and comparisons, evaluated on `Real` numbers."""

    def const(self, value: RealLike) -> Real:
        """The exact number `value` (a float means its exact binary value)."""
        return Real(value)

    def sum(self, values: Iterable[Real]) -> Real:
        """The sum; the empty sum is 0."""
        total = Real(0)
        for value in values:
            total = total + value
        return total

    def max(self, *values: RealLike) -> Real:
        """The largest of at least one value."""
        return _extremum([Real(v) for v in values], largest=True)

    def min(self, *values: RealLike) -> Real:
        """The smallest of at least one value."""
        return _extremum([Real(v) for v in values], largest=False)

    def abs(self, value: RealLike) -> Real:
        """The absolute value."""
        value = Real(value)
        return self.max(value, -value)

    def where(self, condition: Truth, yes: RealLike, no: RealLike) -> Real:
        """`yes` if the condition holds, else `no`; their hull while it is undecided."""
        a, b = Real(yes), Real(no)
        if condition.value is None:
            return _wrap(a.ball.union(b.ball))
        return a if condition.value else b

    def exp(self, value: RealLike) -> Real:
        """The exponential."""
        x = Real(value)
        return Real(1) if isinstance(x._v, fmpq) and x._v == 0 else _wrap(x.ball.exp())

    def log(self, value: RealLike) -> Real:
        """The natural logarithm; a NaN ball unless the argument is shown positive."""
        x = Real(value)
        return Real(0) if isinstance(x._v, fmpq) and x._v == 1 else _wrap(x.ball.log())

    def tanh(self, value: RealLike) -> Real:
        """The hyperbolic tangent (soft-caps of the reference; not offered to claims)."""
        return _wrap(Real(value).ball.tanh())

    def cos_sin(self, angle: RealLike) -> tuple[Real, Real]:
        """Cosine and sine of an angle in radians (rotations of the reference; not offered to claims)."""
        x = Real(angle)
        if _is_zero(x._v):
            return Real(1), Real(0)
        sin, cos = x.ball.sin_cos()
        return _wrap(cos), _wrap(sin)

    def sqrt(self, value: RealLike) -> Real:
        """The square root of a number that is not negative; exact for squares of rationals.

        A ball that reaches below zero encloses a number known to be non-negative, so its negative part is dropped.
        """
        v = Real(value)._v
        if isinstance(v, arb):
            return _wrap(v.nonnegative_part().sqrt() if bool(v.upper() >= 0) else arb.nan())
        if v < 0:
            raise InvalidInputError("sqrt", "a non-negative number", v)
        p, q = v.p.isqrt(), v.q.isqrt()
        if p * p == v.p and q * q == v.q:
            return _wrap(fmpq(p, q))
        return _wrap(arb(v).sqrt())


def _raw(value: RealLike | arb | fmpq) -> arb | fmpq:
    if isinstance(value, Real):
        return value._v
    if isinstance(value, arb | fmpq):
        return value
    if isinstance(value, float):
        value = lift_float(value, "number")
    return fmpq(value.numerator, value.denominator)


def _wrap(value: Any) -> Real:
    real = Real.__new__(Real)
    real._v = value
    return real


def _is_zero(value: arb | fmpq) -> bool:
    return isinstance(value, fmpq) and value == 0


def _bounded(value: arb | fmpq) -> bool:
    return isinstance(value, fmpq) or bool(value.is_finite())


def _pair(a: Real, b: RealLike) -> tuple[arb, arb] | tuple[fmpq, fmpq]:
    x, y = a._v, _raw(b)
    if isinstance(x, fmpq) and isinstance(y, fmpq):
        return x, y
    return (x if isinstance(x, arb) else arb(x)), (y if isinstance(y, arb) else arb(y))


def _decide(holds: bool, fails: bool) -> Truth:
    return Truth(True if holds else False if fails else None)


def _extremum(values: list[Real], *, largest: bool) -> Real:
    best = values[0]
    for value in values[1:]:
        a, b = _pair(best, value)
        if isinstance(a, fmpq):
            best = _wrap(max(a, b) if largest else min(a, b))
        else:
            best = _wrap(a.max(b) if largest else a.min(b))
    return best


def _end(value: arb | fmpq, *, upper: bool) -> Fraction | None:
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    end = value.upper() if upper else value.lower()
    if not end.is_finite():
        return None
    mantissa, exponent = end.man_exp()
    m, e = int(mantissa), int(exponent)
    if abs(e) > _FAR:
        return _far_end(m, e, upper=upper)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def _far_end(m: int, e: int, *, upper: bool) -> Fraction | None:
    """A number beyond m 2^e whose exponent fits: exponents of balls have no bound (think of exp(-10^30))."""
    if e > 0:
        return None
    if (m < 0) == upper:
        return Fraction(0)
    least = Fraction(1, 1 << (_FAR - m.bit_length()))
    return least if upper else -least
