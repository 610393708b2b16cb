"""Whatever an engine proposes, `inside` makes the premises hold exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance, view
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.inside import inside
from proofkv_verify.search.numbers import exact_root, length, on_circle, root_up, shorter
from proofkv_verify.search.samplers import SPACES
from proofkv_verify.search.strategies import instances

FAST = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def broken_premises(instance):
    """Names of the premises that are not shown to hold."""
    kind, math = kind_named(instance.kind), BallMath()
    full = view(instance, kind, math, hidden=True)
    conditions = [*kind.known_premises(full, math), *kind.hidden_premises(full, math)]
    return [name for name, condition in conditions if condition.value is not True]


def scrambled(instance, numbers):
    """The same structure with every number replaced."""
    source = iter(numbers * 200)

    def fill(value):
        return tuple(fill(entry) for entry in value) if isinstance(value, tuple) else next(source)

    return replace(instance, fields={name: fill(value) for name, value in instance.fields.items()})


@pytest.mark.parametrize("kind", SPACES)
def test_scrambled_numbers_are_moved_into_the_premises(kind):
    numbers = st.lists(st.fractions(-50, 50, max_denominator=97), min_size=7, max_size=13)

    @FAST
    @given(instances(kind), numbers)
    def holds(instance, values):
        assert broken_premises(inside(scrambled(instance, values))) == []

    holds()


@pytest.mark.parametrize("kind", SPACES)
def test_an_instance_inside_stays_as_it_is(kind):
    @FAST
    @given(instances(kind))
    def holds(instance):
        assert inside(instance) == instance

    holds()


def test_kinds_without_a_space_are_refused():
    with pytest.raises(InvalidInputError, match="kind"):
        inside(Instance("element_error", {}))


@FAST
@given(st.fractions(0, 10**6, max_denominator=10**6))
def test_root_up_is_an_upper_bound_that_is_nearly_the_root(value):
    root = root_up(value)
    assert root * root >= value
    if exact_root(value) is None:
        assert (root * (1 - Fraction(1, 1 << 50))) ** 2 < value
    else:
        assert root * root == value


@pytest.mark.parametrize("value", [Fraction(1, 1 << 2000), Fraction(3, 1 << 2001), Fraction(1 << 2001), Fraction(0)])
def test_root_up_keeps_its_precision_at_any_size(value):
    root = root_up(value)
    assert root * root >= value
    assert root == 0 or (root * (1 - Fraction(1, 1 << 50))) ** 2 < value


def test_negative_numbers_have_no_root():
    assert exact_root(Fraction(-1)) is None
    assert exact_root(Fraction(9, 16)) == Fraction(3, 4)
    assert isqrt(8) == 2
    assert exact_root(Fraction(8)) is None


@FAST
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_on_circle_gives_points_of_the_circle(cosine, sine):
    c, s = on_circle(Fraction(cosine), Fraction(sine))
    assert c * c + s * s == 1


def test_on_circle_keeps_exact_points():
    assert on_circle(Fraction(3, 5), Fraction(-4, 5)) == (Fraction(3, 5), Fraction(-4, 5))
    assert on_circle(Fraction(-1), Fraction(0)) == (-1, 0)


@FAST
@given(st.fractions())
def test_shorter_numbers_are_shorter(value):
    for candidate in shorter(value):
        assert (length(candidate), abs(candidate)) < (length(value), abs(value))
