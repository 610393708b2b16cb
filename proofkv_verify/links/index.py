"""Reads `proofs/index.toml`, the table that joins every bound to what was proved, written and tested about it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from proofkv_verify.errors import InvalidInputError

TABLE = "proofs/index.toml"
STATUSES = ("proved", "proved in part")
Row = TypeVar("Row", "Entry", "Statement", "Use")


@dataclass(frozen=True, slots=True)
class Entry:
    """One bound; an empty text means that there is no such thing, which a gap has to say.

    Attributes:
        slug: name of the bound.
        title: the fact in words.
        status: "proved" if Lean theorems state the whole inequality, "proved in part" if steps are on paper only.
        lean: main Lean theorem, as the bound names it.
        also: further Lean theorems that carry a part.
        reference: the bound itself, `module:object`.
        truth: the exact quantity that it bounds, `module:object`.
        fast: the torch path, `module:object`.
        smt: kind and name of a z3 template, `kind: name`, on which the bound gives a query.
        fuzz: file of the long search.
        tests: files of the facts about it.
        sheet: the proof on paper.
        derivation: script that checks the sheet's identities and inequalities.
        source: labels of docs/theory.md.
        hypotheses: names in the order of bound, docstring and sheet.
        premises: for each hypothesis the named hypotheses of the main theorem that state it; none: a gap names it.
        ensured: hypotheses of the main theorem that hold by construction, and why.
        covers: what the bound may be used for.
        does_not_cover: what it says nothing about.
        gaps: what is not proved by machine or does not exist.
    """

    slug: str
    title: str
    status: str
    lean: str
    also: tuple[str, ...]
    reference: str
    truth: str
    fast: str
    smt: str
    fuzz: str
    tests: tuple[str, ...]
    sheet: str
    derivation: str
    source: tuple[str, ...]
    hypotheses: tuple[str, ...]
    premises: Mapping[str, tuple[str, ...]]
    ensured: Mapping[str, str]
    covers: tuple[str, ...]
    does_not_cover: tuple[str, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A Lean theorem as it must stand in the sources: named hypotheses in order, and the conclusion."""

    name: str
    binders: Mapping[str, str]
    conclusion: str


@dataclass(frozen=True, slots=True)
class Use:
    """A step of certified decoding that leans on theorems: which, in what code, and what they leave open.

    Attributes:
        name: short name of the step.
        relies_on: the fact in words that the code relies on.
        lean: theorems that state it or its core.
        code: where it is used, `module:object`, the object a name or a chain of attributes.
        tests: facts about that code, `file::test`.
        covers: what the theorems give.
        does_not_cover: what they say nothing about.
        gaps: what the code relies on and no theorem states.
    """

    name: str
    relies_on: str
    lean: tuple[str, ...]
    code: tuple[str, ...]
    tests: tuple[str, ...]
    covers: tuple[str, ...]
    does_not_cover: tuple[str, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """The whole table.

    Attributes:
        bounds: entries by slug.
        theorems: expected statements of main theorems by name.
        structures: expected fields of the structures that theorems assume, by name.
        definitions: expected text of the definitions that conclusions speak of, by name.
        decode: what certified decoding leans on, by name.
    """

    bounds: Mapping[str, Entry]
    theorems: Mapping[str, Statement] = field(default_factory=dict)
    structures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)
    decode: Mapping[str, Use] = field(default_factory=dict)


def find_root() -> Path:
    """The checkout that this package runs from.

    Raises:
        InvalidInputError: the package was installed without its checkout; the table is not part of the package.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / TABLE).is_file():
        raise InvalidInputError("status", f"a checkout with {TABLE} (`pip install -e .` in it)", f"none at {root}")
    return root


def load_index(root: Path) -> Index:
    """The table of a checkout.

    Raises:
        InvalidInputError: not TOML, a missing or unknown field, a name given twice.
    """
    try:
        return parse_index((root / TABLE).read_text("utf-8"))
    except OSError as error:
        raise InvalidInputError(TABLE, "a readable file", error) from None


def parse_index(text: str) -> Index:
    """The table from its text.

    Raises:
        InvalidInputError: as for `load_index`.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(TABLE, "TOML", error) from None
    return Index(
        _by_name([_row(Entry, row) for row in document.get("bound", [])], "slug"),
        _by_name([_row(Statement, row) for row in document.get("theorem", [])], "name"),
        document.get("structure", {}),
        document.get("definition", {}),
        _by_name([_row(Use, row) for row in document.get("decode", [])], "name"),
    )


def _row(kind: type[Row], row: Mapping[str, Any]) -> Row:
    wanted = {column.name for column in fields(kind)}
    if set(row) != wanted:
        name = row.get("slug", row.get("name", "an entry"))
        raise InvalidInputError(f"{TABLE}: {name}", ", ".join(sorted(wanted)), f"other by {sorted(set(row) ^ wanted)}")
    return kind(**{key: _frozen(value) for key, value in row.items()})


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return {key: _frozen(part) for key, part in value.items()} if isinstance(value, dict) else value


def _by_name(rows: list[Row], key: str) -> dict[str, Row]:
    named = {getattr(row, key): row for row in rows}
    if len(named) != len(rows):
        raise InvalidInputError(TABLE, f"each {key} once", [getattr(row, key) for row in rows])
    return named
