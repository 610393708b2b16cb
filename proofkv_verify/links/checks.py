"""Checks every link of the table: whatever it names exists, says the same thing everywhere, and no gap is silent."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.claims import Claim
from proofkv_verify.errors import ProofkvError
from proofkv_verify.links.index import STATUSES, TABLE, Entry, Index, Statement
from proofkv_verify.links.lean_source import ALLOWED_AXIOMS, EXPORT, Sources, read_sources
from proofkv_verify.reference.registry import KINDS

NOT_EXPORTED = f"axioms unchecked: no {EXPORT}, which Lean writes"
THEORY = "docs/theory.md"


@dataclass(frozen=True, slots=True)
class Context:
    """What entries are checked against."""

    index: Index
    root: Path
    sources: Sources
    labels: frozenset[str]


Check: TypeAlias = Callable[[Entry, Context], Iterator[str]]


def context_of(index: Index, root: Path) -> Context:
    """The Lean sources and theory labels of a checkout, with its table."""
    theory = root / THEORY
    labels = theory_labels(theory.read_text("utf-8")) if theory.is_file() else frozenset()
    return Context(index, root, read_sources(root), labels)


def undeclared_gaps(context: Context) -> dict[str, tuple[str, ...]]:
    """For each bound, built in or in the table, what does not hold and is not declared; empty texts mean none."""
    slugs = dict.fromkeys([*BOUNDS, *context.index.bounds])
    return {slug: tuple(gaps_of(slug, context)) for slug in slugs}


def theory_labels(text: str) -> frozenset[str]:
    """The labels that docs/theory.md defines: `**R5** ...` at the start of an item."""
    return frozenset(re.findall(r"^- \*\*(\w+)\*\*", text, re.MULTILINE))


def cited_labels(text: str) -> frozenset[str]:
    """The labels that a text cites as `docs/theory.md R5, S1 to S8`."""
    found: set[str] = set()
    for first, rest in re.findall(r"docs/theory\.md (\w\d+)((?:(?:,| to) \w\d+)*)", text):
        parts = [first, *re.findall(r"(,| to) (\w\d+)", rest)]
        found.add(first)
        last = first
        for joint, label in parts[1:]:
            span = range(int(last[1:]), int(label[1:]) + 1) if joint == " to" else [int(label[1:])]
            found.update(f"{label[0]}{number}" for number in span)
            last = label
    return frozenset(found)


def gaps_of(slug: str, context: Context) -> Iterator[str]:
    """What does not hold of one bound and is not declared."""
    if slug not in context.index.bounds:
        yield f"no entry in {TABLE}"
    elif slug not in BOUNDS:
        yield "no built-in bound of this name"
    else:
        for check in CHECKS:
            yield from check(context.index.bounds[slug], context)


def _objects(entry: Entry, context: Context) -> Iterator[str]:
    bound = BOUNDS[entry.slug]
    if _resolved(entry.reference) is not bound:
        yield f"reference: {entry.reference} is not the bound of this slug"
    if _resolved(entry.truth) is not KINDS[bound.kind].truth:
        yield f"truth: {entry.truth} is not what {bound.kind} bounds"
    if entry.fast and getattr(_resolved(entry.fast), "__name__", None) != entry.slug:
        yield f"fast: {entry.fast} is not a function of this name"


def _files(entry: Entry, context: Context) -> Iterator[str]:
    for path in (entry.fuzz, entry.sheet, entry.derivation, *entry.tests):
        if path and not (context.root / path).is_file():
            yield f"no file {path}"
    for path in (entry.fuzz, entry.sheet):
        if path and Path(path).stem.removeprefix("test_") != entry.slug:
            yield f"{path} is named after another bound"


def _absences(entry: Entry, context: Context) -> Iterator[str]:
    for word in ("lean", "fast", "smt", "fuzz", "sheet", "derivation"):
        if not getattr(entry, word) and not any(word in gap for gap in entry.gaps):
            yield f"no {word}, and no gap says so"
    for word in ("title", "tests", "hypotheses", "covers", "does_not_cover"):
        if not getattr(entry, word):
            yield f"{word} is empty"


def _query(entry: Entry, context: Context) -> Iterator[str]:
    if not entry.smt:
        return
    from proofkv_verify.search.smt import build_query  # noqa: PLC0415 (z3 loads here only)
    from proofkv_verify.search.smt_templates import templates  # noqa: PLC0415

    kind, _, name = entry.smt.partition(": ")
    found = next((template for template in templates(kind) if template.name == name), None) if kind in KINDS else None
    if found is None:
        yield f"smt: no template {entry.smt}"
        return
    try:
        build_query(BOUNDS[entry.slug], found)
    except (ProofkvError, AttributeError, TypeError) as error:
        yield f"smt: {entry.smt} gives no query: {error}"


def _hypotheses(entry: Entry, context: Context) -> Iterator[str]:
    bound, sheet = BOUNDS[entry.slug], context.root / entry.sheet
    if entry.hypotheses != bound.hypotheses:
        yield f"hypotheses: {_listed(entry.hypotheses)} here, {_listed(bound.hypotheses)} in the bound"
    if len(sound_when(bound)) != len(bound.hypotheses):
        yield f"docstring: {len(sound_when(bound))} clauses under 'Sound when', {len(bound.hypotheses)} hypotheses"
    if entry.sheet and sheet.is_file():
        named = sheet_hypotheses(sheet.read_text("utf-8"))
        if entry.hypotheses != named:
            yield f"hypotheses: {_listed(entry.hypotheses)} here, {_listed(named)} in {entry.sheet}"


def sound_when(bound: Claim) -> list[str]:
    """The clauses of the docstring's "Sound when", which semicolons separate."""
    text = inspect.getdoc(bound.function) or ""
    found = re.search(r"^Sound when: (.*?)(?=^\w+: |\Z)", text, re.MULTILINE | re.DOTALL)
    return [] if found is None else [" ".join(clause.split()) for clause in found[1].split(";")]


