"""Checks of somebody's decision procedure and of somebody's enclosures: can they be led to prove something false?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, TypeAlias

import mpmath

from proofkv_verify.numerals import brief_text

MarginRule: TypeAlias = Callable[[Sequence[float]], "bool | None"]
IntervalRule: TypeAlias = Callable[[float, float, float], "bool | None"]
Enclosure: TypeAlias = Callable[[Fraction], "tuple[Fraction, Fraction]"]
FUNCTIONS = ("exp", "log", "sqrt", "tanh")
# where mpmath's interval exp (53 bits) misses the true value
MISSED = Fraction(3893924827815215, 2**50)
POINTS = (MISSED, Fraction(1), Fraction(1, 3), Fraction(2), Fraction(10), Fraction(1, 2**30), Fraction(7, 10**9))


@dataclass(frozen=True, slots=True)
class DecisionFault:
    """Inputs on which a decision is wrong.

    Attributes:
        inputs: what was asked.
        allowed: the answers that are right.
        got: the answer that came.
    """

    inputs: str
    allowed: str
    got: str


def check_margin_rule(rule: MarginRule) -> DecisionFault | None:
    """A rule that says "every margin is positive" (True), "one is not" (False) or "unknown" (None) is sound.

    NaN and infinite margins come from overflow and prove nothing, in whatever order they stand.
    """
    sets: list[tuple[float, ...]] = [(math.nan, 0.3), (math.nan,), (math.inf, 0.3), (math.nan, -0.3), (math.nan,) * 3]
    for margins in [order for found in sets for order in permutations(found)]:
        if rule(margins) is True:
            return DecisionFault(f"margins {list(margins)}", "unknown or not all positive", "all positive")
    finite = ((0.3, 0.5), True), ((0.3, 0.0), False), ((0.3, -0.5), False), ((5e-324,), True), ((-0.0,), False)
    for margins, right in finite:
        if rule(margins) is (not right):
            return DecisionFault(f"margins {list(margins)}", f"{right} or unknown", str(not right))
    return None if rule((0.3, 0.5)) is True else DecisionFault("margins [0.3, 0.5]", "True", "unknown")


def check_interval_rule(rule: IntervalRule) -> DecisionFault | None:
    """A rule `(lower, upper, claimed)` for "the true value in [lower, upper] is at most claimed" has three values.

    With NaN, or an empty interval, nothing may be proved; inside the interval neither answer may be given.
    """
    nan, inf = math.nan, math.inf
    unknown = [(nan, 1.0, 2.0), (0.0, nan, 2.0), (nan, nan, 2.0), (2.0, 1.0, 3.0), (0.0, 1.0, 0.5), (-inf, inf, 0.5)]
    for case in unknown:
        if rule(*case) is not None:
            return _fault(case, "unknown", rule(*case))
    if rule(0.0, 1.0, nan) is True:
        return _fault((0.0, 1.0, nan), "not proved", True)
    for case, right in (((0.0, 1.0, 1.0), True), ((0.0, 1.0, 2.0), True), ((0.0, 1.0, -1e-300), False)):
        if rule(*case) is not right:
            return _fault(case, str(right), rule(*case))
    return None


def check_enclosure(
    function: str, enclose: Enclosure, points: Iterable[Fraction] = POINTS, digits: int = 120
) -> DecisionFault | None:
    """The interval that `enclose` returns for a point contains the function's value, as `digits` digits give it.

    Args:
        function: exp, log, sqrt or tanh.
        enclose: from an exact point to the exact ends of an interval.
        points: where to ask; the default list holds a point at which mpmath's own interval exp misses.
        digits: far more than the enclosure's own precision.

    Returns:
        The first interval that misses the value by more than the error of the evaluation, or None.
    """
    mp = mpmath.MPContext()
    mp.dps = digits
    for point in points:
        value = getattr(mp, function)(_number(mp, point))
        lower, upper = enclose(point)
        slack = abs(value) * mp.mpf(10) ** (4 - digits)
        if not _number(mp, lower) - slack <= value <= _number(mp, upper) + slack:
            got = f"[{brief_text(lower)}, {brief_text(upper)}]"
            return DecisionFault(f"{function} at {brief_text(point)}", f"contains {mpmath.nstr(value, 30)}", got)
    return None


def _number(mp: Any, value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def _fault(case: tuple[float, float, float], allowed: str, got: bool | None) -> DecisionFault:
    lower, upper, claimed = case
    return DecisionFault(f"value in [{lower}, {upper}], claimed {claimed}", allowed, str(got))
