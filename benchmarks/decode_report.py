"""The table that `decode.py` writes, its counters, and the step that all sections start from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from proofkv_verify.decode.loop import plain_step
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WindowStep

Row = list[str]


@dataclass
class Report:
    """Sections of the table; soundness counters over all of them."""

    path: Path | None
    sections: dict[str, list[Row]] = field(default_factory=dict)
    certified: int = 0
    false: int = 0
    attacks: int = 0
    broken: int = 0

    def add(self, title: str, rows: list[Row]) -> None:
        """Takes a section, or a longer version of it, and writes the whole table again."""
        self.sections[title] = rows
        if self.path is not None:
            parts = [line for name, found in self.sections.items() for line in markdown(name, found)]
            counts = (
                f"False certificates: {self.false} of {self.certified} certified steps. "
                f"Attacks inside the sets: {self.attacks}, of which {self.broken} left a bound."
            )
            self.path.write_text("\n".join(["# Certified decoding: measured", "", counts, "", *parts]))

    def count(self, certified: bool, winner: int, true: int) -> None:
        """Counts a certified step and whether it was false."""
        self.certified += certified
        self.false += certified and winner != true


def markdown(title: str, rows: list[Row]) -> list[str]:
    """The lines of one section."""
    head, *body = rows
    table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
    return [f"## {title}", "", *table, ""]


def opened_step(model: Model, step: WindowStep, scheme: Scheme) -> tuple[Opened, Trace, list[Sets]]:
    """The prefix in pages, the nominal step and its sets."""
    opened = step.opened(scheme)
    trace, sets, _ = plain_step(model, opened, step.token)
    return opened, trace, sets
