"""Lean's messages as data, and the audit's table of theorems."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofkv_verify.errors import CertificateFormatError

_START = re.compile(
    r"^(?:/src/)?(?P<file>[^\s:]+)(?::(?P<line>\d+):(?P<column>\d+))?: "
    r"(?P<kind>error|warning)(?:\([^)]*\))?: ?(?P<text>.*)$"
)
_MAX_LINES = 40


@dataclass(frozen=True, slots=True)
class Message:
    """One error or warning: file (relative to the Lean folder), line, column, kind and text."""

    file: str
    line: int
    column: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class Theorem:
    """One theorem: name, type and axioms as Lean prints them, line and docstring from its source."""

    name: str
    module: str
    line: int
    type: str
    axioms: tuple[str, ...]
    doc: str

    def as_json(self) -> dict[str, Any]:
        """The theorem as a JSON object, with a file path in place of the module name."""
        return {
            "name": self.name,
            "type": self.type,
            "axioms": list(self.axioms),
            "file": "lean/" + self.module.replace(".", "/") + ".lean",
            "line": self.line,
            "headline": self.doc.lstrip().startswith("**"),
            "statement": " ".join(self.doc.split()),
        }


def parse_messages(lines: Iterable[str]) -> list[Message]:
    """The messages in Lean's output; a line that starts no message continues the one before (shortened when long)."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in lines:
        match = _START.match(line)
        if match:
            found.append((match, [match["text"]]))
        elif found and len(found[-1][1]) < _MAX_LINES:
            found[-1][1].append(line)
    return [
        Message(m["file"], int(m["line"] or 0), int(m["column"] or 0), m["kind"], "\n".join(text).rstrip())
        for m, text in found
    ]


def read_theorems(path: Path, lean_dir: Path) -> list[Theorem]:
    """The table that the audit module wrote, by name; lines and docstrings are read from the sources.

    Raises:
        CertificateFormatError: the file is not such a table.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        table = [_theorem(row, lean_dir) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CertificateFormatError("theorem table", "the JSON that the audit writes", error) from error
    return sorted(table, key=lambda theorem: theorem.name)


def _theorem(row: dict[str, Any], lean_dir: Path) -> Theorem:
    source = lean_dir / f"{row['module'].replace('.', '/')}.lean"
    line, doc = find_theorem(source.read_text(encoding="utf-8"), row["name"])
    axioms = tuple(sorted(row["axioms"]))
    return Theorem(name=row["name"], module=row["module"], line=line, type=row["type"], axioms=axioms, doc=doc)


def find_theorem(text: str, name: str) -> tuple[int, str]:
    """The line of a theorem in its source and the docstring before it; `(0, "")` when it is not declared there."""
    short = name.rsplit(".", 1)[-1]
    for match in re.finditer(r"^theorem (\S+)", text, flags=re.MULTILINE):
        if match[1].rsplit(".", 1)[-1] == short:
            before = text[: match.start()].rstrip()
            doc = before[before.rfind("/--") + 3 : -2].strip() if before.endswith("-/") else ""
            return text.count("\n", 0, match.start()) + 1, doc
    return 0, ""


def theorems_json(theorems: Sequence[Theorem]) -> str:
    """The committed form of the table."""
    document = {"schema": "proofkv-verify/theorems/1", "theorems": [t.as_json() for t in theorems]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def axiom_table(theorems: Sequence[Theorem]) -> list[tuple[str, int]]:
    """How many theorems use which set of axioms."""
    counts = Counter(", ".join(theorem.axioms) or "none" for theorem in theorems)
    return sorted(counts.items())


def theorem_changes(committed: str, fresh: str) -> list[str]:
    """The names whose rows differ between two tables, with what happened to them."""
    old, new = (_rows(text) for text in (committed, fresh))
    gone = [f"{name}: no longer there" for name in sorted(old.keys() - new.keys())]
    added = [f"{name}: new" for name in sorted(new.keys() - old.keys())]
    changed = [
        f"{name}: {', '.join(sorted(k for k in new[name] if old[name].get(k) != new[name][k]))} changed"
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name]
    ]
    return gone + added + changed


def _rows(text: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(text)["theorems"]} if text.strip() else {}
