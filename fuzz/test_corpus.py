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
def test_the_bound_that_was_mutated_is_not_refuted_there(path):
    # An attained bound with a square root in it equals the truth: no precision decides that, and nothing refutes it.
    judgement = check_claim(BOUNDS[MUTANTS[path.stem].mutates], from_json(path.read_text()).instance)
    assert isinstance(judgement.verdict, Verified) or judgement.claimed.upper >= judgement.truth.lower
    assert not isinstance(judgement.verdict, Refuted)
