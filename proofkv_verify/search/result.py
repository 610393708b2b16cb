"""What a search returns, and its clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from proofkv_verify.certificate import Counterexample
from proofkv_verify.errors import ProofkvError
from proofkv_verify.kinds import Instance

Progress: TypeAlias = Callable[[int, float], None]
"""Called now and then with (cases so far, seconds so far)."""


class EngineError(ProofkvError):
    """An engine broke its contract: a counterexample that does not replay, or a case outside the premises."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one engine found within its budget.

    Attributes:
        engine: "fuzz", "smt" or "attack".
        cases: instances that were decided (fuzz, attack) or queries that were answered (smt).
        seconds: wall-clock time of the search and of the shrinking.
        counterexample: one that replays exactly, or None.
        tightness: largest truth / claimed seen, not rigorous (None where it was not measured).
        note: what limits the result: sizes, unknown answers, timeouts, vacuous premises.
        shrunk_size: length of the counterexample's exact text, or None.
        found_after: seconds until the unshrunk counterexample was there, or None.
    """

    engine: str
    cases: int
    seconds: float
    counterexample: Counterexample | None = None
    tightness: float | None = None
    note: str = ""
    shrunk_size: int | None = None
    found_after: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What an engine hands to the driver: an instance that the checker refuted, or none."""

    cases: int
    instance: Instance | None = None
    tightness: float | None = None
    note: str = ""


@dataclass(slots=True)
class Clock:
    """Time left of a budget and the count of decided cases."""

    budget_s: float
    progress: Progress | None = None
    cases: int = 0
    _start: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def left(self) -> float:
        """Seconds left; negative when over."""
        return self.budget_s - self.seconds()

    def over(self) -> bool:
        """Says whether the budget is used up."""
        return self.left() <= 0

    def count(self, cases: int) -> None:
        """Adds decided cases and reports progress."""
        self.cases += cases
        if self.progress is not None:
            self.progress(self.cases, self.seconds())
