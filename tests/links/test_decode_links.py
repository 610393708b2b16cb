"""What decoding leans on: every link holds; a renamed function, a lost test, a missing or weak theorem do not pass."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proofkv_verify.cli import app
from proofkv_verify.commands import status
from proofkv_verify.decode import page_plan
from proofkv_verify.links.checks import NOT_EXPORTED, Context, context_of
from proofkv_verify.links.decode_checks import undeclared_uses, use_gaps
from proofkv_verify.links.index import Use, load_index, parse_index
from proofkv_verify.links.lean_source import Sources
from proofkv_verify.links.page import document, markdown

ROOT = Path(__file__).parents[2]
INDEX = load_index(ROOT)
CHARGES = "ProofKV.attention_error_le_charges"
WANTED = {"argmax", "refinement", "composition", "page-additive bound", "RMSNorm", "sequence"}


@pytest.fixture(scope="module")
def context() -> Context:
    return context_of(INDEX, ROOT)


def gaps(context: Context, name: str = "page-additive bound", **changed: object) -> list[str]:
    return list(use_gaps(replace(context.index.decode[name], **changed), context))


def with_lean(context: Context, old: str, new: str) -> Context:
    assert any(old in text for text in context.sources.files.values()), old
    files = {path: text.replace(old, new) for path, text in context.sources.files.items()}
    return replace(context, sources=Sources(files, context.sources.exported))


@pytest.mark.parametrize("name", INDEX.decode)
def test_every_link_of_the_step_holds(name: str, context: Context) -> None:
    assert gaps(context, name) == []


def test_the_table_has_what_decoding_leans_on(context: Context) -> None:
    assert set(context.index.decode) >= WANTED
    assert set(undeclared_uses(context)) == set(context.index.decode)


def test_theorems_named_in_decode_are_in_the_table(context: Context) -> None:
    listed = {name for use in context.index.decode.values() for name in use.lean}
    for path in (ROOT / "proofkv_verify" / "decode").glob("*.py"):
        cited = [line.split("Lean: ")[1].strip() for line in path.read_text().splitlines() if "Lean: " in line]
        assert set(cited) <= listed, path


def test_a_renamed_function_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(page_plan, "page_charges")
    assert "code: no object proofkv_verify.decode.page_plan:page_charges" in gaps(context)


@pytest.mark.parametrize(
    "name",
    [
        "proofkv_verify.decode.gone:page_charges",
        "proofkv_verify.decode.loop:Gaps.gone",
        "proofkv_verify.decode.loop",
        "",
        ":x",
    ],
)
def test_code_that_does_not_exist_is_noticed(name: str, context: Context) -> None:
    assert f"code: no object {name}" in gaps(context, code=(name,))


def test_a_missing_theorem_is_noticed(context: Context) -> None:
    found = gaps(context, lean=("ProofKV.attention_error_le_charge",))
    assert "lean: no theorem ProofKV.attention_error_le_charge in the sources" in found
    assert "lean: proofs/index.toml does not state ProofKV.attention_error_le_charge" in found


def test_a_theorem_that_lean_did_not_export_is_noticed(context: Context) -> None:
    exported = {name: axioms for name, axioms in (context.sources.exported or {}).items() if name != CHARGES}
    partly = replace(context, sources=replace(context.sources, exported=exported))
    assert f"lean: {CHARGES} is not among the theorems that Lean exported" in gaps(partly)
    blind = replace(context, sources=replace(context.sources, exported=None))
    assert NOT_EXPORTED in gaps(blind)


def test_a_planted_axiom_is_noticed(context: Context) -> None:
    exported = {**(context.sources.exported or {}), CHARGES: frozenset({"sorryAx"})}
    assert f"lean: {CHARGES} rests on sorryAx" in gaps(
        replace(context, sources=replace(context.sources, exported=exported))
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("page-additive bound", "(hradii : PageRadii B I page w w' v v' ρ D η)", "(hradii : True)"),
        ("page-additive bound", "upper : ∀ i ∈ I, w i ≤ ρ (page i) * w' i", "upper : ∀ i ∈ I, w i ≤ w' i"),
        ("page-additive bound", "pageTop I page ρ w' p * ((1 - 1 / ρ p) * D p + η p)", "D p + η p"),
        ("argmax", "(hmargin : ∀ i, i ≠ w → m i < e w - e i)", "(hmargin : ∀ i, i ≠ w → 2 * m i < e w - e i)"),
        ("sequence", "(hpages : ∀ s' t, originals", "(hpages : ∀ s' t, True ∧ originals"),
        ("refinement", "exact : ∀ s, left s = 0 → ∀ i, est s i = l i", "exact : ∀ s i, est s i = l i"),
        ("composition", "lipProd ls * d x y + errSum ls\n", "2 * lipProd ls * d x y + errSum ls\n"),
    ],
)
def test_a_weaker_theorem_is_noticed(name: str, old: str, new: str, context: Context) -> None:
    assert any(gap.startswith("lean: ") for gap in gaps(with_lean(context, old, new), name))


def test_lost_tests_and_empty_fields_are_noticed(context: Context) -> None:
    assert "no file tests/decode/gone.py" in gaps(context, tests=("tests/decode/gone.py::test_x",))
    lost = ("tests/decode/test_page_plan.py::test_x",)
    assert "no test test_x in tests/decode/test_page_plan.py" in gaps(context, tests=lost)
    found = gaps(context, lean=(), code=(), tests=(), covers=(), does_not_cover=(), relies_on="")
    assert found == [f"{word} is empty" for word in ("relies_on", "lean", "code", "tests", "covers", "does_not_cover")]


def test_the_document_lists_the_steps_beside_the_bounds() -> None:
    table = replace(
        parse_index(""), decode={"x": Use("x", "a fact.", ("ProofKV.y",), ("m:f",), (), (), (), ("paper",))}
    )
    found = document(table, {}, {"x": ["no file z"]})
    assert found["bounds"] == []
    row = {"name": "x", "lean": ["ProofKV.y"], "code": ["m:f"], "tests": [], "gaps": ["paper", "undeclared: no file z"]}
    assert found["decode"] == [row]
    page = markdown(table)
    assert "# Certified decoding" in page
    assert "- Gap: paper" in page
    assert "# Certified decoding" not in markdown(parse_index(""))


def test_status_fails_on_a_broken_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "undeclared_gaps", lambda context: {})
    monkeypatch.setattr(status, "undeclared_uses", lambda context: {"argmax": ("code: no object m:f",)})
    done = CliRunner().invoke(app, ["status"])
    assert done.exit_code == 1
    assert "argmax: undeclared: code: no object m:f" in done.stdout
    assert "every gap is declared" not in done.stdout
