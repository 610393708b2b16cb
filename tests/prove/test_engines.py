"""What one checked module leaves behind, with a stand-in for Lean."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from proofkv_verify.prove import run
from proofkv_verify.prove.engines import WasmRun
from proofkv_verify.prove.messages import Message
from proofkv_verify.prove.outcome import Outcome
from proofkv_verify.prove.sources import Module, content_keys, order_modules, read_modules
from proofkv_verify.prove.store import Store
from proofkv_verify.prove.wasm import Checked

WARNING = Message("A.lean", 1, 0, "warning", "declaration uses `sorry`")
PARTS = (".olean", ".olean.server", ".olean.private", ".ir")


class StandIn:
    """Answers every request with the same outcome after writing object files."""

    def __init__(self, out: Path, answer: Checked, before: Callable[[], object] = lambda: None) -> None:
        self.out, self.answer, self.before = out, answer, before

    def check(self, module: Module) -> Checked:
        self.before()
        for part in PARTS:
            (self.out / f"{module.name}{part}").write_text(module.name)
        return self.answer


def setting(tmp_path: Path) -> tuple[WasmRun, dict[str, Module]]:
    sources = tmp_path / "lean"
    sources.mkdir(exist_ok=True)
    (sources / "A.lean").write_text("module\n")
    (sources / "B.lean").write_text("module\nimport A\n")
    modules = read_modules(sources)
    keys = content_keys(order_modules(modules), modules, "salt")
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    return WasmRun(modules, keys, Store(tmp_path / "store"), out, Outcome("wasm"), io.StringIO()), modules


def test_a_module_that_was_checked_without_a_message_is_kept(tmp_path: Path) -> None:
    wasm, modules = setting(tmp_path)
    assert not wasm.is_kept(modules["A"])
    wasm.check(modules["A"], StandIn(wasm.out_dir, Checked((), 0)))
    again, _ = setting(tmp_path)
    assert again.is_kept(modules["A"])
    assert (wasm.outcome.states, again.outcome.states) == ({"A": "ok"}, {"A": "cached"})


@pytest.mark.parametrize("answer", [Checked((WARNING,), 0), Checked((), 1)])
def test_a_message_or_an_error_fails_the_module_and_skips_what_imports_it(tmp_path: Path, answer: Checked) -> None:
    wasm, modules = setting(tmp_path)
    wasm.check(modules["A"], StandIn(wasm.out_dir, answer))
    wasm.check(modules["B"], StandIn(wasm.out_dir, Checked((), 0)))
    assert wasm.outcome.states == {"A": "FAILED", "B": "skipped"}
    again, _ = setting(tmp_path)
    assert not again.is_kept(modules["A"])
    assert not again.is_kept(modules["B"])


def test_an_edit_during_the_check_fails_the_module_and_is_not_remembered(tmp_path: Path) -> None:
    wasm, modules = setting(tmp_path)
    edit = StandIn(wasm.out_dir, Checked((), 0), lambda: modules["A"].path.write_text("module\n-- edited\n"))
    wasm.check(modules["A"], edit)
    wasm.check(modules["B"], StandIn(wasm.out_dir, Checked((), 0)))
    assert wasm.outcome.states == {"A": "FAILED", "B": "skipped"}
    assert "changed while it was checked" in wasm.outcome.messages[0].text
    again, _ = setting(tmp_path)  # The text is what it was before.
    assert not again.is_kept(modules["A"])


@pytest.mark.parametrize(
    ("processors", "gigabytes", "jobs"), [(2, 16, 2), (8, 16, 2), (1, 16, 1), (2, 7, 1), (2, 0, 1), (None, 16, 1)]
)
def test_two_processes_where_processors_and_memory_allow(
    processors: int | None, gigabytes: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    monkeypatch.setattr(run, "_available_bytes", lambda: gigabytes * 10**9)
    assert run.default_jobs() == jobs


def test_no_processes_are_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "P.lean").write_text("module\n")
    assert run.run_prove("wasm", lean_dir=tmp_path, cache_dir=tmp_path / "c", jobs=0) == 2
