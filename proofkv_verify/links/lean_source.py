"""Statements as they stand in the Lean sources: named hypotheses, conclusion, fields of structures, definitions.

This reads text, it proves nothing: that a theorem holds and on which axioms is what `proofs/theorems.json` says, which
the audit of the Lean development writes (`proofkv-verify prove` compares the two).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.links.index import Statement

NAMESPACE = "ProofKV."
EXPORT = "proofs/theorems.json"
ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
_OPEN, _CLOSE = "([{⟨", ")]}⟩"


@dataclass(frozen=True, slots=True)
class Sources:
    """The text of all Lean files of a checkout by path relative to it, and what Lean exported about them."""

    files: Mapping[str, str]
    exported: Mapping[str, frozenset[str]] | None

    def statement(self, name: str) -> Statement | None:
        """The statement of a theorem, or None if no file has it."""
        head = self._after(rf"^theorem {re.escape(name.removeprefix(NAMESPACE))}(?=[\s({{:])")
        return None if head is None else _parse_statement(name, head)

    def fields(self, name: str) -> dict[str, str] | None:
        """The fields of a structure with their types, or None."""
        body = self._after(rf"^structure {re.escape(name)}\b(?:[^\n]|\n(?=    ))* where\n")
        if body is None:
            return None
        block = re.sub(r"/--.*?-/", "", body.split("\n\n", 1)[0], flags=re.DOTALL)
        return {key: _spaced(kind) for key, kind in re.findall(r"^  (\w+) : (.+)$", block, re.MULTILINE)}

    def definition(self, name: str) -> str | None:
        """The text of a definition after its name, or None."""
        body = self._after(rf"^def {re.escape(name)}\b")
        return None if body is None else _spaced(re.split(r"\n\n|\nend\b", body, maxsplit=1)[0])

    def _after(self, pattern: str) -> str | None:
        for text in self.files.values():
            found = re.search(pattern, text, re.MULTILINE)
            if found is not None:
                return text[found.end() :]
        return None


def read_sources(root: Path) -> Sources:
    """All Lean files under `lean/ProofKV`, and the export of Lean if there is one."""
    paths = sorted((root / "lean" / "ProofKV").rglob("*.lean"))
    return Sources(
        {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}, _exported(root / EXPORT)
    )


def _exported(path: Path) -> dict[str, frozenset[str]] | None:
    if not path.is_file():
        return None
    try:
        return {row["name"]: frozenset(row["axioms"]) for row in json.loads(path.read_text("utf-8"))["theorems"]}
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(EXPORT, "theorems, each with name and axioms", repr(error)) from None


def _parse_statement(name: str, text: str) -> Statement:
    """Reads binders up to the colon, the conclusion up to `:=` or a match; named explicit binders are hypotheses."""
    binders: dict[str, str] = {}
    at = 0
    while text[at] != ":":
        if text[at] in _OPEN:
            end = _matching(text, at)
            if text[at] == "(":
                names, _, kind = text[at + 1 : end].partition(":")
                binders.update(dict.fromkeys(names.split(), _spaced(kind)))
            at = end
        at += 1
    return Statement(name, binders, _spaced(re.split(r":=|\n  \| ", text[at + 1 :], maxsplit=1)[0]))


def _matching(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in _OPEN) - (text[at] in _CLOSE)
        if depth == 0:
            return at
    raise InvalidInputError("Lean source", "balanced brackets", text[start : start + 60])


def _spaced(text: str) -> str:
    return " ".join(text.split())
