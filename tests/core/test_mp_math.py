from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.errors import InvalidInputError, UndecidedError
from proofkv_verify.mp_math import Approx, Decision, MpMath

M = MpMath(40)
RATIONALS = st.fractions(min_value=-50, max_value=50, max_denominator=97)


def encloses(number: Approx, real: Real) -> bool:
    """The 40-digit number and the ball have a value in common."""
    low, high = number.point - number.radius, number.point + number.radius
    return bool(M.point(real.lower()) <= high and low <= M.point(real.upper()))


@given(RATIONALS, RATIONALS)
def test_mp_field_operations_on_rationals_stay_exact(a: Fraction, b: Fraction) -> None:
    x = M.const(a)
    assert [(x + b).exact, (x - b).exact, (x * b).exact] == [a + b, a - b, a * b]
    assert [(b + x).exact, (b - x).exact, (b * x).exact] == [a + b, b - a, a * b]
    assert [M.max(x, b).exact, M.min(x, b).exact, M.abs(x).exact] == [max(a, b), min(a, b), abs(a)]
    if a and b:
        assert [(x / b).exact, (b / x).exact] == [a / b, b / a]


@given(RATIONALS, RATIONALS.filter(bool))
def test_mp_and_arb_agree_on_a_formula_with_every_function(a: Fraction, b: Fraction) -> None:
    def formula(m: Any) -> Any:
        root = m.sqrt(m.const(2) + a * a)
        spread = m.exp(m.const(b) / 40) - root / m.const(b) + m.abs(root - 3) * root
        return m.min(m.max(spread, root), 1000) + m.log(root)

    with precision(400):
        assert encloses(formula(M), formula(BallMath()))


def test_mp_error_bounds_cover_the_error_at_more_digits() -> None:
    coarse, fine = MpMath(20), MpMath(80)
    for m_low, m_high in [(coarse.sqrt(2), fine.sqrt(2)), (coarse.exp(-700), fine.exp(-700))]:
        square_low, square_high = m_low * m_low / 3 - m_low, m_high * m_high / 3 - m_high
        assert abs(square_low.point - square_high.point) <= square_low.radius
        assert square_low.radius > square_high.radius > 0


def test_mp_sqrt_is_exact_on_squares_and_clamps_noise_at_zero() -> None:
    assert M.sqrt(Fraction(9, 4)).exact == Fraction(3, 2)
    noise = M.sqrt(M.exp(1) - M.exp(1))
    assert noise.point - noise.radius <= 0 <= noise.point
    for negative in (M.const(-1), -M.exp(1)):
        with pytest.raises(InvalidInputError, match="sqrt"):
            M.sqrt(negative)


def test_mp_exact_zeros_ones_and_products_stay_exact() -> None:
    assert [M.exp(0).exact, M.log(1).exact, (M.exp(1) * 0).exact, M.sum([]).exact] == [1, 0, 0, 0]


def test_mp_comparisons_are_three_valued() -> None:
    e, also_e = M.exp(1), M.exp(1)
    assert [(e < also_e).value, (e >= also_e).value, (e == also_e).value, (e != also_e).value] == [None] * 4
    assert [(e > 2).value, (e < 2).value, (e <= 3).value, (M.const(2) == 2).value] == [True, False, True, True]
    with pytest.raises(UndecidedError):
        M.where(e < also_e, 1, 0)
    assert M.where(e < 3, 1, 0).exact == 1
    with pytest.raises(TypeError, match="compare"):
        bool(e)
    assert repr(M.const(1)) == "Approx(1)"


@pytest.mark.parametrize("a", [True, False, None])
@pytest.mark.parametrize("b", [True, False, None])
def test_mp_decisions_follow_strong_kleene_logic(a: bool | None, b: bool | None) -> None:
    both = False if a is False or b is False else None if a is None or b is None else True
    either = True if a is True or b is True else None if a is None or b is None else False
    assert [(Decision(a) & Decision(b)).value, (Decision(a) | Decision(b)).value] == [both, either]


def test_mp_divisions_and_logarithms_near_zero_are_undecided() -> None:
    nothing = M.exp(1) - M.exp(1)
    with pytest.raises(ZeroDivisionError):
        M.const(1) / 0
    with pytest.raises(UndecidedError):
        1 / nothing
    with pytest.raises(UndecidedError):
        M.log(nothing)
