"""The two ways to check all modules: the WebAssembly Lean, module by module, and `lake build`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from proofkv_verify.prove.messages import Message, parse_messages, read_theorems
from proofkv_verify.prove.outcome import Outcome
from proofkv_verify.prove.schedule import run_all
from proofkv_verify.prove.sources import Module, content_keys, is_unchanged, order_modules, own_imports
from proofkv_verify.prove.store import Store
from proofkv_verify.prove.toolchain import WasmLean, prepare_wasm
from proofkv_verify.prove.wasm import Checked, wasm_checkers

AUDIT = "ProofKVAudit"
TABLE = "theorems.json"
_PARTS = (".olean", ".olean.server", ".olean.private", ".ir")  # What Lean writes for a module.
_FEW = 10  # A start costs as much as some ten modules: so few are left to one process.


def prove_wasm(lean_dir: Path, modules: dict[str, Module], cache: Path, jobs: int, text: IO[str]) -> Outcome:
    """Check the modules with at most `jobs` resident Leans; the files of checked modules are kept in `cache`."""
    lean = prepare_wasm(cache, lambda line: print(line, file=text, flush=True))
    store = Store(cache / "store")
    store.prune()
    keys = content_keys(order_modules(modules), modules, _salt(lean))
    with store.run_folder() as out_dir:
        run = WasmRun(modules, keys, store, out_dir, Outcome("wasm"), text)
        waiting = {name: module for name, module in modules.items() if not run.is_kept(module)}
        if len(waiting) < _FEW:
            jobs = min(jobs, 1)
        with wasm_checkers(lean, lean_dir, out_dir, jobs if waiting else 0) as checkers:
            run_all(waiting, jobs, lambda worker, module: run.check(module, checkers[worker]))
            run.outcome.peak_bytes = sum(checker.peak_bytes() for checker in checkers)
        if run.outcome.all_good and (out_dir / TABLE).exists():
            run.outcome.theorems = read_theorems(out_dir / TABLE, lean_dir)
    return run.outcome


def _salt(lean: WasmLean) -> str:
    return lean.version + hashlib.sha256((Path(__file__).parent / "Serve.lean").read_bytes()).hexdigest()


class Checker(Protocol):
    """What checks one module: a `WasmChecker`."""

    def check(self, module: Module) -> Checked:
        """Check one module whose imports are checked."""


@dataclass(frozen=True, slots=True)
class WasmRun:
    """One run: modules, their keys, the store, the folder of the object files, what was found, where to report."""

    modules: dict[str, Module]
    keys: dict[str, str]
    store: Store
    out_dir: Path
    outcome: Outcome
    text: IO[str]

    def is_kept(self, module: Module) -> bool:
        """Whether the store has the files of a module; then they are put in place."""
        if not self.store.fetch(self.keys[module.name], self._files(module)):
            return False
        self._report(module, "cached")
        return True

    def check(self, module: Module, checker: Checker) -> None:
        """Check one module; `ok`, `FAILED`, or `skipped` when a module that it imports failed."""
        if not all(self.outcome.is_good(name) for name in own_imports(module, self.modules)):
            self._report(module, "skipped")
            return
        begin = time.monotonic()
        if module.name == AUDIT:
            (self.out_dir / TABLE).write_text("", encoding="utf-8")  # The audit fills a table that is there.
        checked = checker.check(module)
        self.outcome.messages += checked.messages
        unchanged = is_unchanged(module)
        if not unchanged:
            self.outcome.messages.append(_overtaken(module))
        good = checked.ok and unchanged
        if good:
            self.store.keep(self.keys[module.name], self._files(module))
        self._report(module, "ok" if good else "FAILED", f"  {time.monotonic() - begin:.1f} s")

    def _report(self, module: Module, state: str, took: str = "") -> None:
        self.outcome.states[module.name] = state
        print(f"{state:8}{module.name}{took}", file=self.text, flush=True)

    def _files(self, module: Module) -> dict[str, Path]:
        base = self.out_dir / Path(*module.name.split("."))
        files = {part: base.with_name(base.name + part) for part in _PARTS}
        return files | {TABLE: self.out_dir / TABLE} if module.name == AUDIT else files


def _overtaken(module: Module) -> Message:
    """An edit during the check: which text was checked is not known, nor what the modules after it would import."""
    file = "/".join(module.name.split(".")) + ".lean"
    return Message(file, 0, 0, "error", "the file changed while it was checked; run again")


def prove_lake(lake: Path, lean_dir: Path, modules: dict[str, Module], cache: Path, text: IO[str]) -> Outcome:
    """Check the modules with `lake build`; any warning fails."""
    cache.mkdir(parents=True, exist_ok=True)
    table = cache / TABLE
    table.unlink(missing_ok=True)
    environment = os.environ | {"PROOFKV_THEOREMS": str(table.resolve())}
    done = subprocess.run(
        [str(lake), "build", "--wfail", "ProofKV", "ProofKVTest", AUDIT],
        cwd=lean_dir,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, file=text)
    outcome = Outcome("lake", messages=parse_messages(map(_severity_after_place, done.stdout.splitlines())))
    outcome.states = dict.fromkeys(modules, "ok" if done.returncode == 0 else "FAILED")
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
