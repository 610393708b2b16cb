"""The proof check as one run: choose an engine, check every module, audit the axioms, compare the table of theorems."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import IO

from proofkv_verify.errors import InvalidInputError, ProofkvError, SolverUnavailableError
from proofkv_verify.prove.engines import AUDIT, TABLE, prove_lake, prove_wasm
from proofkv_verify.prove.messages import Theorem, theorem_changes, theorems_json
from proofkv_verify.prove.outcome import Outcome, print_outcome, write_json
from proofkv_verify.prove.sources import not_imported, read_modules
from proofkv_verify.prove.toolchain import default_cache, find_lake

_ROOT = "ProofKV"
_BYTES_PER_JOB = 4 * 10**9
PROVED, FAILED, USAGE, NO_LEAN = 0, 1, 2, 3


def run_prove(
    engine: str = "auto",
    json_path: str | None = None,
    *,
    lean_dir: Path | None = None,
    cache_dir: Path | None = None,
    write_theorems: bool = False,
    jobs: int | None = None,
) -> int:
    """Check all Lean proofs and their axioms, and print the result.

    Args:
        engine: `lake`, `wasm`, or `auto` (lake when it is on the path).
        json_path: file for the result as JSON, `-` for standard output (text then goes to standard error).
        lean_dir: the Lean project; default is `lean/` beside the package.
        cache_dir: downloads and object files; default is the user's cache folder.
        write_theorems: write the table of theorems instead of comparing it with the committed one.
        jobs: resident processes of the wasm engine; default is `default_jobs()`.

    Returns:
        0 proved, 1 a proof, the audit or the comparison fails, 2 bad usage, 3 no Lean to be had.
    """
    text = sys.stderr if json_path == "-" else sys.stdout
    try:
        outcome = _prove(
            engine, lean_dir or _default_lean_dir(), cache_dir or default_cache(), write_theorems, jobs, text
        )
    except SolverUnavailableError as error:
        print(f"no Lean: {error}", file=sys.stderr)
        return NO_LEAN
    except InvalidInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except ProofkvError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    print_outcome(outcome, text)
    write_json(outcome, json_path)
    return PROVED if outcome.proved else FAILED


def default_jobs() -> int:
    """Two resident processes where there are two processors and 4 GB of available memory for each, otherwise one."""
    return 2 if (os.cpu_count() or 1) >= 2 and _available_bytes() >= 2 * _BYTES_PER_JOB else 1


def _available_bytes() -> int:
    """Memory that is available now (Linux; elsewhere 0, as not known)."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return 0
    lines = [line.split() for line in meminfo.read_text().splitlines() if line.startswith("MemAvailable:")]
    return int(lines[0][1]) * 1024 if lines else 0


def _default_lean_dir() -> Path:
    return Path(__file__).resolve().parents[2] / "lean"


def _prove(engine: str, lean_dir: Path, cache: Path, write: bool, jobs: int | None, text: IO[str]) -> Outcome:
    if engine not in ("auto", "lake", "wasm"):
        raise InvalidInputError("engine", "auto, lake or wasm", engine)
    if jobs is not None and jobs < 1:
        raise InvalidInputError("jobs", "at least 1", jobs)
    start = time.monotonic()
    modules = read_modules(lean_dir)
    lake = find_lake()
    if engine == "lake" and lake is None:
        raise SolverUnavailableError("lake is not on the path; use --engine wasm")
    if lake is not None and engine != "wasm":
        outcome = prove_lake(lake, lean_dir, modules, cache, text)
    else:
        outcome = prove_wasm(lean_dir, modules, cache, jobs or default_jobs(), text)
    for importer in (_ROOT, AUDIT):
        missing = not_imported(modules, importer, _ROOT)
        outcome.differences += [f"{name}: not imported by {importer}.lean" for name in missing]
    if outcome.theorems:
        outcome.differences += _compare(outcome.theorems, lean_dir, write)
    elif outcome.all_good:
        outcome.differences.append("the audit wrote no table of theorems")
    outcome.seconds = time.monotonic() - start
    return outcome


def _compare(theorems: list[Theorem], lean_dir: Path, write: bool) -> list[str]:
    committed = lean_dir.parent / "proofs" / TABLE
    fresh = theorems_json(theorems)
    if write:
        committed.parent.mkdir(exist_ok=True)
        committed.write_text(fresh, encoding="utf-8")
        return []
    old = committed.read_text(encoding="utf-8") if committed.exists() else ""
    return theorem_changes(old, fresh)
