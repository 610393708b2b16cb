"""The facts that every bound of one instance must pass, as assertions that print their operands exactly."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.check import check_claim
from proofkv_verify.kinds import Instance, view
from proofkv_verify.mp_math import MpMath
from proofkv_verify.reference.registry import KINDS
from proofkv_verify.verdict import Inconclusive, Verified
from tests.quality.witnesses import exact
from tests.reference.facts import ends, truth


def bound_value(slug: str, data: Instance, bits: int = 200) -> Real:
    """The bound on an instance's known data."""
    with precision(bits):
        return Real(BOUNDS[slug](view(data, KINDS[data.kind], BallMath(), hidden=False), BallMath()))


def bound_fraction(slug: str, data: Instance) -> Fraction:
    """The bound where it is rational."""
    found = bound_value(slug, data).exact
    assert found is not None, f"{slug} is irrational on {data}"
    return found


def true_fraction(data: Instance) -> Fraction:
    """The true quantity where it is rational."""
    found = truth(data).exact
    assert found is not None, f"the truth is irrational on {data}"
    return found


def assert_contains_truth(slug: str, data: Instance) -> None:
    """Verified, or an equality of irrational numbers that no precision decides."""
    verdict = check_claim(BOUNDS[slug], data).verdict
    undecided = Inconclusive("undecided at 2048 bits")
    assert isinstance(verdict, Verified) or verdict == undecided, f"{slug} on {data}: {verdict}"
    if verdict == undecided:
        gap = abs(ends(bound_value(slug, data), 200)[0] - ends(truth(data), 200)[0])
        assert gap < Fraction(1, 10**9), f"{slug} on {data}: undecided although the gap is {gap}"


def assert_precisions_overlap(slug: str, data: Instance) -> None:
    """The enclosures at 64 and at 256 bits have a number in common, and the finer one is not wider."""
    coarse, fine = (ends(bound_value(slug, data, bits), bits) for bits in (64, 256))
    assert max(coarse[0], fine[0]) <= min(coarse[1], fine[1]), f"{slug} on {data}: {coarse} and {fine}"
    assert fine[1] - fine[0] <= coarse[1] - coarse[0], f"{slug} on {data}: {coarse} and {fine}"


def assert_mpmath_overlaps(slug: str, data: Instance) -> None:
    """The bound evaluated by mpmath at 60 digits meets the ball at 200 bits."""
    math = MpMath(60)
    other = math.const(BOUNDS[slug](view(data, KINDS[data.kind], math, hidden=False), math))
    low, high = (math.point(end) for end in ends(bound_value(slug, data), 200))
    assert low <= other.point + other.radius, f"{slug} on {data}: {other} below {low}"
    assert other.point - other.radius <= high, f"{slug} on {data}: {other} above {high}"


def assert_equal(a: Real, b: Real) -> None:
    """Two evaluations of one number: equal rationals, or enclosures that differ by less than 1e-40 of their size."""
    if a.exact is not None and b.exact is not None:
        assert a.exact == b.exact, f"{a} and {b}"
        return
    with precision(200):
        gap = BallMath().abs(a - b)
        assert (gap <= Fraction(1, 10**40) * (1 + BallMath().abs(a))).value, f"{a} and {b}"


def assert_not_below(a: Real, b: Real) -> None:
    """`a >= b`, up to an equality that balls cannot decide."""
    with precision(200):
        assert (a >= b - Fraction(1, 10**40) * (1 + BallMath().abs(b))).value, f"{a} < {b}"


def with_fields(data: Instance, **fields: Any) -> Instance:
    """The instance with fields replaced."""
    return replace(data, fields={**data.fields, **{name: exact(value) for name, value in fields.items()}})


def with_params(data: Instance, **params: Any) -> Instance:
    """The instance with parameters replaced."""
    return replace(data, params={**data.params, **params})


def grown(data: Instance, name: str, by: Fraction) -> Iterator[Instance]:
    """The instance with one entry of a field larger, for each entry in turn."""
    value = data.fields[name]
    if not isinstance(value, tuple):
        yield with_fields(data, **{name: value + by})
        return
    for i, entry in enumerate(value):
        yield with_fields(data, **{name: [*value[:i], entry + by, *value[i + 1 :]]})


def corners(radii: tuple[Fraction, ...]) -> Iterator[list[Fraction]]:
    """Every vector with entries plus or minus the radii."""
    if not radii:
        yield []
        return
    for tail in corners(radii[1:]):
        yield [radii[0], *tail]
        yield [-radii[0], *tail]
