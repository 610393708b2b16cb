"""Reading Lean's messages and the table of theorems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofkv_verify.errors import CertificateFormatError
from proofkv_verify.prove.messages import (
    Message,
    Theorem,
    axiom_table,
    parse_messages,
    read_theorems,
    theorem_changes,
    theorems_json,
)


def theorem(name: str, type_: str = "True", axioms: tuple[str, ...] = ()) -> Theorem:
    return Theorem(name, "ProofKV.Thm.X", 7, type_, axioms, "**A fact**: it holds.")


def test_a_message_keeps_its_place_and_all_its_lines() -> None:
    lines = [
        "/src/P/X.lean:3:27: error: Type mismatch",
        "  rfl",
        "/src/P/Y.lean:1:0: warning: declaration uses `sorry`",
    ]
    assert parse_messages(lines) == [
        Message("P/X.lean", 3, 27, "error", "Type mismatch\n  rfl"),
        Message("P/Y.lean", 1, 0, "warning", "declaration uses `sorry`"),
    ]


def test_a_message_with_an_error_code_is_read() -> None:
    [message] = parse_messages(["/src/P.lean:4:1: error(lean.unknownIdentifier): Unknown identifier `x`"])
    assert (message.kind, message.text) == ("error", "Unknown identifier `x`")


def test_a_message_without_a_place_is_read() -> None:
    [message] = parse_messages(["/src/P.lean: error: no such file"])
    assert (message.file, message.line) == ("P.lean", 0)


def test_the_table_is_sorted_and_its_lines_come_from_the_sources(tmp_path: Path) -> None:
    source = tmp_path / "ProofKV" / "Thm" / "X.lean"
    source.parent.mkdir(parents=True)
    source.write_text("module\n/-- D -/\ntheorem a : True := trivial\n\ntheorem b {x : Nat} :\n    True := trivial\n")
    path = tmp_path / "t.json"
    row = {"name": "ProofKV.b", "module": "ProofKV.Thm.X", "axioms": ["propext"], "type": "True"}
    path.write_text(json.dumps([row, row | {"name": "ProofKV.a"}]))
    table = [(t.name, t.line, t.doc) for t in read_theorems(path, tmp_path)]
    assert table == [("ProofKV.a", 3, "D"), ("ProofKV.b", 5, "")]


def test_a_damaged_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"name": "a"}]')
    with pytest.raises(CertificateFormatError):
        read_theorems(path, tmp_path)


def test_a_changed_statement_is_noticed() -> None:
    old = theorems_json([theorem("a", "x <= 1"), theorem("b")])
    new = theorems_json([theorem("a", "x <= 2"), theorem("c")])
    assert theorem_changes(old, new) == ["b: no longer there", "c: new", "a: type changed"]


def test_equal_tables_have_no_changes() -> None:
    table = theorems_json([theorem("a")])
    assert theorem_changes(table, table) == []


def test_the_axiom_table_counts_theorems_by_their_axioms() -> None:
    table = axiom_table([theorem("a"), theorem("b", axioms=("propext",)), theorem("c", axioms=("propext",))])
    assert table == [("none", 1), ("propext", 2)]
