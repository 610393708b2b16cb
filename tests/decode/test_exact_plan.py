"""The integer program agrees with brute force, and the greedy plan is never cheaper than its optimum."""

from __future__ import annotations

import pytest
import torch

from proofkv_verify.decode.exact_plan import PlanProblem, minimum_plan
from proofkv_verify.decode.planner import brute_force, plan
from proofkv_verify.errors import InvalidInputError

LADDER = (4, 8, 16)


def problem(seed: int, units: int = 6, rivals: int = 2) -> PlanProblem:
    generator = torch.Generator().manual_seed(seed)
    parts = torch.rand(rivals, units, generator=generator, dtype=torch.float64) ** 3
    allowed = parts.sum(1) * torch.rand(rivals, generator=generator, dtype=torch.float64)
    return PlanProblem(tuple(map(tuple, parts.tolist())), tuple(allowed.tolist()), (4,) * units, LADDER)


@pytest.mark.parametrize("seed", range(6))
def test_the_integer_program_finds_the_brute_force_minimum(seed: int) -> None:
    given = problem(seed)
    found = minimum_plan(given)
    best = brute_force(LADDER, given.levels, given.feasible)
    assert found is not None
    assert best is not None
    assert given.feasible(found)
    assert sum(found) == sum(best)


@pytest.mark.parametrize("seed", range(6))
def test_the_greedy_plan_is_feasible_and_not_cheaper_than_the_minimum(seed: int) -> None:
    given = problem(seed, rivals=1)
    scores = torch.tensor(given.parts[0], dtype=torch.float64)
    greedy = plan(scores, torch.full((6,), 4), LADDER, given.allowances[0])
    found = minimum_plan(given)
    assert found is not None
    assert given.feasible(greedy.tolist())
    assert sum(found) <= int(greedy.sum())


def test_a_plan_that_needs_nothing_keeps_the_levels() -> None:
    assert minimum_plan(PlanProblem(((0.5, 0.25),), (1.0,), (8, 4), LADDER)) == (8, 4)


def test_an_allowance_of_zero_reads_everything_and_a_negative_one_is_refused() -> None:
    assert minimum_plan(PlanProblem(((0.5, 0.25),), (0.0,), (8, 4), LADDER)) == (16, 16)
    with pytest.raises(InvalidInputError, match="at least 0"):
        minimum_plan(PlanProblem(((0.5, 0.25),), (-1.0,), (8, 4), LADDER))


@pytest.mark.parametrize(
    ("parts", "allowances", "ladder"),
    [(((1.0,),), (1.0,), LADDER), (((1.0, 1.0),), (), LADDER), (((1.0, 1.0),), (1.0,), (4, 8))],
)
def test_a_malformed_problem_is_refused(
    parts: tuple[tuple[float, ...], ...], allowances: tuple[float, ...], ladder: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidInputError, match=r"plan|16"):
        PlanProblem(parts, allowances, (4, 4), ladder)
