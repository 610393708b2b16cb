"""Every bound has its fuzz target and every mutant its minimised counterexample."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import from_json
from proofkv_verify.check import replay
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.verdict import Refuted

FUZZ = Path(__file__).parents[2] / "fuzz"
MUTATED = {mutant.mutates for mutant in MUTANTS.values()}


@pytest.mark.parametrize("slug", BOUNDS)
def test_every_bound_has_a_target_a_row_and_a_mutant(slug):
    assert f'SLUG = "{slug}"' in (FUZZ / f"test_{slug}.py").read_text()
    assert f"`test_{slug}.py`" in (FUZZ / "README.md").read_text()
    assert slug in MUTATED


def test_the_readme_counts_the_mutants():
    text = (FUZZ / "README.md").read_text()
    for slug in BOUNDS:
        count = sum(mutant.mutates == slug for mutant in MUTANTS.values())
        assert f"| `test_{slug}.py` | `{BOUNDS[slug].kind}` | {count} |" in text


def test_every_minimised_counterexample_replays_without_an_engine():
    files = sorted((FUZZ / "corpus").glob("*.json"))
    assert {path.stem for path in files} == set(MUTANTS)
    for path in files:
        assert isinstance(replay(from_json(path.read_text())).verdict, Refuted), path.stem
