"""Minimised counterexamples of every mutant: each still replays, and the bound itself holds there."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Counterexample, from_json
from proofkv_verify.check import check_claim, replay
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.verdict import Refuted, Verified

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


def test_every_mutant_has_a_minimised_counterexample():
    assert {path.stem for path in CORPUS} == set(MUTANTS)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_counterexample_replays(path):
    found = from_json(path.read_text())
    assert isinstance(found, Counterexample)
    mutant = MUTANTS[path.stem]
    assert found.claim == mutant.name
    assert isinstance(replay(found, mutant).verdict, Refuted)
    assert isinstance(replay(found).verdict, Refuted)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_bound_that_was_mutated_holds_there(path):
    found = from_json(path.read_text())
    assert isinstance(check_claim(BOUNDS[MUTANTS[path.stem].mutates], found.instance).verdict, Verified)