def sheet_hypotheses(text: str) -> tuple[str, ...]:
    """The names that a proof sheet numbers under "Hypotheses"."""
    section = text.partition("## Hypotheses")[2].partition("\n## ")[0]
    return tuple(re.findall(r"^\d+\. `(\w+)`", section, re.MULTILINE))


def _theorems(entry: Entry, context: Context) -> Iterator[str]:
    if entry.lean != BOUNDS[entry.slug].lean:
        yield f"lean: {entry.lean} here, {BOUNDS[entry.slug].lean} in the bound"
    for name in filter(None, (entry.lean, *entry.also)):
        yield from unexported(name, context)
    if context.sources.exported is None:
        yield NOT_EXPORTED


def unexported(name: str, context: Context) -> Iterator[str]:
    """Why a theorem is not one that Lean has checked on the allowed axioms."""
    exported = context.sources.exported
    if context.sources.statement(name) is None:
        yield f"lean: no theorem {name} in the sources"
    elif exported is not None and name not in exported:
        yield f"lean: {name} is not among the theorems that Lean exported"
    elif exported is not None and not exported[name] <= ALLOWED_AXIOMS:
        yield f"lean: {name} rests on {_listed(tuple(sorted(exported[name] - ALLOWED_AXIOMS)))}"


def _statements(entry: Entry, context: Context) -> Iterator[str]:
    if not entry.lean:
        return
    expected, found = context.index.theorems.get(entry.lean), context.sources.statement(entry.lean)
    if expected is None:
        yield f"lean: {TABLE} does not state {entry.lean}"
    elif found is not None:
        yield from different(expected, found)
        yield from _unaccounted(entry, expected, context)


