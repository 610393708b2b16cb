"""One formula, three arithmetics: torch and z3 give what the balls enclose."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real
from proofkv_verify.errors import InvalidInputError, NotAlgebraicError
from proofkv_verify.search.smt_math import SmtMath
from proofkv_verify.search.torch_math import TorchMath

FIELD = {
    "add": lambda a, b, m: a + b,
    "subtract": lambda a, b, m: a - b,
    "multiply": lambda a, b, m: a * b,
    "divide": lambda a, b, m: a / b,
    "negate": lambda a, b, m: -a,
    "int_on_the_left": lambda a, b, m: 3 - a,
    "int_over": lambda a, b, m: 3 / b,
    "float_times": lambda a, b, m: 0.5 * a,
    "fraction_plus": lambda a, b, m: Fraction(1, 4) + a,
    "sum": lambda a, b, m: m.sum([a, b, a]),
    "empty_sum": lambda a, b, m: m.sum([]),
    "max": lambda a, b, m: m.max(a, b, 0),
    "min": lambda a, b, m: m.min(a, b, 1),
    "abs": lambda a, b, m: m.abs(a),
    "constant": lambda a, b, m: m.const(7),
    "where_le": lambda a, b, m: m.where(a <= b, a, b),
    "where_lt": lambda a, b, m: m.where(a < b, 1, 2),
    "where_ge": lambda a, b, m: m.where(a >= b, 1, 2),
    "where_gt": lambda a, b, m: m.where(a > b, 1, 2),
    "where_eq": lambda a, b, m: m.where(a == b, 1, 2),
    "where_ne": lambda a, b, m: m.where(a != b, 1, 2),
    "where_and_or_not": lambda a, b, m: m.where(((a > 0) & ~(b > 0)) | (a >= 4), a, b),
    "sqrt": lambda a, b, m: m.sqrt(m.abs(a)),
}
TRANSCENDENTAL = {
    "exp": lambda a, b, m: m.exp(a / 8),
    "log": lambda a, b, m: m.log(m.abs(a) + 1),
}
OPERANDS = [(Fraction(9, 4), Fraction(-3)), (Fraction(-5), Fraction(1, 2)), (Fraction(4), Fraction(4))]


def enclosure(formula, a, b):
    return Real(formula(Real(a), Real(b), BallMath()))


def smt_value(formula, a, b):
    """The only value that z3 allows for the formula when its inputs are variables fixed to numbers."""
    math = SmtMath()
    x, y, result = (math.variable(name) for name in ("x", "y", "result"))
    term = math.const(formula(x, y, math))
    solver = z3.Solver(ctx=math.context)
    solver.add(math.condition(x == a), math.condition(y == b), math.condition(result == term), *math.side_conditions)
    assert solver.check() == z3.sat
    value = solver.model().eval(result.value, model_completion=True)
    solver.add(result.value != value)
    assert solver.check() == z3.unsat, "the value is not determined"
    exact = value.approx(30) if z3.is_algebraic_value(value) else value
    return Fraction(exact.numerator_as_long(), exact.denominator_as_long())


@pytest.mark.parametrize("name", [*FIELD, *TRANSCENDENTAL])
def test_torch_value_is_within_rounding_of_the_ball(name):
    formula = (FIELD | TRANSCENDENTAL)[name]
    left, right = (torch.tensor([float(pair[i]) for pair in OPERANDS], dtype=torch.float64) for i in (0, 1))
    math = TorchMath()
    got = math.const(formula(math.const(left), math.const(right), math)).t.expand(len(OPERANDS))
    for index, (a, b) in enumerate(OPERANDS):
        ball, value = enclosure(formula, a, b), Fraction(got[index].item())
        slack = Fraction(1, 1 << 50) * (1 + abs(value))
        assert ball.lower() - slack <= value <= ball.upper() + slack, (a, b, value)


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("name", FIELD)
def test_smt_value_is_the_exact_value(name, operands):
    ball, value = enclosure(FIELD[name], *operands), smt_value(FIELD[name], *operands)
    if ball.exact is not None:
        assert value == ball.exact
    else:
        assert abs(value - ball.lower()) < Fraction(1, 10**15)


@pytest.mark.parametrize("name", FIELD)
def test_smt_folds_known_numbers_exactly(name):
    math = SmtMath()
    term = math.const(FIELD[name](math.const(Fraction(9, 4)), math.const(Fraction(-3)), math))
    assert term.value == enclosure(FIELD[name], Fraction(9, 4), Fraction(-3)).exact


@settings(max_examples=60, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_constant_enters_smt_as_its_binary_value(a, b):
    math = SmtMath()
    assert math.const(a).value == Fraction(a)
    assert (math.const(a) + b).value == Fraction(a) + Fraction(b)
    assert math.term(math.const(0.1).value).as_fraction() == Fraction(0.1) != Fraction(1, 10)


def test_division_records_that_the_denominator_is_not_zero():
    math = SmtMath()
    x = math.variable("x")
    x / x
    solver = z3.Solver(ctx=math.context)
    solver.add(*math.side_conditions, x.value == 0)
    assert solver.check() == z3.unsat


def test_zero_over_a_term_is_zero_and_still_needs_the_denominator():
    math = SmtMath()
    x = math.variable("x")
    assert (0 / x).value == 0
    assert len(math.side_conditions) == 1


def test_division_by_a_known_zero_is_an_error_in_smt():
    math = SmtMath()
    with pytest.raises(ZeroDivisionError, match="exact zero"):
        math.variable("x") / 0


@pytest.mark.parametrize("function", ["exp", "log"])
def test_smt_has_no_transcendental_functions(function):
    math = SmtMath()
    with pytest.raises(NotAlgebraicError, match="no z3 encoding"):
        getattr(math, function)(math.variable("x"))


def test_smt_knows_exp_of_zero_and_log_of_one():
    math = SmtMath()
    assert math.exp(0).value == 1
    assert math.log(1).value == 0


@pytest.mark.parametrize("arithmetic", ["torch", "smt"])
def test_a_branch_on_a_comparison_says_to_use_where(arithmetic):
    scalar = TorchMath().const(torch.ones(3)) if arithmetic == "torch" else SmtMath().variable("x")
    with pytest.raises(TypeError, match=r"m\.where"):
        bool(scalar > 0)
    with pytest.raises(TypeError, match=r"m\.where"):
        max(scalar, scalar)
    with pytest.raises(TypeError, match="no truth value"):
        bool(scalar)


@pytest.mark.parametrize("math", [TorchMath(), SmtMath()], ids=["torch", "smt"])
def test_text_is_no_number(math):
    with pytest.raises(InvalidInputError, match="number"):
        math.const("1/2")


def test_huge_fractions_become_infinite_in_torch():
    math = TorchMath()
    assert math.const(Fraction(10**400)).t.item() == float("inf")
    assert math.const(-Fraction(10**400)).t.item() == float("-inf")


def test_both_arithmetics_take_reals():
    assert TorchMath().const(Real(Fraction(1, 2))).t.item() == 0.5
    assert abs(TorchMath().const(BallMath().exp(1)).t.item() - 2.718281828459045) < 1e-15
    assert SmtMath().const(Real(Fraction(1, 3))).value == Fraction(1, 3)
    with pytest.raises(InvalidInputError, match="exactly known"):
        SmtMath().const(BallMath().exp(1))


def test_torch_square_root_has_derivative_zero_at_zero():
    math = TorchMath()
    x = torch.tensor([0.0, 4.0], dtype=torch.float64, requires_grad=True)
    math.sqrt(math.const(x)).t.sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_torch_values_are_differentiable_through_where():
    math = TorchMath()
    x = torch.tensor([-2.0, 3.0], dtype=torch.float64, requires_grad=True)
    scalar = math.const(x)
    math.where(scalar > 0, scalar * scalar, -scalar).t.sum().backward()
    assert x.grad.tolist() == [-1.0, 6.0]
