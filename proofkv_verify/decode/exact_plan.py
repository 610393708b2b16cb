"""The exact minimum of the planning problem, to judge the greedy ladder by: an integer program over the units' levels.

The problem: choose a level for each unit so that for every rival the units' first-order parts, halved by each further
bit and 0 at level 16, sum to at most its allowance, with the fewest bits in all. The bound is additive over units, so a
plan is a 0-1 choice of one level a unit; z3 minimises it in exact rationals. Untrusted, like every plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import z3

from proofkv_verify.decode.pages import FULL
from proofkv_verify.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """Parts and allowances of a planning problem.

    Attributes:
        parts: of each rival's radius by each unit at its present level `[R][U]`, not negative.
        allowances: what the parts of each rival may sum to `[R]`.
        levels: present levels `[U]`; ladder: increasing levels, the last one 16.
    """

    parts: tuple[tuple[float, ...], ...]
    allowances: tuple[float, ...]
    levels: tuple[int, ...]
    ladder: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.levels) for row in self.parts) or len(self.parts) != len(self.allowances):
            raise InvalidInputError("plan", "one part for each unit and one allowance for each rival", self.parts)
        if not self.ladder or self.ladder[-1] != FULL:
            raise InvalidInputError("ladder", "16 as the last level", self.ladder)

    def left(self, rival: int, unit: int, level: int) -> Fraction:
        """The part that a unit keeps at a level."""
        if level == FULL:
            return Fraction(0)
        return Fraction(self.parts[rival][unit]) / (1 << (level - self.levels[unit]))

    def choices(self, unit: int) -> list[int]:
        """Levels that a unit may take: its own and higher rungs."""
        return sorted({self.levels[unit], *(b for b in self.ladder if b > self.levels[unit])})

    def feasible(self, chosen: Sequence[int]) -> bool:
        """Every rival's parts fit its allowance, exactly."""
        return all(
            sum((self.left(r, u, level) for u, level in enumerate(chosen)), Fraction(0)) <= Fraction(allowed)
            for r, allowed in enumerate(self.allowances)
        )


def minimum_plan(problem: PlanProblem, budget_s: float = 10.0) -> tuple[int, ...] | None:
    """Levels with the fewest bits that are feasible, or None when the solver ran out of time.

    Raises:
        InvalidInputError: no plan is feasible, not even all units at 16.
    """
    solver = z3.Optimize()
    solver.set("timeout", int(budget_s * 1000))
    takes = [{b: z3.Bool(f"u{u}_{b}") for b in problem.choices(u)} for u in range(len(problem.levels))]
    for options in takes:
        solver.add(z3.PbEq([(take, 1) for take in options.values()], 1))
    for r, allowed in enumerate(problem.allowances):
        terms = [_when(take, problem.left(r, u, b)) for u, options in enumerate(takes) for b, take in options.items()]
        solver.add(z3.Sum(terms) <= _rational(Fraction(allowed)))
    solver.minimize(z3.Sum([z3.If(take, b, 0) for options in takes for b, take in options.items()]))
    answer = solver.check()
    if answer == z3.unsat:
        raise InvalidInputError("allowances", "at least 0 for every rival", min(problem.allowances))
    if answer != z3.sat:
        return None
    model = solver.model()
    return tuple(next(b for b, take in options.items() if z3.is_true(model[take])) for options in takes)


def _when(take: z3.BoolRef, value: Fraction) -> z3.ArithRef:
    return z3.If(take, _rational(value), z3.RealVal(0))


def _rational(value: Fraction) -> z3.RatNumRef:
    return z3.Q(value.numerator, value.denominator)
