"""Power: which engine kills which planted wrong bound, how fast, and how small the counterexample becomes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.driver import ENGINES, find_counterexample
from proofkv_verify.search.result import SearchResult

MUTANTS_SCHEMA = "proofkv-verify/mutants/1"
_SECOND_CHANCE = 4
"""A mutant that no engine killed is tried once more with this many times the budget."""
PowerProgress: TypeAlias = Callable[["MutantRow", int, int], None]
"""Called after each mutant with (its row, mutants done, mutants in all)."""


@dataclass(frozen=True, slots=True)
class MutantRow:
    """What the engines did to one mutant.

    Attributes:
        name: the mutant; bound: slug of the bound of which it is a wrong variant.
        results: one result an engine, in the order in which they ran.
    """

    name: str
    bound: str
    results: tuple[SearchResult, ...]

    @property
    def killed(self) -> bool:
        """Some engine found a counterexample that replays."""
        return any(result.counterexample is not None for result in self.results)

    @property
    def smallest(self) -> int | None:
        """Length of the shortest counterexample's exact numbers."""
        return min((r.shrunk_size for r in self.results if r.shrunk_size is not None), default=None)


def measure_power(
    mutants: Iterable[Claim],
    engines: Sequence[str] = ENGINES,
    budget_s: float = 2.0,
    seed: int = 0,
    progress: PowerProgress | None = None,
    workers: int = 1,
) -> list[MutantRow]:
    """Runs every engine on every mutant; no engine is told a witness.

    Args:
        mutants: the claims to kill.
        engines: names of engines.
        budget_s: seconds an engine may search for one mutant (one that kills stops at once); four times as many in a
            second round for a mutant that no engine killed.
        seed: the seed of every search.
        progress: called after each mutant.
        workers: processes; with more than one the mutants must be registered ones.

    Returns:
        One row a mutant, in the given order.

    Raises:
        InvalidInputError: an unknown engine, or an unregistered mutant with several workers.
        EngineError: an engine's find does not replay.
    """
    claims = list(mutants)
    for engine in engines:
        if engine not in ENGINES:
            raise InvalidInputError("engine", f"one of {', '.join(ENGINES)}", engine)
    rows: list[MutantRow] = []
    for row in _rows(claims, tuple(engines), budget_s, seed, workers):
        rows.append(row)
        if progress is not None:
            progress(row, len(rows), len(claims))
    return rows


def to_json(rows: Sequence[MutantRow], seconds: float) -> dict[str, Any]:
    """The table as the documented JSON object; `seconds` is the wall-clock time of the whole measurement."""
    return {
        "schema": MUTANTS_SCHEMA,
        "mutants": [_row_json(row) for row in rows],
        "killed": sum(row.killed for row in rows),
        "total": len(rows),
        "seconds": round(seconds, 3),
    }


def _row_json(row: MutantRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "bound": row.bound,
        "killed": row.killed,
        "engines": {result.engine: _engine_json(result) for result in row.results},
        "size": row.smallest,
    }


def _engine_json(result: SearchResult) -> dict[str, Any]:
    found = result.counterexample is not None
    seconds = result.found_after if found and result.found_after is not None else result.seconds
    return {"killed": found, "seconds": round(seconds, 3), "cases": result.cases, "note": result.note}


def _rows(
    claims: list[Claim], engines: tuple[str, ...], budget_s: float, seed: int, workers: int
) -> Iterator[MutantRow]:
    if workers <= 1:
        yield from (_row(claim, engines, budget_s, seed) for claim in claims)
        return
    for claim in claims:
        if MUTANTS.get(claim.name) is not claim:
            raise InvalidInputError("mutants", "registered mutants where workers > 1", claim.name)
    # Torch and z3 hold threads and locks that a forked child would inherit in an unknown state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        futures = [pool.submit(_named_row, claim.name, engines, budget_s, seed) for claim in claims]
        yield from (future.result() for future in futures)


def _named_row(name: str, engines: tuple[str, ...], budget_s: float, seed: int) -> MutantRow:
    return _row(MUTANTS[name], engines, budget_s, seed)


def _row(claim: Claim, engines: tuple[str, ...], budget_s: float, seed: int) -> MutantRow:
    for budget in (budget_s, _SECOND_CHANCE * budget_s):
        results = tuple(find_counterexample(claim, engine, budget_s=budget, seed=seed) for engine in engines)
        row = MutantRow(claim.name, claim.mutates, results)
        if row.killed:
            break
    return row


def _one_thread() -> None:
    """More threads than cores would only slow the workers down."""
    import torch  # noqa: PLC0415 (in the worker process only)

    torch.set_num_threads(1)
