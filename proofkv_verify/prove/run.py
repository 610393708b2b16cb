"""The proof check as one run: choose an engine, check every module, audit the axioms, compare the table of theorems."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from proofkv_verify.errors import InvalidInputError, ProofkvError, SolverUnavailableError
from proofkv_verify.prove.messages import (
    Message,
    Theorem,
    axiom_table,
    parse_messages,
    read_theorems,
    theorem_changes,
    theorems_json,
)
from proofkv_verify.prove.schedule import run_all
from proofkv_verify.prove.sources import (
    Module,
    content_keys,
    is_unchanged,
    not_imported,
    order_modules,
    own_imports,
    read_modules,
)
from proofkv_verify.prove.toolchain import WasmLean, default_cache, find_lake, prepare_wasm
from proofkv_verify.prove.wasm import WasmChecker, wasm_checker

_ROOT = "ProofKV"
_GOOD = frozenset({"ok", "cached"})
_AUDIT = "ProofKVAudit"
_TABLE = "theorems.json"
PROVED, FAILED, USAGE, NO_LEAN = 0, 1, 2, 3


@dataclass(slots=True)
class Outcome:
    """What a run found: a state for each module, messages, theorems, differences, peak memory in bytes."""

    engine: str
    states: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    theorems: list[Theorem] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    peak_bytes: int = 0
    seconds: float = 0.0

    @property
    def proved(self) -> bool:
        """Every module was checked without a message and the table of theorems is the committed one."""
        good = all(state in _GOOD for state in self.states.values())
        return good and not self.messages and not self.differences and bool(self.states)


def run_prove(
    engine: str = "auto",
    json_path: str | None = None,
    *,
    lean_dir: Path | None = None,
    cache_dir: Path | None = None,
    write_theorems: bool = False,
    jobs: int = 1,
) -> int:
    """Check all Lean proofs and their axioms, and print the result.

    Args:
        engine: `lake`, `wasm`, or `auto` (lake when it is on the path).
        json_path: file for the result as JSON, `-` for standard output (text then goes to standard error).
        lean_dir: the Lean project; default is `lean/` beside the package.
        cache_dir: downloads and object files; default is the user's cache folder.
        write_theorems: write the table of theorems instead of comparing it with the committed one.
        jobs: resident processes of the wasm engine, up to 5 GB of memory each.

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
    _print_result(outcome, text)
    _write_json(outcome, json_path)
    return PROVED if outcome.proved else FAILED


def _default_lean_dir() -> Path:
    return Path(__file__).resolve().parents[2] / "lean"


def _prove(engine: str, lean_dir: Path, cache: Path, write: bool, jobs: int, text: IO[str]) -> Outcome:
    if engine not in ("auto", "lake", "wasm"):
        raise InvalidInputError("engine", "auto, lake or wasm", engine)
    if jobs < 1:
        raise InvalidInputError("jobs", "at least 1", jobs)
    start = time.monotonic()
    modules = read_modules(lean_dir)
    lake = find_lake()
    if engine == "lake" and lake is None:
        raise SolverUnavailableError("lake is not on the path; use --engine wasm")
    if lake is not None and engine != "wasm":
        outcome = _prove_lake(lake, lean_dir, modules, cache, text)
    else:
        outcome = _prove_wasm(lean_dir, modules, cache, jobs, text)
    for importer in (_ROOT, _AUDIT):
        missing = not_imported(modules, importer, _ROOT)
        outcome.differences += [f"{name}: not imported by {importer}.lean" for name in missing]
    if outcome.theorems:
        outcome.differences += _compare(outcome.theorems, lean_dir, write)
    elif all(state in _GOOD for state in outcome.states.values()):
        outcome.differences.append("the audit wrote no table of theorems")
    outcome.seconds = time.monotonic() - start
    return outcome


