"""The algebra under the proof sheets: identities by sympy, inequalities by z3."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import sympy
import z3

from proofkv_verify.bounds.registry import BOUNDS

PROOFS = Path(__file__).parents[2] / "proofs"
TIMEOUT_MS = 20_000


@cache
def script(slug: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"derivation_{slug}", PROOFS / f"{slug}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_zero(expression: sympy.Expr) -> bool:
    return sympy.cancel(sympy.together(expression)) == 0


def answer(*formulas: z3.BoolRef) -> str:
    steps = ("simplify", "purify-arith", "elim-term-ite", "solve-eqs", "qfnra-nlsat")
    solver = z3.Then(*steps).solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*formulas)
    return str(solver.check())


IDENTITIES = [(slug, name) for slug in BOUNDS for name in script(slug).IDENTITIES]
QUERIES = [(slug, name) for slug in BOUNDS for name in script(slug).QUERIES]


@pytest.mark.parametrize(("slug", "name"), IDENTITIES)
def test_identity_of_the_sheet_holds(slug: str, name: str) -> None:
    assert is_zero(script(slug).IDENTITIES[name])


@pytest.mark.parametrize(("slug", "name"), QUERIES)
def test_inequality_of_the_sheet_has_premises_that_hold_and_no_violation(slug: str, name: str) -> None:
    premises, violation = script(slug).QUERIES[name]
    assert answer(*premises) == "sat"
    assert answer(*premises, violation) == "unsat"


@pytest.mark.parametrize("slug", BOUNDS)
def test_every_sheet_has_a_derivation_that_checks_something(slug: str) -> None:
    assert script(slug).IDENTITIES
    assert script(slug).QUERIES


def test_a_slip_in_an_identity_is_noticed() -> None:
    k, P = sympy.symbols("k P", positive=True)  # noqa: N806 (the mass of a set)
    assert not is_zero(1 + (k**2 - 1) * P - (k + 1) ** 2 * P * (1 - P) - (1 - k * P) ** 2)


@pytest.mark.parametrize(
    ("slug", "name", "dropped"),
    [
        ("softmax_tv_hinge_upper", "step 4", 4),  # E <= k
        ("softmax_tv_odds_upper", "n = 2, the whole statement", 5),
        ("quantizer_step_upper", "the whole statement", 5),  # x <= x_high
        ("softmax_tv_mean_upper", "step 3", 4),  # a <= 1
        ("softmax_tv_cell_upper", "step 3, token by token", 2),  # x <= 1
    ],
)
def test_an_inequality_without_one_of_its_hypotheses_is_violated(slug: str, name: str, dropped: int) -> None:
    premises, violation = script(slug).QUERIES[name]
    assert answer(*premises[:dropped], *premises[dropped + 1 :], violation) == "sat"
