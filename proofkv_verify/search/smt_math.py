"""The scalar interface on z3 terms over the reals: exact constants, recorded side conditions, no exp and no log.

A scalar is a rational as long as it is known, then a z3 real term. Division introduces a fresh quotient q with
q * denominator == numerator and records denominator != 0, so that SMT's free value of x/0 never plays a part.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import z3

from proofkv_verify.ball import Real
from proofkv_verify.errors import InvalidInputError, NotAlgebraicError
from proofkv_verify.exact import lift_float
from proofkv_verify.search.numbers import exact_root
from proofkv_verify.search.torch_math import NO_BRANCH

Term: TypeAlias = Any  # z3.ArithRef
SmtLike: TypeAlias = "SmtScalar | Fraction | int | float | Real"


class SmtCondition:
    """A condition over z3 terms, or one that is already known."""

    __slots__ = ("term",)

    def __init__(self, term: Any) -> None:
        self.term = term

    def __and__(self, other: SmtCondition) -> SmtCondition:
        if isinstance(self.term, bool):
            return other if self.term else self
        if isinstance(other.term, bool):
            return self if other.term else other
        return SmtCondition(z3.And(self.term, other.term))

    def __or__(self, other: SmtCondition) -> SmtCondition:
        return ~(~self & ~other)

    def __invert__(self) -> SmtCondition:
        return SmtCondition(not self.term if isinstance(self.term, bool) else z3.Not(self.term))

    def __bool__(self) -> bool:
        raise TypeError(NO_BRANCH)


class SmtScalar:
    """A real number known exactly or given by a z3 term of the query that `math` collects."""

    __slots__ = ("math", "value")

    def __init__(self, math: SmtMath, value: Fraction | Term) -> None:
        self.math = math
        self.value = value

    def __add__(self, other: SmtLike) -> SmtScalar:
        a, b = self.value, self.math.const(other).value
        if _is_number(a, 0):
            return self.math.const(other)
        return self if _is_number(b, 0) else self.math.combine(lambda x, y: x + y, a, b)

    def __sub__(self, other: SmtLike) -> SmtScalar:
        b = self.math.const(other).value
        return self if _is_number(b, 0) else self.math.combine(lambda x, y: x - y, self.value, b)

    def __mul__(self, other: SmtLike) -> SmtScalar:
        a, b = self.value, self.math.const(other).value
        if _is_number(a, 0) or _is_number(b, 0):
            return self.math.const(0)
        if _is_number(a, 1):
            return self.math.const(other)
        return self if _is_number(b, 1) else self.math.combine(lambda x, y: x * y, a, b)

    def __truediv__(self, other: SmtLike) -> SmtScalar:
        return self.math.quotient(self, self.math.const(other))

    def __radd__(self, other: SmtLike) -> SmtScalar:
        return self.math.const(other) + self

    def __rsub__(self, other: SmtLike) -> SmtScalar:
        return self.math.const(other) - self

    def __rmul__(self, other: SmtLike) -> SmtScalar:
        return self.math.const(other) * self

    def __rtruediv__(self, other: SmtLike) -> SmtScalar:
        return self.math.const(other) / self

    def __neg__(self) -> SmtScalar:
        return self * -1

    def __le__(self, other: SmtLike) -> SmtCondition:
        return self.math.compare(lambda x, y: x <= y, self, other)

    def __lt__(self, other: SmtLike) -> SmtCondition:
        return self.math.compare(lambda x, y: x < y, self, other)

    def __ge__(self, other: SmtLike) -> SmtCondition:
        return self.math.compare(lambda x, y: x >= y, self, other)

    def __gt__(self, other: SmtLike) -> SmtCondition:
        return self.math.compare(lambda x, y: x > y, self, other)

    def __eq__(self, other: object) -> SmtCondition:  # type: ignore[override]
        return self.math.compare(lambda x, y: x == y, self, other)

    def __ne__(self, other: object) -> SmtCondition:  # type: ignore[override]
        return self.math.compare(lambda x, y: x != y, self, other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value; compare it inside m.where")


class SmtMath:
    """The functions a claim may use, as z3 terms of one query.

    Attributes:
        context: the z3 context of the query (a fresh one, so that one query cannot disturb another).
        side_conditions: what must hold for the terms to mean what they say: quotients, roots, denominators != 0.
    """

    def __init__(self) -> None:
        self.context = z3.Context()
        self.side_conditions: list[Any] = []
        self._fresh = 0

    def variable(self, name: str) -> SmtScalar:
        """A free real variable."""
        return SmtScalar(self, z3.Real(name, self.context))

    def term(self, value: Fraction | Term) -> Term:
        """The z3 term of a value; a rational enters exactly, never through a decimal."""
        if isinstance(value, Fraction):
            return z3.RealVal(f"{value.numerator}/{value.denominator}", self.context)
        return value

    def condition(self, condition: SmtCondition) -> Any:
        """The z3 formula of a condition."""
        return z3.BoolVal(condition.term, self.context) if isinstance(condition.term, bool) else condition.term

    def combine(self, operation: Any, a: Any, b: Any) -> SmtScalar:
        """The result of a field operation on two values, computed at once where both are known."""
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return SmtScalar(self, operation(a, b))
        return SmtScalar(self, operation(self.term(a), self.term(b)))

    def compare(self, relation: Any, left: SmtScalar, right: Any) -> SmtCondition:
        """A condition, known at once where both sides are."""
        a, b = left.value, self.const(right).value
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return SmtCondition(relation(a, b))
        return SmtCondition(relation(self.term(a), self.term(b)))

    def quotient(self, top: SmtScalar, bottom: SmtScalar) -> SmtScalar:
        """top / bottom with the side condition bottom != 0.

        Raises:
            ZeroDivisionError: the denominator is known to be 0.
        """
        if isinstance(bottom.value, Fraction):
            if bottom.value == 0:
                raise ZeroDivisionError("division by an exact zero")
            return top * (1 / bottom.value)
        if _is_number(top.value, 0):
            self.side_conditions.append(bottom.value != 0)
            return top
        result = self._fresh_variable("quotient")
        self.side_conditions += [bottom.value != 0, result * bottom.value == self.term(top.value)]
        return SmtScalar(self, result)

    def const(self, value: Any) -> SmtScalar:
        """The exact number `value`; a float means its exact binary value."""
        if isinstance(value, SmtScalar):
            return value
        if isinstance(value, Real):
            value = _known(value)
        if isinstance(value, float):
            value = lift_float(value)
        if not isinstance(value, Fraction | int):
            raise InvalidInputError("number", "a term, an int, a float or a fraction", type(value).__name__)
        return SmtScalar(self, Fraction(value))

    def sum(self, values: Iterable[SmtLike]) -> SmtScalar:
        """The sum; the empty sum is 0."""
        total = self.const(0)
        for value in values:
            total = total + value
        return total

    def max(self, *values: SmtLike) -> SmtScalar:
        """The largest of at least one value, by case distinction."""
        best = self.const(values[0])
        for value in values[1:]:
            best = self.where(best >= value, best, value)
        return best

    def min(self, *values: SmtLike) -> SmtScalar:
        """The smallest of at least one value, by case distinction."""
        best = self.const(values[0])
        for value in values[1:]:
            best = self.where(best <= value, best, value)
        return best

    def abs(self, value: SmtLike) -> SmtScalar:
        """The absolute value, by case distinction."""
        scalar = self.const(value)
        return self.where(scalar >= 0, scalar, -scalar)

    def where(self, condition: SmtCondition, yes: SmtLike, no: SmtLike) -> SmtScalar:
        """`yes` if the condition holds, else `no`."""
        a, b = self.const(yes), self.const(no)
        if isinstance(condition.term, bool):
            return a if condition.term else b
        return SmtScalar(self, z3.If(condition.term, self.term(a.value), self.term(b.value)))

    def exp(self, value: SmtLike) -> SmtScalar:
        """The exponential, known at 0 only.

        Raises:
            NotAlgebraicError: elsewhere.
        """
        if _is_number(self.const(value).value, 0):
            return self.const(1)
        raise NotAlgebraicError("exp has no z3 encoding; state the claim in weights and ratios")

    def log(self, value: SmtLike) -> SmtScalar:
        """The natural logarithm, known at 1 only.

        Raises:
            NotAlgebraicError: elsewhere.
        """
        if _is_number(self.const(value).value, 1):
            return self.const(0)
        raise NotAlgebraicError("log has no z3 encoding; state the claim in weights and ratios")

    def sqrt(self, value: SmtLike) -> SmtScalar:
        """The square root: a fresh y >= 0 with y*y == x."""
        scalar = self.const(value)
        exact = exact_root(scalar.value) if isinstance(scalar.value, Fraction) else None
        if exact is not None:
            return SmtScalar(self, exact)
        root = self._fresh_variable("root")
        self.side_conditions += [root >= 0, root * root == self.term(scalar.value)]
        return SmtScalar(self, root)

    def _fresh_variable(self, word: str) -> Term:
        self._fresh += 1
        return z3.Real(f"{word}!{self._fresh}", self.context)


def _known(value: Real) -> Fraction:
    if value.exact is None:
        raise InvalidInputError("number", "an exactly known number", value)
    return value.exact


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, Fraction) and value == number
