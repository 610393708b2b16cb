"""What a real Lean does with the development and with planted faults."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import Any

import pytest

from proofkv_verify.prove import run_prove
from proofkv_verify.prove.roots import write_roots
from proofkv_verify.prove.sources import read_modules
from proofkv_verify.prove.toolchain import default_cache, find_lake, is_unpacked, prepare_wasm
from proofkv_verify.prove.wasm import wasm_checkers

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.lean,
    pytest.mark.skipif(
        find_lake() is None and not is_unpacked(default_cache()),
        reason="no Lean here yet: run `make lean` once",
    ),
]

GOOD = "/-- D. -/\ntheorem good : 1 + 1 = 2 := rfl"
BROKEN = "/-- D. -/\ntheorem broken : 1 + 1 = 3 := rfl"
SORRY = "/-- D. -/\ntheorem unproved : 1 + 1 = 3 := sorry"
HIDDEN = "set_option warn.sorry false\n\n/-- D. -/\ntheorem hidden : 1 + 1 = 3 := sorry"
AXIOM = "/-- D. -/\naxiom planted : 1 + 1 = 3\n\n/-- D. -/\ntheorem from_axiom : 1 + 1 = 3 := planted"


NEW = secrets.token_hex(8)  # No run before this one has checked these sources.


def module(body: str) -> str:
    return f"module\n\npublic section\n\nnamespace ProofKV\n\n{body}\n\nend ProofKV\nend\n-- {NEW}\n"


def project(folder: Path, **theorems: str) -> Path:
    """A Lean project with one module for each theorem, the root file and the audit."""
    thm = folder / "ProofKV" / "Thm"
    thm.mkdir(parents=True, exist_ok=True)
    for name, body in theorems.items():
        (thm / f"{name}.lean").write_text(module(body))
    shutil.copy(ROOT / "lean" / "ProofKVAudit.lean", folder / "ProofKVAudit.lean")
    write_roots(folder)
    return folder


def check(folder: Path) -> tuple[int, dict[str, Any]]:
    result = folder / "result.json"
    code = run_prove("wasm", str(result), lean_dir=folder)
    return code, json.loads(result.read_text())


@pytest.mark.slow
def test_a_broken_proof_and_a_sorry_fail_and_a_good_proof_passes(tmp_path: Path) -> None:
    code, result = check(project(tmp_path / "lean", Good=GOOD, Broken=BROKEN, Sorry=SORRY))
    assert code == 1
    states = result["modules"]
    assert states["ProofKV.Thm.Good"] == "ok"
    assert states["ProofKV.Thm.Broken"] == "FAILED"
    assert states["ProofKV.Thm.Sorry"] == "FAILED"
    assert states["ProofKV"] == states["ProofKVAudit"] == "skipped"
    places = {(m["file"], m["line"]) for m in result["messages"]}
    assert {("ProofKV/Thm/Broken.lean", 8), ("ProofKV/Thm/Sorry.lean", 8)} <= places


@pytest.mark.slow
def test_the_audit_finds_a_planted_axiom_and_a_hidden_sorry(tmp_path: Path) -> None:
    code, result = check(project(tmp_path / "lean", Good=GOOD, Hidden=HIDDEN, Axiom=AXIOM))
    assert code == 1
    assert result["modules"]["ProofKVAudit"] == "FAILED"
    [message] = [m["text"] for m in result["messages"] if m["file"] == "ProofKVAudit.lean"]
    assert "ProofKV.planted" in message
    assert "sorryAx" in message


@pytest.mark.slow
def test_a_good_project_is_proved_cached_and_a_changed_statement_is_noticed(tmp_path: Path) -> None:
    folder = project(tmp_path / "lean", Good=GOOD)
    assert run_prove("wasm", lean_dir=folder, write_theorems=True) == 0
    table = json.loads((tmp_path / "proofs" / "theorems.json").read_text())
    [row] = table["theorems"]
    assert (row["name"], row["type"], row["axioms"]) == ("ProofKV.good", "1 + 1 = 2", [])
    code, result = check(folder)
    assert code == 0
    assert set(result["modules"].values()) == {"cached"}
    (folder / "ProofKV" / "Thm" / "Good.lean").write_text(module(GOOD.replace("1 + 1 = 2", "1 + 2 = 3")))
    code, result = check(folder)
    assert code == 1
    assert result["differences"] == ["ProofKV.good: type changed"]


@pytest.mark.slow
def test_another_folder_with_the_same_sources_is_not_checked_again(tmp_path: Path) -> None:
    other = GOOD.replace("good", "elsewhere")
    assert run_prove("wasm", lean_dir=project(tmp_path / "one" / "lean", Elsewhere=other), write_theorems=True) == 0
    second = project(tmp_path / "two" / "lean", Elsewhere=other)
    code, result = check(second)
    assert code == 1  # There is no table beside it to compare with.
    assert set(result["modules"].values()) == {"cached"}
    assert [row["name"] for row in result["theorems"]] == ["ProofKV.elsewhere"]


@pytest.mark.slow
def test_the_audit_refuses_theorems_that_were_imported_without_their_proofs(tmp_path: Path) -> None:
    folder, out = project(tmp_path / "lean", Good=GOOD), tmp_path / "out"
    modules = read_modules(folder)
    with wasm_checkers(prepare_wasm(default_cache(), print), folder, out, 1) as [checker]:
        assert checker.check(modules["ProofKV.Thm.Good"]).ok
        assert checker.check(modules["ProofKVAudit"]).ok
        for part in (".olean.server", ".olean.private"):
            (out / "ProofKV" / "Thm" / f"Good{part}").unlink()
        # The checker keeps the imports of the last header; another module takes their place.
        assert checker.check(modules["ProofKV"]).ok
        [message] = checker.check(modules["ProofKVAudit"]).messages
    assert "theorems without a proof: ProofKV.good" in message.text


@pytest.mark.slow
def test_every_theorem_of_the_development_is_proved_and_the_committed_table_is_lean_s() -> None:
    assert run_prove("auto") == 0
