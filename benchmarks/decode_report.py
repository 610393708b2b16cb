"""The table that `decode.py` writes, its counters, and the step that all sections start from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proofkv_verify.decode.loop import plain_step
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WindowStep

Row = list[str]
_HEAD = """# Certified decoding: measured

Written by `python -m benchmarks.decode`; the numbers lie in `decode.json` beside this file, so that sections can be
run one by one. One thread; ratios of process times within one run, never seconds, are to be compared. Unless a section
says otherwise a step is teacher-forced on held-out text at one of the positions 256, 300, 340 and 380, the steps of a
section are spread evenly over 48 windows, pages hold 16 tokens and the tail is exact."""


@dataclass
class Report:
    """Sections of the table with soundness counters each; written again after every change.

    Attributes:
        path: the Markdown file; a JSON file of the same name holds the state. None keeps nothing.
        order: names of all sections, in the order of the table, with what each says.
        name: the section being measured.
    """

    path: Path | None
    order: dict[str, str]
    name: str = ""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.with_suffix(".json").exists():
            self.sections = json.loads(self.path.with_suffix(".json").read_text())

    def begin(self, name: str) -> None:
        """Starts a section afresh."""
        self.name = name
        self.sections[name] = {"rows": [], "certified": 0, "false": 0, "attacks": 0, "broken": 0}

    def add(self, rows: list[Row]) -> None:
        """Takes the section's rows so far and writes the whole table again."""
        self.sections[self.name]["rows"] = rows
        if self.path is not None:
            self.path.with_suffix(".json").write_text(json.dumps(self.sections, indent=1) + "\n")
            self.path.write_text(self.markdown())

    def count(self, certified: bool, winner: int, true: int) -> None:
        """Counts a step: whether it was certified, and if so whether that was false."""
        now = self.sections[self.name]
        now["certified"] += int(certified)
        now["false"] += int(certified and winner != true)

    def attacked(self, tried: int, broken: int) -> None:
        """Counts states inside the sets that were tried, and those that left a bound."""
        now = self.sections[self.name]
        now["attacks"] += tried
        now["broken"] += broken

    def markdown(self) -> str:
        """The whole table."""
        done = {name: self.sections[name] for name in self.order if name in self.sections}
        total = {key: sum(s[key] for s in done.values()) for key in ("certified", "false", "attacks", "broken")}
        counts = (
            f"In all sections: {total['false']} of {total['certified']} certified (step, width, method) events are "
            f"false; of {total['attacks']} states tried inside the sets {total['broken']} left a bound."
        )
        parts = [_HEAD, "", counts, ""]
        for name, section in done.items():
            parts += [f"## {name.capitalize()}", "", *self.order[name].splitlines(), "", *_table(section["rows"]), ""]
        return "\n".join(parts)


def _table(rows: list[Row]) -> list[str]:
    head, *body = rows
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def opened_step(model: Model, step: WindowStep, scheme: Scheme) -> tuple[Opened, Trace, list[Sets]]:
    """The prefix in pages, the nominal step and its sets."""
    opened = step.opened(scheme)
    trace, sets, _ = plain_step(model, opened, step.token)
    return opened, trace, sets