def different(expected: Statement, found: Statement) -> Iterator[str]:
    """Where a statement in the sources is not the one that the table states."""
    for name in dict.fromkeys([*expected.binders, *found.binders]):
        here, there = expected.binders.get(name), found.binders.get(name)
        if here != there:
            yield f"lean: {expected.name} has {name} : {there} in the source, {here} here"
    if expected.conclusion != found.conclusion:
        yield f"lean: {expected.name} concludes {found.conclusion} in the source, {expected.conclusion} here"


def _unaccounted(entry: Entry, statement: Statement, context: Context) -> Iterator[str]:
    """Each hypothesis of the bound is one of the theorem or a gap; each of the theorem's is accounted for."""
    if tuple(entry.premises) != entry.hypotheses:
        yield f"premises: {_listed(tuple(entry.premises))} here, hypotheses {_listed(entry.hypotheses)}"
    for name, places in entry.premises.items():
        if not places and not any(name in gap for gap in entry.gaps):
            yield f"{name} is no hypothesis of {entry.lean}, and no gap says so"
    wanted = set(_assumed(statement, context.index))
    used = {place for places in entry.premises.values() for place in places} | set(entry.ensured)
    for place in sorted(wanted - used):
        yield f"{entry.lean} assumes {place}, of which no hypothesis speaks"
    for place in sorted(used - wanted):
        yield f"{entry.lean} has no hypothesis {place}"


def _assumed(statement: Statement, index: Index) -> Iterator[str]:
    """The named hypotheses, a structure by its fields; a structure that the conclusion assumes under its own name."""
    for name, kind in statement.binders.items():
        parts = index.structures.get(kind.split()[0], {})
        yield from (f"{name}.{part}" for part in parts) if parts else (name,)
    for name in sorted(_identifiers(statement.conclusion) & set(index.structures)):
        yield from (f"{name}.{part}" for part in index.structures[name])


def _words(entry: Entry, context: Context) -> Iterator[str]:
    if entry.status not in STATUSES:
        yield f"status: {entry.status!r} is not one of {', '.join(STATUSES)}"
    if entry.status == "proved in part" and not entry.gaps:
        yield "status: proved in part, and no gap says which part is not"
    if entry.status == "proved" and not (entry.lean and all(entry.premises.values())):
        yield "status: proved, but no theorem has all of the hypotheses"
    for label in (*entry.source, *sorted(cited_labels(inspect.getdoc(BOUNDS[entry.slug].function) or ""))):
        if label not in context.labels:
            yield f"source: {THEORY} has no {label}"
        if label not in entry.source:
            yield f"source: the docstring cites {label}, the table does not"


def _definitions(entry: Entry, context: Context) -> Iterator[str]:
    statement = context.index.theorems.get(entry.lean)
    if statement is not None:
        yield from redefined(statement, context)


def redefined(statement: Statement, context: Context) -> Iterator[str]:
    """Structures and definitions behind a theorem that are not in the sources what the table says."""
    spoken = _spoken(statement, context.index)
    for name in sorted(spoken & set(context.index.structures)):
        found, here = context.sources.fields(name), dict(context.index.structures[name])
        if found != here:
            yield f"lean: structure {name} is {found} in the source, {here} here"
    for name in sorted(spoken & set(context.index.definitions)):
        text, wanted = context.sources.definition(name), context.index.definitions[name]
        if text != wanted:
            yield f"lean: definition {name} is {text} in the source, {wanted} here"


def _spoken(statement: Statement, index: Index) -> frozenset[str]:
    """The structures and definitions of the table that a statement uses, or that those use."""
    texts = {name: " ".join(parts.values()) for name, parts in index.structures.items()} | dict(index.definitions)
    found: set[str] = set()
    words = _identifiers(" ".join([*statement.binders.values(), statement.conclusion]))
    while words & texts.keys() - found:
        found |= words & texts.keys()
        words = {word for name in found for word in _identifiers(texts[name])}
    return frozenset(found)


def _identifiers(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _resolved(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


CHECKS: tuple[Check, ...] = (
    _objects,
    _files,
    _absences,
    _query,
    _hypotheses,
    _theorems,
    _statements,
    _definitions,
    _words,
)
