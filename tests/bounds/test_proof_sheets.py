import doctest
import re
from pathlib import Path

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.mutants.registry import MUTANTS

SHEETS = Path(__file__).parents[2] / "proofs"
SLUGS = sorted(BOUNDS)


@pytest.mark.parametrize("slug", SLUGS)
def test_worked_number_of_proof_sheet_is_right(slug: str) -> None:
    text = (SHEETS / f"{slug}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, slug, None, None)
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


@pytest.mark.parametrize("slug", SLUGS)
def test_proof_sheet_names_the_hypotheses_and_the_theorem_of_the_bound(slug: str) -> None:
    text = (SHEETS / f"{slug}.md").read_text(encoding="utf-8")
    section = text.split("## Hypotheses")[1].split("## Derivation")[0]
    assert tuple(re.findall(r"^\d+\. `(\w+)`", section, re.MULTILINE)) == BOUNDS[slug].hypotheses
    assert f"Lean: `{BOUNDS[slug].lean}`" in text


@pytest.mark.parametrize("slug", SLUGS)
def test_proof_sheet_lists_every_mutant_of_the_bound(slug: str) -> None:
    text = (SHEETS / f"{slug}.md").read_text(encoding="utf-8")
    section = text.split("## Wrong variants")[1].split("## Covers")[0]
    listed = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert listed == {name for name, mutant in MUTANTS.items() if mutant.mutates == slug}
