"""Assertions shared by the tests of kinds: truths against plain mpmath, and premises by name."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.check import check_number
from proofkv_verify.kinds import Instance, view
from proofkv_verify.mp_truth import true_quantity
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.verdict import Inconclusive
from tests.quality.witnesses import exact

_FINE = mpmath.MPContext()
_FINE.dps = 120


def truth(data: Instance, bits: int = 200) -> Real:
    """The reference's true quantity at a precision, with no premise asked."""
    kind = kind_named(data.kind)
    with precision(bits):
        return Real(kind.truth(view(data, kind, BallMath(), hidden=True), BallMath()))


def ends(real: Real, bits: int) -> tuple[Fraction, Fraction]:
    """Both ends of a bounded enclosure, read at a precision (they are rounded outward to it)."""
    with precision(bits):
        lower, upper = real.lower(), real.upper()
    assert lower is not None, f"{real} has no lower end"
    assert upper is not None, f"{real} has no upper end"
    return lower, upper


def broken_premise(data: Instance) -> str | None:
    """The name of the premise for which the checker refuses to judge, else None."""
    verdict = check_number(data, Fraction(0)).verdict
    text = "the premise does not hold: "
    if isinstance(verdict, Inconclusive) and verdict.reason.startswith(text):
        return verdict.reason.removeprefix(text)
    return None


def changed(data: Instance, **fields: Any) -> Instance:
    """The instance with fields replaced (short literals, as in witnesses)."""
    return replace(data, fields={**data.fields, **{name: exact(value) for name, value in fields.items()}})


def assert_truth_matches_mpmath(data: Instance) -> None:
    """The reference's enclosure at 200 bits contains the plain formula's value up to 1e-50 of its size."""
    plain = true_quantity(data, 120)
    slack = max(1, abs(plain)) * _FINE.mpf(10) ** -50
    low, high = (_FINE.mpf(end.numerator) / end.denominator for end in ends(truth(data), 200))
    assert low - slack <= plain <= high + slack, f"{data}: reference [{low}, {high}], plain {plain}"
    assert high - low <= max(1, abs(plain)) * _FINE.mpf(10) ** -40, f"{data}: wide enclosure [{low}, {high}]"