def _prove_wasm(lean_dir: Path, modules: dict[str, Module], cache: Path, jobs: int, text: IO[str]) -> Outcome:
    lean = prepare_wasm(cache, lambda line: print(line, file=text, flush=True))
    place = hashlib.sha256(str(lean_dir.resolve()).encode()).hexdigest()[:16]
    out_dir = cache / "build" / place
    ordered = order_modules(modules)
    keys = content_keys(ordered, modules, _salt(lean))
    stamps = _Stamps(out_dir / "keys.json")
    outcome = Outcome("wasm")
    with ExitStack() as stack:
        checkers = [stack.enter_context(wasm_checker(lean, lean_dir, out_dir)) for _ in range(jobs)]

        def check(worker: int, module: Module) -> None:
            begin = time.monotonic()
            state = _state(module, modules, keys, stamps, checkers[worker], out_dir, outcome)
            outcome.states[module.name] = state
            took = f"  {time.monotonic() - begin:.1f} s" if state in ("ok", "FAILED") else ""
            print(f"{state:8}{module.name}{took}", file=text, flush=True)

        run_all(modules, jobs, check)
    outcome.peak_bytes = sum(checker.peak_bytes for checker in checkers)
    table = out_dir / _TABLE
    if table.exists() and all(state in _GOOD for state in outcome.states.values()):
        outcome.theorems = read_theorems(table, lean_dir)
    return outcome


def _state(
    module: Module,
    modules: dict[str, Module],
    keys: dict[str, str],
    stamps: _Stamps,
    checker: WasmChecker,
    out_dir: Path,
    outcome: Outcome,
) -> str:
    if any(outcome.states[name] not in _GOOD for name in own_imports(module, modules)):
        return "skipped"
    object_file = out_dir / Path(*module.name.split(".")).with_suffix(".olean")
    if stamps.matches(module.name, keys[module.name]) and object_file.exists():
        return "cached"
    stamps.forget(module.name)
    if module.name == _AUDIT:
        (out_dir / _TABLE).write_text("", encoding="utf-8")  # The audit fills a table that is there.
    checked = checker.check(module)
    outcome.messages += checked.messages
    if not checked.ok:
        return "FAILED"
    if is_unchanged(module):
        stamps.record(module.name, keys[module.name])
    return "ok"


def _prove_lake(lake: Path, lean_dir: Path, modules: dict[str, Module], cache: Path, text: IO[str]) -> Outcome:
    cache.mkdir(parents=True, exist_ok=True)
    table = cache / _TABLE
    table.unlink(missing_ok=True)
    environment = os.environ | {"PROOFKV_THEOREMS": str(table.resolve())}
    done = subprocess.run(
        [str(lake), "build", "--wfail", "ProofKV", "ProofKVTest", "ProofKVAudit"],
        cwd=lean_dir,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, file=text)
    outcome = Outcome("lake", messages=parse_messages(map(_severity_after_place, done.stdout.splitlines())))
    state = "ok" if done.returncode == 0 else "FAILED"
    outcome.states = dict.fromkeys(modules, state)
    if table.exists():
        outcome.theorems = read_theorems(table, lean_dir)
    return outcome


def _severity_after_place(line: str) -> str:
    """Lake prints `error: file:line:col: text`; the compiler prints the severity after the place."""
    for kind in ("error", "warning"):
        if line.startswith(f"{kind}: ") and line.count(":") >= 4:
            place, _, rest = line.removeprefix(f"{kind}: ").partition(": ")
            return f"{place}: {kind}: {rest}"
    return line


def _compare(theorems: list[Theorem], lean_dir: Path, write: bool) -> list[str]:
    committed = lean_dir.parent / "proofs" / _TABLE
    fresh = theorems_json(theorems)
    if write:
        committed.parent.mkdir(exist_ok=True)
        committed.write_text(fresh, encoding="utf-8")
        return []
    old = committed.read_text(encoding="utf-8") if committed.exists() else ""
    return theorem_changes(old, fresh)


def _salt(lean: WasmLean) -> str:
    return lean.version + hashlib.sha256((Path(__file__).parent / "Serve.lean").read_bytes()).hexdigest()


class _Stamps:
    """The keys of the modules that were checked without a message, kept in a JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._keys: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._keys = {}

    def matches(self, name: str, key: str) -> bool:
        return self._keys.get(name) == key

    def forget(self, name: str) -> None:
        with self._lock:
            if self._keys.pop(name, None) is not None:
                self._save()

    def record(self, name: str, key: str) -> None:
        with self._lock:
            self._keys[name] = key
            self._save()

    def _save(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self._keys, indent=0), encoding="utf-8")
        part.replace(self._path)


def _print_result(outcome: Outcome, text: IO[str]) -> None:
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


def _write_json(outcome: Outcome, json_path: str | None) -> None:
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
