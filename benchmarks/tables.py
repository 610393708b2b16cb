"""Tables as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table with a sentence that says how its numbers were made."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table as Markdown, columns padded."""
        widths = [max(len(row[k]) for row in (self.head, *self.rows)) for k in range(len(self.head))]
        lines = [_line(self.head, widths), _line(["-" * w for w in widths], widths)]
        lines += [_line(row, widths) for row in self.rows]
        return f"## {self.title}\n\n{self.note}\n\n" + "\n".join(lines) + "\n"


def number(x: float) -> str:
    """Three significant digits."""
    return "-" if x != x else f"{x:.3g}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)) + " |"
