from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.rope import Pairing, Rope, cos_sin, planes, rotate
from tests.reference.facts import ends
from tests.reference.instances import FACT, SMALL, vectors

M = BallMath()
TINY = Fraction(1, 10**30)
PAIRINGS = st.sampled_from(["half_split", "interleaved"])
POSITIONS = st.integers(0, 1 << 20)


@st.composite
def ropes(draw: st.DrawFn) -> Rope:
    theta = draw(st.sampled_from([Fraction(10_000), Fraction(100_000), Fraction(1), Fraction(3, 2)]))
    factor = draw(st.sampled_from([Fraction(1), Fraction(11386, 10000)]))
    return Rope(theta, 2 * draw(st.integers(0, 2)), draw(PAIRINGS), factor)


def reals(values: list[Fraction]) -> list[Real]:
    return [Real(v) for v in values]


def inner(a: list[Real], b: list[Real]) -> Real:
    return M.sum(x * y for x, y in zip(a, b, strict=True))


def assert_close(a: Real, b: Real) -> None:
    """Two enclosures of one number: they overlap, and both are narrow."""
    assert (M.abs(a - b) <= TINY * (1 + M.abs(a))).value is not False, f"{a} and {b}"
    assert (M.abs(a - b) < Fraction(1, 10**6) * (1 + M.abs(a))).value, f"{a} and {b} are wide"


def by_complex_numbers(vector: list[Fraction], rope: Rope, position: int) -> list[Any]:
    """Each plane as one complex number times exp(i angle), with mpmath at 60 digits."""
    with mpmath.workdps(60):
        turned = [mpmath.mpf(v.numerator) / v.denominator for v in vector]
        half = rope.rotary_dim // 2
        for j in range(half):
            theta = mpmath.mpf(rope.theta.numerator) / rope.theta.denominator
            angle = position * theta ** (-mpmath.mpf(2 * j) / rope.rotary_dim)
            first, second = (j, j + half) if rope.pairing == "half_split" else (2 * j, 2 * j + 1)
            number = mpmath.mpc(turned[first], turned[second]) * mpmath.expj(angle)
            scale = mpmath.mpf(rope.factor.numerator) / rope.factor.denominator
            turned[first], turned[second] = number.real * scale, number.imag * scale
        return turned


@FACT
@given(ropes(), vectors(5, SMALL), POSITIONS)
def test_rotation_is_multiplication_by_a_complex_unit_in_each_plane(
    rope: Rope, vector: list[Fraction], position: int
) -> None:
    with precision(160):
        turned = rotate(reals(vector), rope, position)
    for real, plain in zip(turned, by_complex_numbers(vector, rope, position), strict=True):
        lower, upper = ends(real, 160)
        with mpmath.workdps(60):
            low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (lower, upper))
            slack = mpmath.mpf(10) ** -40
            assert low - slack <= plain <= high + slack
        assert upper - lower < Fraction(1, 10**30)


@FACT
@given(vectors(4, SMALL), st.integers(0, 1000))
def test_the_two_pairings_are_one_rotation_up_to_a_permutation(vector: list[Fraction], position: int) -> None:
    half_split, interleaved = (Rope(Fraction(10_000), 4, p) for p in ("half_split", "interleaved"))
    order = [0, 2, 1, 3]  # half-split plane j is (j, j + 2); interleaved plane j is (2j, 2j + 1)
    turned = rotate(reals(vector), half_split, position)
    other = rotate(reals([vector[i] for i in order]), interleaved, position)
    for i, real in enumerate(other):
        assert_close(real, turned[order[i]])


@FACT
@given(ropes(), vectors(5, SMALL), vectors(5, SMALL), POSITIONS, st.integers(0, 1000))
def test_the_dot_product_depends_on_the_distance_of_positions_only(
    rope: Rope, a: list[Fraction], b: list[Fraction], position: int, shift: int
) -> None:
    with precision(200):
        here = inner(rotate(reals(a), rope, position), rotate(reals(b), rope, 7))
        there = inner(rotate(reals(a), rope, position + shift), rotate(reals(b), rope, 7 + shift))
        assert_close(here, there)


@FACT
@given(ropes(), vectors(5, SMALL), POSITIONS)
def test_a_rotation_multiplies_the_norm_of_the_rotary_part_by_the_factor(
    rope: Rope, vector: list[Fraction], position: int
) -> None:
    with precision(160):
        turned = rotate(reals(vector), rope, position)[: rope.rotary_dim]
        before = inner(reals(vector)[: rope.rotary_dim], reals(vector)[: rope.rotary_dim])
        assert_close(inner(turned, turned), before * rope.factor * rope.factor)


@FACT
@given(ropes(), vectors(6, SMALL), POSITIONS)
def test_coordinates_beyond_rotary_dim_stay_exact_and_unscaled(
    rope: Rope, vector: list[Fraction], position: int
) -> None:
    turned = rotate(reals(vector), rope, position)
    assert [real.exact for real in turned[rope.rotary_dim :]] == vector[rope.rotary_dim :]


def test_position_zero_changes_nothing_exactly_but_for_the_factor() -> None:
    vector = [Fraction(1, 3), Fraction(-2), Fraction(5)]
    for factor in (Fraction(1), Fraction(3, 2)):
        turned = rotate(reals(vector), Rope(Fraction(10_000), 2, factor=factor), 0)
        assert [real.exact for real in turned] == [vector[0] * factor, vector[1] * factor, vector[2]]


def test_the_first_plane_turns_by_one_radian_a_position_and_later_ones_slower() -> None:
    first, second = cos_sin(Rope(Fraction(10_000), 4), 1)
    assert (first[0] - M.cos_sin(1)[0] == 0).value is not False
    assert (second[1] > Fraction(9999, 10**6)).value  # sin(1/100)
    assert (second[1] < Fraction(1, 100)).value


def test_planes_cover_each_rotary_coordinate_once_in_the_declared_pairing() -> None:
    assert planes(Rope(Fraction(10_000), 6)) == [(0, 3), (1, 4), (2, 5)]
    assert planes(Rope(Fraction(10_000), 6, "interleaved")) == [(0, 1), (2, 3), (4, 5)]
    assert planes(Rope(Fraction(10_000), 0)) == []


def test_the_wrong_pairing_gives_another_dot_product() -> None:
    e0, e2 = reals([Fraction(i == 0) for i in range(4)]), reals([Fraction(i == 2) for i in range(4)])
    dots = {}
    for pairing in ("half_split", "interleaved"):
        rope = Rope(Fraction(10_000), 4, pairing)
        dots[pairing] = inner(rotate(e2, rope, 1), rotate(e0, rope, 0))
    assert (dots["half_split"] < Fraction(-8, 10)).value  # -sin(1)
    assert dots["interleaved"].exact == 0


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"theta": Fraction(0)}, "theta"),
        ({"theta": Fraction(-1)}, "theta"),
        ({"rotary_dim": 3}, "rotary_dim"),
        ({"rotary_dim": -2}, "rotary_dim"),
        ({"pairing": "neox"}, "pairing"),
    ],
)
def test_an_impossible_embedding_is_bad_input(changes: dict[str, Any], name: str) -> None:
    fields: dict[str, Any] = {"theta": Fraction(10_000), "rotary_dim": 4, **changes}
    with pytest.raises(InvalidInputError) as raised:
        Rope(**fields)
    assert raised.value.name == name


@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
def test_a_vector_shorter_than_rotary_dim_is_bad_input(pairing: Pairing) -> None:
    with pytest.raises(InvalidInputError, match="vector"):
        rotate(reals([Fraction(1)]), Rope(Fraction(10_000), 2, pairing), 1)
