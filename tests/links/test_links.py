"""Every link of the table holds; a weakened hypothesis, a renamed function and a planted axiom do not pass."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.claims import Claim
from proofkv_verify.fast import softmax_tv_mean_upper
from proofkv_verify.links.checks import (
    NOT_EXPORTED,
    THEORY,
    Context,
    cited_labels,
    context_of,
    gaps_of,
    sound_when,
    theory_labels,
    undeclared_gaps,
)
from proofkv_verify.links.index import Entry, Index, find_root, load_index
from proofkv_verify.links.lean_source import ALLOWED_AXIOMS, EXPORT, NAMESPACE, Sources

ROOT = Path(__file__).parents[2]
MEAN = "softmax_tv_mean_upper"
ODDS = "softmax_tv_odds_upper"
L2 = "attention_l2_upper"


@pytest.fixture(scope="module")
def context() -> Context:
    return context_of(load_index(ROOT), ROOT)


def gaps(slug: str, context: Context) -> list[str]:
    return list(gaps_of(slug, context))


def with_entry(context: Context, entry: Entry) -> Context:
    return replace(context, index=replace(context.index, bounds={**context.index.bounds, entry.slug: entry}))


def changed(context: Context, slug: str, **fields: object) -> Context:
    return with_entry(context, replace(context.index.bounds[slug], **fields))


def with_lean(context: Context, old: str, new: str) -> Context:
    """The checkout with one text replaced wherever the Lean sources have it."""
    assert any(old in text for text in context.sources.files.values()), old
    files = {path: text.replace(old, new) for path, text in context.sources.files.items()}
    return replace(context, sources=Sources(files, context.sources.exported))


def with_axioms(context: Context, axioms: Mapping[str, frozenset[str]]) -> Context:
    named = {
        name: frozenset({"propext"}) for entry in context.index.bounds.values() for name in (entry.lean, *entry.also)
    }
    return replace(context, sources=replace(context.sources, exported={**named, **axioms}))


@pytest.mark.parametrize("slug", BOUNDS)
def test_every_link_of_the_bound_holds_and_every_gap_is_declared(slug: str, context: Context) -> None:
    assert gaps(slug, context) == []


def test_the_table_has_the_built_in_bounds_and_no_other(context: Context) -> None:
    assert set(context.index.bounds) == set(BOUNDS)


@pytest.mark.parametrize("slug", BOUNDS)
def test_theorems_of_the_bound_are_exported_by_lean_with_allowed_axioms_only(slug: str, context: Context) -> None:
    exported, entry = context.sources.exported, context.index.bounds[slug]
    assert exported is not None, NOT_EXPORTED
    for name in (entry.lean, *entry.also):
        assert exported[name] <= ALLOWED_AXIOMS, name


def test_no_exported_theorem_rests_on_another_axiom(context: Context) -> None:
    assert {axiom for axioms in (context.sources.exported or {}).values() for axiom in axioms} <= ALLOWED_AXIOMS


def test_exported_theorems_stand_where_the_export_says() -> None:
    rows = [row for row in json.loads((ROOT / EXPORT).read_text())["theorems"] if row["headline"]]
    assert len(rows) > len(BOUNDS)
    for row in rows:
        line = (ROOT / row["file"]).read_text().splitlines()[row["line"] - 1]
        assert line.split()[:2] == ["theorem", row["name"].removeprefix(NAMESPACE)]


def test_the_euclidean_norm_is_a_norm_of_the_output_theorems(context: Context) -> None:
    proved = "theorem isNormBound_euclid (J : List κ) : IsNormBound (EuclidLe (α := α) J) where"
    assert any(proved in text for text in context.sources.files.values())
    meaning = "(J : List κ) (x : κ → α) (t : α) : Prop := 0 ≤ t ∧ (sumOver J fun k => x k * x k) ≤ t * t"
    assert (context.sources.definition("EuclidLe") or "").endswith(meaning)


def test_a_missing_export_of_lean_is_an_undeclared_gap(context: Context) -> None:
    blind = replace(context, sources=replace(context.sources, exported=None))
    assert NOT_EXPORTED in gaps_of(MEAN, blind)


# A weakened hypothesis


def test_a_hypothesis_dropped_from_the_table_is_noticed(context: Context) -> None:
    entry = context.index.bounds[MEAN]
    assert any("hypotheses" in gap for gap in gaps(MEAN, changed(context, MEAN, hypotheses=entry.hypotheses[:-1])))


def test_hypotheses_in_another_order_are_noticed(context: Context) -> None:
    entry = context.index.bounds[MEAN]
    assert any("hypotheses" in gap for gap in gaps(MEAN, changed(context, MEAN, hypotheses=entry.hypotheses[::-1])))


def test_a_hypothesis_dropped_from_the_bound_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = BOUNDS[MEAN]
    monkeypatch.setitem(BOUNDS, MEAN, replace(bound, hypotheses=bound.hypotheses[1:]))
    assert any(gap.startswith("hypotheses: weights_positive") for gap in gaps(MEAN, context))


def test_a_hypothesis_dropped_from_the_docstring_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def weaker(x: object, m: object) -> None:
        """TV <= 1 - 1/A.

        Sound when: weights are positive; r_i >= 1.
        Source: docs/theory.md R3.
        """

    monkeypatch.setitem(BOUNDS, MEAN, replace(BOUNDS[MEAN], function=weaker))
    assert "docstring: 2 clauses under 'Sound when', 3 hypotheses" in gaps(MEAN, context)


def test_a_hypothesis_dropped_from_the_sheet_is_noticed(context: Context, tmp_path: Path) -> None:
    entry = context.index.bounds[MEAN]
    for path in (entry.fuzz, entry.sheet, entry.derivation, *entry.tests):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    text = (ROOT / entry.sheet).read_text()
    (tmp_path / entry.sheet).write_text(text)
    copied = replace(context, root=tmp_path)
    assert gaps(MEAN, copied) == []
    (tmp_path / entry.sheet).write_text(text.replace("2. `ratios_at_least_one`: r_i >= 1 for every token.\n", ""))
    assert any(f"in {entry.sheet}" in gap for gap in gaps(MEAN, copied))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "theorem tv_le_mean {I : List ι} {p r w : ι → α}\n    (hp : IsDist I p)",
            "theorem tv_le_mean {p r w : ι → α}",
        ),
        ("(hA : mean I p r ≤ 2)", "(hA : mean I p r ≤ 3)"),
        ("(hA : mean I p r ≤ 2)", "(hA : mean I p r ≤ 2)\n    (hmore : ∀ i ∈ I, r i ≤ 7)"),
        ("tv I (tilt I p w) p ≤ 1 - 1 / mean I p r :=", "tv I (tilt I p w) p ≤ 1 :="),
        ("  one_le : ∀ i ∈ I, 1 ≤ r i", "  one_le : ∀ i ∈ I, 0 ≤ r i"),
        ("  /-- `w i ≤ r i`. -/\n  upper : ∀ i ∈ I, w i ≤ r i\n", ""),
        ("theorem tv_le_mean ", "theorem tv_le_average "),
    ],
)
def test_a_changed_statement_in_the_lean_sources_is_noticed(old: str, new: str, context: Context) -> None:
    assert any("lean: " in gap for gap in gaps(MEAN, with_lean(context, old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(sumOver I fun i => absV (p i - q i)) / 2", "(sumOver I fun i => absV (p i - q i)) / 3"),
        ("def absV (a : α) : α := if 0 ≤ a then a else -a", "def absV (a : α) : α := a"),
    ],
)
def test_a_changed_definition_behind_a_theorem_is_noticed(old: str, new: str, context: Context) -> None:
    assert any("definition" in gap for gap in gaps(MEAN, with_lean(context, old, new)))


def test_a_hypothesis_of_lean_without_counterpart_is_noticed(context: Context) -> None:
    entry = context.index.bounds[ODDS]
    fewer = {name: why for name, why in entry.ensured.items() if name != "hpair"}
    assert "ProofKV.tv_le_odds assumes hpair, of which no hypothesis speaks" in gaps(
        ODDS, changed(context, ODDS, ensured=fewer)
    )


def test_a_main_theorem_that_the_table_does_not_state_is_noticed(context: Context) -> None:
    without = {name: row for name, row in context.index.theorems.items() if name != "ProofKV.tv_le_mean"}
    partly = replace(context, index=replace(context.index, theorems=without))
    assert "lean: proofs/index.toml does not state ProofKV.tv_le_mean" in gaps(MEAN, partly)


def test_a_bound_without_a_theorem_needs_a_gap(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, MEAN, replace(BOUNDS[MEAN], lean=""))
    bare = changed(context, MEAN, lean="", also=(), status="proved in part", gaps=("smt: open",))
    assert "no lean, and no gap says so" in gaps(MEAN, bare)
    assert "status: proved, but no theorem has all of the hypotheses" in gaps(
        MEAN, changed(bare, MEAN, status="proved")
    )


def test_a_premise_that_lean_does_not_have_is_noticed(context: Context) -> None:
    premises = {**context.index.bounds[MEAN].premises, "weights_positive": ("hp.positive",)}
    assert "ProofKV.tv_le_mean has no hypothesis hp.positive" in gaps(MEAN, changed(context, MEAN, premises=premises))


def test_a_hypothesis_outside_lean_needs_a_gap(context: Context) -> None:
    silent = changed(context, L2, premises={**context.index.bounds[L2].premises, "ratios_at_least_one": ()})
    text = "ratios_at_least_one is no hypothesis of ProofKV.attention_norm_le, and no gap says so"
    assert text in gaps(L2, silent)
    assert text not in gaps(L2, changed(silent, L2, gaps=("ratios_at_least_one enters on paper",)))


def test_proved_means_that_every_hypothesis_is_in_the_theorem(context: Context) -> None:
    premises = {**context.index.bounds[MEAN].premises, "ratios_at_least_one": ()}
    assert "status: proved, but no theorem has all of the hypotheses" in gaps(
        MEAN, changed(context, MEAN, premises=premises)
    )


# A renamed function, a missing file


def test_a_renamed_fast_path_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(softmax_tv_mean_upper, MEAN)
    assert any(gap.startswith("fast: ") for gap in gaps(MEAN, context))


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("reference", "proofkv_verify.bounds.softmax_tv_mean_upper:bound", "reference"),
        ("reference", "proofkv_verify.bounds.softmax_tv_odds_upper:BOUND", "reference"),
        ("truth", "proofkv_verify.reference.output:output_l2", "truth"),
        ("truth", "proofkv_verify.reference.gone:total_variation", "truth"),
        ("fast", "proofkv_verify.fast.softmax_tv_odds_upper:softmax_tv_odds_upper", "fast"),
        ("fast", "", "no fast"),
        ("smt", "softmax_tv: n=200", "smt"),
        ("smt", "gone: n=2", "smt"),
        ("smt", "argmax: vocab=3, hidden=0, candidate 1", "gives no query"),
        ("smt", "", "no smt"),
        ("fuzz", "fuzz/test_gone.py", "no file"),
        ("fuzz", "", "no fuzz"),
        ("sheet", "proofs/softmax_tv_odds_upper.md", "named after another bound"),
        ("derivation", "", "no derivation"),
        ("tests", (), "tests is empty"),
        ("covers", (), "covers is empty"),
        ("lean", "ProofKV.tv_le_odds", "in the bound"),
        ("also", ("ProofKV.tv_le_gone",), "no theorem"),
        ("source", ("R99",), "has no R99"),
        ("source", (), "the table does not"),
        ("status", "sound", "status"),
    ],
)
def test_a_wrong_entry_is_noticed(field: str, value: object, word: str, context: Context) -> None:
    bare = changed(context, MEAN, gaps=())
    assert any(word in gap for gap in gaps(MEAN, changed(bare, MEAN, **{field: value})))


def test_proved_in_part_needs_a_gap(context: Context) -> None:
    assert any(
        "no gap says which part" in gap for gap in gaps(MEAN, changed(context, MEAN, status="proved in part", gaps=()))
    )


def test_a_bound_without_an_entry_and_an_entry_without_a_bound_are_noticed(context: Context) -> None:
    rows = {name: row for name, row in context.index.bounds.items() if name in (MEAN, ODDS)}
    rows["softmax_tv_gone_upper"] = rows.pop(ODDS)
    found = undeclared_gaps(replace(context, index=Index(rows, context.index.theorems)))
    assert found[ODDS] == ("no entry in proofs/index.toml",)
    assert found["softmax_tv_gone_upper"] == ("no built-in bound of this name",)


# A planted axiom


@pytest.mark.parametrize("axiom", ["sorryAx", "ProofKV.cheat", "Lean.ofReduceBool"])
def test_a_planted_axiom_is_noticed(axiom: str, context: Context) -> None:
    planted = with_axioms(context, {"ProofKV.tv_le_mean": ALLOWED_AXIOMS | {axiom}})
    assert f"lean: ProofKV.tv_le_mean rests on {axiom}" in gaps(MEAN, planted)


def test_a_planted_axiom_under_a_further_theorem_is_noticed(context: Context) -> None:
    planted = with_axioms(context, {"ProofKV.tv_le_mean_sq": frozenset({"sorryAx"})})
    assert "lean: ProofKV.tv_le_mean_sq rests on sorryAx" in gaps(MEAN, planted)


def test_allowed_axioms_pass(context: Context) -> None:
    assert gaps(MEAN, with_axioms(context, {"ProofKV.tv_le_mean": ALLOWED_AXIOMS})) == []


def test_a_theorem_that_lean_did_not_export_is_noticed(context: Context) -> None:
    exported = {"ProofKV.tv_le_mean": frozenset[str]()}
    partly = replace(context, sources=replace(context.sources, exported=exported))
    assert "lean: ProofKV.tv_le_mean_sq is not among the theorems that Lean exported" in gaps(MEAN, partly)


# Labels of docs/theory.md


def cited_everywhere() -> set[str]:
    files = [*(ROOT / "proofkv_verify").rglob("*.py"), *(ROOT / "proofs").glob("*.md")]
    return set().union(*(cited_labels(path.read_text()) for path in files))


def test_every_cited_label_is_defined_and_every_label_is_cited() -> None:
    assert cited_everywhere() == theory_labels((ROOT / THEORY).read_text())


def test_no_source_cites_a_bare_label() -> None:
    files = [*(ROOT / "proofkv_verify").rglob("*.py"), *(ROOT / "proofs").glob("*.md")]
    bare = [path.name for path in files if "Source: R" in path.read_text() or "Source: S" in path.read_text()]
    assert bare == []


def test_spans_of_labels_are_read() -> None:
    assert cited_labels("Source: docs/theory.md S1 to S3, A2, P1. Lean") == {"S1", "S2", "S3", "A2", "P1"}
    assert cited_labels("Source: docs/theory.md L5, R14 with") == {"L5", "R14"}


def test_clauses_of_the_docstring_are_read() -> None:
    def bound(x: object, m: object) -> None:
        """A fact.

        Sound when: one holds; two
            holds.
        Lean: X.y
        """

    claim = Claim("b", "softmax_tv", bound, inspect.getdoc(bound) or "")
    assert sound_when(claim) == ["one holds", "two holds."]


def test_find_root_is_this_checkout() -> None:
    assert find_root() == ROOT
