"""`refute` and `mutants`: the search engines on one bound, and their strength on planted wrong ones."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Counterexample, to_json
from proofkv_verify.check import replay
from proofkv_verify.claims import Claim
from proofkv_verify.commands.console import OK, REFUTED, UNDECIDED, errors, human, write_json, write_text
from proofkv_verify.commands.show import replayed
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.driver import ENGINES, find_counterexample
from proofkv_verify.search.load import load_claim
from proofkv_verify.search.result import SearchResult

if TYPE_CHECKING:
    from proofkv_verify.search.power import MutantRow


def refute_command(
    target: str, engines: Sequence[str] | None, budget_s: float, seed: int, json_path: str | None, output: str | None
) -> int:
    """Searches one claim with each engine until one refutes it."""
    claim, source = claim_named(target)
    chosen = check_engines(engines)
    out = human(json_path)
    out.print(f"{claim.name}: {claim.statement}", markup=False, highlight=False, soft_wrap=True)
    results: list[SearchResult] = []
    for engine in chosen:
        results.append(_search(claim, engine, budget_s / len(chosen), seed, source))
        out.print(_engine_line(results[-1]), markup=False, highlight=False, soft_wrap=True)
        if results[-1].counterexample is not None:
            break
    found = results[-1].counterexample
    if found is not None:
        _show(out, found, claim)
        if output is not None:
            write_text(output, to_json(found) + "\n")
    else:
        out.print("not refuted: the search ended without a counterexample, which is no proof")
    write_json(json_path, _document(target, results, found))
    return OK if found is None else REFUTED


def claim_named(target: str) -> tuple[Claim, str]:
    """A built-in bound, a mutant, or the claim in a user's file, with the digest of that file.

    Raises:
        InvalidInputError: there is none of that name.
    """
    known = BOUNDS.get(target) or MUTANTS.get(target)
    if known is not None:
        return known, ""
    if ".py" in target:
        return load_claim(target)
    raise InvalidInputError("target", "a slug or mutant (see `proofkv-verify list bounds`) or FILE.py:OBJECT", target)


def check_engines(engines: Sequence[str] | None) -> tuple[str, ...]:
    """The engines asked for, all of them by default.

    Raises:
        InvalidInputError: no such engine.
    """
    for engine in engines or ():
        if engine not in ENGINES:
            raise InvalidInputError("engine", f"one of {', '.join(ENGINES)}", engine)
    return tuple(engines or ENGINES)


def mutants_command(engines: Sequence[str] | None, budget_s: float, seed: int, json_path: str | None) -> int:
    """Runs every engine on every mutant, one process a core, and prints who killed whom."""
    from proofkv_verify.search.power import measure_power, to_json

    chosen, workers, start = check_engines(engines), os.cpu_count() or 1, time.monotonic()
    share = budget_s * workers / (len(MUTANTS) * len(chosen))
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors(), transient=True) as progress:
        task = progress.add_task("mutants", total=len(MUTANTS))

        def step(row: MutantRow, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, description=row.name)

        rows = measure_power(MUTANTS.values(), chosen, share, seed, step, workers)
    document = to_json(rows, time.monotonic() - start)
    out = human(json_path)
    out.print(_power_table(rows, chosen))
    out.print(f"{document['killed']} of {document['total']} mutants killed in {document['seconds']:.1f} s")
    write_json(json_path, document)
    return OK if document["killed"] == document["total"] else UNDECIDED


def _power_table(rows: Sequence[MutantRow], engines: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("mutant", no_wrap=True)
    table.add_column("wrong variant of", no_wrap=True)
    for engine in engines:
        table.add_column(engine, justify="right", no_wrap=True, min_width=7)
    table.add_column("size", justify="right", no_wrap=True, min_width=4)
    for row in rows:
        cells = [_power_cell(result) for result in row.results]
        name = Text(row.name, "default" if row.killed else "bold red")
        table.add_row(name, row.bound, *cells, "-" if row.smallest is None else str(row.smallest))
    return table


def _power_cell(result: SearchResult) -> Text:
    if result.counterexample is None:
        return Text("-", "dim")
    seconds = result.seconds if result.found_after is None else result.found_after
    return Text(f"{seconds:.2f} s", "green")


def _search(claim: Claim, engine: str, budget_s: float, seed: int, source: str) -> SearchResult:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors(), transient=True) as progress:
        task = progress.add_task(engine)

        def step(cases: int, _seconds: float) -> None:
            progress.update(task, description=f"{engine}: {cases:,} cases")

        return find_counterexample(claim, engine, budget_s=budget_s, seed=seed, progress=step, source=source)


def _engine_line(result: SearchResult) -> str:
    end = "no counterexample" if result.counterexample is None else "refuted"
    tight = "" if result.tightness is None else f", best true/claimed {result.tightness:.4g}"
    note = f" ({result.note})" if result.note else ""
    return f"{result.engine:<8} {end} in {result.cases:,} cases, {result.seconds:.1f} s{tight}{note}"


def _show(out: Console, found: Counterexample, claim: Claim) -> None:
    out.print()
    for line in replayed(found, replay(found, claim)):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _document(target: str, results: Sequence[SearchResult], found: Counterexample | None) -> dict[str, Any]:
    rows = [
        {
            "engine": r.engine,
            "refuted": r.counterexample is not None,
            "cases": r.cases,
            "seconds": round(r.seconds, 3),
            "tightness": r.tightness,
            "note": r.note,
        }
        for r in results
    ]
    return {
        "schema": "proofkv-verify/refute/1",
        "target": target,
        "status": "survived" if found is None else "refuted",
        "engines": rows,
        "counterexample": None if found is None else json.loads(to_json(found)),
    }
