from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real, Truth, precision
from proofkv_verify.errors import InvalidInputError, UndecidedError

M = BallMath()
RATIONALS = st.fractions(min_value=-100, max_value=100, max_denominator=1000)
THIRD = Real(Fraction(1, 3))
NAN = Real(arb.nan())


def contains(real: Real, value: Fraction) -> bool:
    lower, upper = real.lower(), real.upper()
    return lower is not None and upper is not None and lower <= value <= upper


@given(RATIONALS, RATIONALS)
def test_field_operations_on_rationals_stay_exact(a: Fraction, b: Fraction) -> None:
    assert (Real(a) + b).exact == a + b
    assert (a - Real(b)).exact == a - b
    assert (Real(a) * Real(b)).exact == a * b
    assert (a * Real(b)).exact == a * b
    assert (a + Real(b)).exact == a + b
    assert (-Real(a)).exact == -a
    if b != 0:
        assert (Real(a) / b).exact == a / b
        assert (a / Real(b)).exact == a / b


@given(RATIONALS, RATIONALS)
def test_ball_operations_enclose_the_rational_result(a: Fraction, b: Fraction) -> None:
    x = Real(arb(a.numerator) / a.denominator)
    assert contains(x + b, a + b)
    assert contains(x * b, a * b)
    assert contains(x - b, a - b)


def test_division_by_an_exact_zero_raises_and_by_a_ball_around_zero_encloses_everything() -> None:
    with pytest.raises(ZeroDivisionError):
        Real(1) / 0
    assert not (Real(1) / (M.exp(1) - M.exp(1))).is_finite()


def test_an_exact_zero_factor_leaves_no_radius_unless_the_other_factor_is_unbounded() -> None:
    assert (Real(0) * M.sqrt(2)).exact == 0
    assert (M.sqrt(2) * 0).exact == 0
    assert not (Real(0) * NAN).is_finite()
    assert not (NAN * 0).is_finite()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_non_finite_float_is_refused(value: float) -> None:
    with pytest.raises(InvalidInputError, match="number"):
        Real(value)


def test_a_float_means_its_binary_value() -> None:
    assert Real(0.1).exact == Fraction(3602879701896397, 36028797018963968)


@given(RATIONALS, RATIONALS)
def test_comparisons_of_rationals_are_decided(a: Fraction, b: Fraction) -> None:
    x, y = Real(a), Real(b)
    assert ((x < y).value, (x <= y).value, (x > y).value, (x >= y).value) == (a < b, a <= b, a > b, a >= b)
    assert ((x == y).value, (x != y).value) == (a == b, a != b)


def test_overlapping_balls_decide_nothing() -> None:
    x, y = M.exp(1), M.exp(1)
    assert [(x < y).value, (x <= y).value, (x == y).value] == [None, None, None]
    with pytest.raises(UndecidedError):
        bool(x < y)
    assert bool(x < 3)
    assert not bool(x < 2)


def test_nan_decides_nothing() -> None:
    assert [(NAN < 1).value, (NAN >= 1).value, (NAN == NAN).value] == [None, None, None]
    assert (NAN.lower(), NAN.upper(), NAN.exact) == (None, None, None)


def test_equality_with_another_type_is_python_inequality() -> None:
    assert Real(1).__eq__("1") is NotImplemented


@pytest.mark.parametrize("a", [True, False, None])
@pytest.mark.parametrize("b", [True, False, None])
def test_truth_follows_strong_kleene_logic(a: bool | None, b: bool | None) -> None:
    both = False if a is False or b is False else None if a is None or b is None else True
    either = True if a is True or b is True else None if a is None or b is None else False
    assert (Truth(a) & Truth(b)).value is both
    assert (Truth(a) | Truth(b)).value is either


def test_a_real_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="compare"):
        bool(Real(1))


@given(st.lists(RATIONALS, min_size=1, max_size=5))
def test_extrema_sum_and_abs_of_rationals_are_exact(values: list[Fraction]) -> None:
    reals = [Real(v) for v in values]
    assert M.max(*reals).exact == max(values)
    assert M.min(*reals).exact == min(values)
    assert M.sum(reals).exact == sum(values)
    assert M.abs(reals[0]).exact == abs(values[0])
    assert M.const(values[0]).exact == values[0]


def test_extrema_of_balls_enclose() -> None:
    assert (M.max(M.exp(0), M.exp(1), 2) > Fraction(27, 10)).value
    assert (M.min(M.exp(1), 2) == 2).value
    assert not M.max(NAN, 5).is_finite()


def test_where_takes_the_hull_while_undecided() -> None:
    assert M.where(Truth(True), 1, 2).exact == 1
    assert M.where(Truth(False), 1, 2).exact == 2
    hull = M.where(Truth(None), 1, 2)
    assert contains(hull, Fraction(1))
    assert contains(hull, Fraction(2))


def test_exp_log_sqrt_are_exact_where_that_is_known() -> None:
    assert M.exp(0).exact == 1
    assert M.log(1).exact == 0
    assert M.sqrt(Fraction(9, 4)).exact == Fraction(3, 2)
    assert M.exp(1).exact is None


def test_sqrt_of_two_is_enclosed_at_every_precision() -> None:
    for bits in (20, 53, 200):
        with precision(bits):
            root = M.sqrt(2)
            assert root.lower() ** 2 < 2 < root.upper() ** 2  # type: ignore[operator]


def test_sqrt_refuses_a_negative_rational_and_encloses_around_zero() -> None:
    with pytest.raises(InvalidInputError, match="sqrt"):
        M.sqrt(-1)
    around_zero = M.sqrt(M.exp(1) - M.exp(1))
    assert contains(around_zero, Fraction(0))
    assert not M.sqrt(-M.exp(1)).is_finite()


def test_log_of_a_number_not_shown_positive_is_unbounded() -> None:
    assert not M.log(0).is_finite()
    assert not M.log(-1).is_finite()


def test_tanh_and_rotations_enclose() -> None:
    assert (M.tanh(1) > Fraction(76159, 100000)).value
    assert (M.tanh(1) < Fraction(76160, 100000)).value
    cos, sin = M.cos_sin(0)
    assert (cos.exact, sin.exact) == (1, 0)
    cos, sin = M.cos_sin(1)
    assert contains(cos * cos + sin * sin, Fraction(1))


def test_precision_is_local() -> None:
    with precision(30):
        coarse = M.exp(1)
    fine = M.exp(1)
    width = lambda r: r.upper() - r.lower()  # noqa: E731
    assert width(fine) < width(coarse)


def test_representations_show_the_value() -> None:
    assert repr(Real(Fraction(1, 3))) == "Real(1/3)"
    assert repr(Truth(None)) == "Truth(None)"


@pytest.mark.parametrize("sign", [1, -1])
def test_ends_of_numbers_beyond_all_exponents_stay_outward(sign: int) -> None:
    tiny = sign * M.exp(-(10**30))
    lower, upper = tiny.lower(), tiny.upper()
    assert lower is not None
    assert upper is not None
    assert (lower, upper) == (min(lower, 0), max(upper, 0))
    assert 0 < upper - lower < Fraction(1, 2**8000)
    huge = sign * M.exp(10**30)
    assert huge.lower() is None
    assert huge.upper() is None


def test_an_end_next_to_zero_becomes_zero_or_a_number_beyond_it() -> None:
    tiny = Real(arb(2) ** -20000)
    lower, upper = tiny.lower(), tiny.upper()
    assert lower == 0
    assert upper is not None
    assert Fraction(1, 2**20000) < upper < Fraction(1, 2**8000)
    assert (-tiny).lower() == -upper
    assert (-tiny).upper() == 0
