"""What a run of the proof check found, as text and as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from proofkv_verify.prove.messages import Message, Theorem, axiom_table

_GOOD = frozenset({"ok", "cached"})


@dataclass(slots=True)
class Outcome:
    """A state for each module, messages, theorems, differences, peak memory in bytes."""

    engine: str
    states: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    theorems: list[Theorem] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    peak_bytes: int = 0
    seconds: float = 0.0

    def is_good(self, name: str) -> bool:
        """The module was checked, now or before, without a message."""
        return self.states.get(name) in _GOOD

    @property
    def all_good(self) -> bool:
        """There are modules, and every one was checked without a message."""
        return bool(self.states) and all(self.is_good(name) for name in self.states)

    @property
    def proved(self) -> bool:
        """Every module was checked without a message and the table of theorems is the committed one."""
        return self.all_good and not self.messages and not self.differences


def print_outcome(outcome: Outcome, text: IO[str]) -> None:
    """Print messages, differences, the axiom table and the verdict."""
    for message in outcome.messages:
        print(message, file=text)
    for line in outcome.differences:
        print(f"difference: {line}", file=text)
    headlines = sum(t.as_json()["headline"] for t in outcome.theorems)
    print(f"{len(outcome.states)} modules, {len(outcome.theorems)} theorems ({headlines} headline)", file=text)
    for axioms, count in axiom_table(outcome.theorems):
        print(f"  axioms {axioms}: {count} theorems", file=text)
    peak = f", peak memory {outcome.peak_bytes / 1e9:.1f} GB" if outcome.peak_bytes else ""
    verdict = "proved" if outcome.proved else "NOT proved"
    print(f"{verdict} ({outcome.engine}, {outcome.seconds:.0f} s{peak})", file=text)


def write_json(outcome: Outcome, json_path: str | None) -> None:
    """Write the outcome as JSON to a file, or to standard output for `-`; nothing without a path."""
    if json_path is None:
        return
    document: dict[str, Any] = {
        "schema": "proofkv-verify/prove/1",
        "proved": outcome.proved,
        "engine": outcome.engine,
        "modules": outcome.states,
        "messages": [
            {"file": m.file, "line": m.line, "column": m.column, "kind": m.kind, "text": m.text}
            for m in outcome.messages
        ],
        "theorems": [theorem.as_json() for theorem in outcome.theorems],
        "differences": outcome.differences,
        "peak_bytes": outcome.peak_bytes,
        "seconds": round(outcome.seconds, 1),
    }
    rendered = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if json_path == "-":
        sys.stdout.write(rendered)
    else:
        Path(json_path).write_text(rendered, encoding="utf-8")
