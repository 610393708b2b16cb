"""The table as it is read and shown."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.cli import app
from proofkv_verify.commands import status
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.links import index
from proofkv_verify.links.index import TABLE, Statement, load_index, parse_index
from proofkv_verify.links.lean_source import EXPORT, Sources, read_sources
from proofkv_verify.links.page import document, markdown

ROOT = Path(__file__).parents[2]
KEYS = ["slug", "lean", "reference", "fast", "smt", "fuzz", "sheet", "status", "gaps"]
THEOREM = """/-- Words with (brackets : α). -/
theorem small {I : List ι} {p : ι → α} (x : Rat)
    (hp : IsDist I p)
    (hpair : ∀ i ∈ I, ∀ j ∈ I,
      p (i) ≤ p j) :
    f (x : α) ≤ 1 ∧ ∀ y : α, y ≤ y := by
  simp
"""


def test_status_page_is_current() -> None:
    written = (ROOT / "docs" / "status.md").read_text()
    assert written == markdown(load_index(ROOT)), "run: python scripts/status_page.py"


def test_document_has_the_documented_layout() -> None:
    table = load_index(ROOT)
    found = document(table, {"softmax_tv_exact": ["no file x"], "softmax_tv_mean_upper": []})
    assert found["schema"] == "proofkv-verify/status/1"
    exact, mean = found["bounds"]
    assert list(exact) == list(mean) == KEYS
    assert (exact["slug"], exact["fast"], exact["status"]) == ("softmax_tv_exact", None, "proved")
    assert exact["gaps"] == [*table.bounds["softmax_tv_exact"].gaps, "undeclared: no file x"]
    assert mean["lean"] == "ProofKV.tv_le_mean"


def test_document_shows_a_bound_that_the_table_lacks() -> None:
    (row,) = document(parse_index(""), {"new_upper": ["no entry"]})["bounds"]
    assert row == {**dict.fromkeys(KEYS), "slug": "new_upper", "gaps": ["undeclared: no entry"]}


@pytest.mark.parametrize(("missing", "code"), [((), 0), (("no file fuzz/x.py",), 1)])
def test_status_command_fails_on_an_undeclared_gap(
    missing: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "undeclared_gaps", lambda context: dict.fromkeys(BOUNDS, missing))
    done = CliRunner().invoke(app, ["status", "--json", "-"])
    assert done.exit_code == code
    rows = json.loads(done.stdout)["bounds"]
    assert [row["slug"] for row in rows] == list(BOUNDS)
    assert ("undeclared: no file fuzz/x.py" in rows[0]["gaps"]) is bool(missing)
    assert ("quantizer_step_upper: undeclared: no file fuzz/x.py" in done.stderr) is bool(missing)
    assert ("every gap is declared" in done.stderr) is not bool(missing)


def test_status_outside_a_checkout_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "__file__", str(tmp_path / "site" / "proofkv_verify" / "links" / "index.py"))
    done = CliRunner().invoke(app, ["status"])
    assert done.exit_code == 2
    assert f"expected a checkout with {TABLE}" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slug =", "expected TOML"),
        ('[[bound]]\nslug = "x"\n', f"{TABLE}: x"),
        ('[[theorem]]\nname = "a"\nconclusion = "b"\nbinders = {}\nextra = 1\n', f"{TABLE}: a"),
        ('[[theorem]]\nname = "a"\nconclusion = "b"\nbinders = {}\n' * 2, "each name once"),
    ],
)
def test_a_malformed_table_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_index(text)


def test_a_missing_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="readable file"):
        load_index(tmp_path)


def test_a_statement_is_read_from_the_source() -> None:
    found = Sources({"a.lean": THEOREM}, None).statement("ProofKV.small")
    binders = {"x": "Rat", "hp": "IsDist I p", "hpair": "∀ i ∈ I, ∀ j ∈ I, p (i) ≤ p j"}
    assert found == Statement("ProofKV.small", binders, "f (x : α) ≤ 1 ∧ ∀ y : α, y ≤ y")


def test_what_is_not_in_the_source_is_none() -> None:
    sources = Sources({"a.lean": THEOREM}, None)
    assert sources.statement("ProofKV.smal") is None
    assert sources.fields("IsDist") is None
    assert sources.definition("tv") is None


def test_unbalanced_source_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="balanced"):
        Sources({"a.lean": "theorem small (h : 0 < 1"}, None).statement("small")


def test_the_export_of_lean_is_read(tmp_path: Path) -> None:
    rows = [{"name": "ProofKV.x", "type": "True", "axioms": ["propext"], "file": "a", "line": 1}]
    (tmp_path / EXPORT).parent.mkdir()
    (tmp_path / EXPORT).write_text(json.dumps({"theorems": rows}))
    assert read_sources(tmp_path).exported == {"ProofKV.x": frozenset({"propext"})}


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"theorems": [{"name": "ProofKV.x"}]}'])
def test_an_export_without_axioms_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / EXPORT).parent.mkdir()
    (tmp_path / EXPORT).write_text(text)
    with pytest.raises(InvalidInputError, match="name and axioms"):
        read_sources(tmp_path)
