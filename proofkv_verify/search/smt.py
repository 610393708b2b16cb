"""SMT: asks z3 for exact data that breaks a claim, over the reals, at growing sizes; the checker replays every model.

A query is premises (known, hidden, side conditions of quotients and roots) and the violation. `unsat` is evidence at
its size and form only; `unknown` and timeouts are reported and never read as anything. Some queries fix a part of the
data (positions of the tilts at their ends, integer data): their `unsat` is evidence for that part only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError, NotAlgebraicError
from proofkv_verify.kinds import Instance, Kind, View
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.forms import refuted
from proofkv_verify.search.inside import inside
from proofkv_verify.search.result import Clock, Found
from proofkv_verify.search.smt_math import SmtMath, SmtScalar
from proofkv_verify.search.smt_templates import Template, templates

_LIMITS_S = (0.2, 1.0, 5.0, 25.0)
_WORDS = {"unsat": "unsat", "vacuous": "premises cannot hold", "sat": "sat, but the model does not replay"}
_VACUITY_S = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """Formulas of one query and the variables whose values make an instance."""

    math: SmtMath
    premises: tuple[tuple[str, Any], ...]
    side_conditions: tuple[Any, ...]
    violation: Any
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status "sat", "unsat", "unknown" or "vacuous", and the instance that a model gave."""

    status: str
    instance: Instance | None = None


def search_smt(claim: Claim, clock: Clock, seed: int) -> Found:
    """Asks every template with a short limit, then those still unknown with longer ones, until the clock is over."""
    tally: dict[str, list[Template]] = {}
    pending = list(templates(claim.kind))
    for limit in _LIMITS_S:
        unknown: list[Template] = []
        for template in pending:
            if clock.over():
                unknown.append(template)
                continue
            try:
                query = build_query(claim, template)
            except (NotAlgebraicError, TypeError) as error:
                return Found(clock.cases, None, None, f"not applicable: {error}")
            except (AttributeError, InvalidInputError, IndexError, ZeroDivisionError):
                continue  # the claim is not about data of this form
            answer = ask(query, template, min(limit, max(clock.left(), 0.05)), seed)
            if answer.instance is not None and refuted(claim, answer.instance):
                clock.count(1)
                return Found(clock.cases, answer.instance, None, _note(tally))
            clock.count(answer.status == "unsat")
            kept = unknown if answer.status == "unknown" else tally.setdefault(_WORDS[answer.status], [])
            kept.append(template)
        pending = unknown
    if pending:
        tally["unknown or not asked for want of time"] = pending
    return Found(clock.cases, None, None, _note(tally) or "not applicable: no form of the data fits the claim")


def build_query(claim: Claim, template: Template) -> Query:
    """The query "premises and violation" of a claim on a template.

    Raises:
        NotAlgebraicError: the claim needs exp or log.
        TypeError: the claim branches on a scalar.
        AttributeError, InvalidInputError: the claim is not about data of this form.
    """
    kind, math = kind_named(claim.kind), SmtMath()
    fields = {name: _symbols(value, math) for name, value in template.fields.items()}
    known, full = (_view(kind, template, fields, math, hidden=hidden) for hidden in (False, True))
    claimed = math.const(claim(known, math))
    truth = math.const(kind.truth(full, math))
    conditions = [*kind.known_premises(full, math), *kind.hidden_premises(full, math), *template.extra(full, math)]
    premises = tuple((name, math.condition(condition)) for name, condition in conditions)
    broken = (claimed > 0) & (truth <= 0) if kind.relation == "decision" else truth > claimed
    return Query(math, premises, tuple(math.side_conditions), math.condition(broken), fields)


def ask(query: Query, template: Template, seconds: float, seed: int) -> Answer:
    """Asks z3; "vacuous" if not even the premises can hold together."""
    solver = _solver(query, seed)
    solver.add(query.violation)
    result = _check(solver, seconds)
    if result == z3.sat:
        return Answer("sat", _instance(query, template, solver.model()))
    if result != z3.unsat:
        return Answer("unknown")
    return Answer("unsat" if _check(_solver(query, seed), _VACUITY_S) != z3.unsat else "vacuous")


def _solver(query: Query, seed: int) -> Any:
    solver = z3.Solver(ctx=query.math.context)
    solver.set("random_seed", seed % (1 << 30))
    solver.add(*(formula for _, formula in query.premises), *query.side_conditions)
    return solver


def _check(solver: Any, seconds: float) -> Any:
    solver.set("timeout", max(int(seconds * 1000), 1))
    # No timer thread here: a second thread that drops the last reference to a z3 object corrupts its context.
    try:
        return solver.check()
    except z3.Z3Exception:
        return z3.unknown


def _view(kind: Kind, template: Template, fields: dict[str, Any], math: SmtMath, *, hidden: bool) -> View:
    values = {**kind.params, **template.params, **({"sum_to_one": True} if "sum_to_one" in kind.params else {})}
    for item in kind.fields:
        if item.name in fields and (hidden or not item.hidden):
            values[item.name] = fields[item.name]
    return kind.derive(View(kind.name, values), math)


def _symbols(value: Any, math: SmtMath) -> Any:
    if isinstance(value, tuple):
        return [_symbols(entry, math) for entry in value]
    return math.variable(value) if isinstance(value, str) else math.const(value)


def _instance(query: Query, template: Template, model: Any) -> Instance:
    """The model's numbers as rationals (algebraic ones rounded), moved into the premises exactly."""
    fields = {name: _rational(value, model) for name, value in query.fields.items()}
    return inside(Instance(template.kind, fields, template.params))


def _rational(value: Any, model: Any) -> Any:
    if isinstance(value, list):
        return tuple(_rational(entry, model) for entry in value)
    return _number(value, model)


def _number(scalar: SmtScalar, model: Any) -> Fraction:
    if isinstance(scalar.value, Fraction):
        return scalar.value
    found = model.eval(scalar.value, model_completion=True)
    if z3.is_algebraic_value(found):
        found = found.approx(40)
    return Fraction(found.numerator_as_long(), found.denominator_as_long())


def _note(tally: dict[str, list[Template]]) -> str:
    """Counts, with the sizes at which nothing was restricted by name."""
    parts = []
    for status, asked in tally.items():
        general = [template.name for template in asked if template.general]
        named = f" (unrestricted: {'; '.join(general)})" if general else ""
        parts.append(f"{status}: {len(asked)} queries{named}")
    return ", ".join(parts)
