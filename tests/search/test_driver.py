"""The driver lets nothing out that does not replay, and engines are reproducible."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import from_json, to_json
from proofkv_verify.check import Judgement, replay
from proofkv_verify.claims import claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.search import driver
from proofkv_verify.search.driver import ENGINES, find_counterexample, make_counterexample, refute
from proofkv_verify.search.result import Clock, EngineError, Found
from proofkv_verify.verdict import Inconclusive, Refuted
from tests.search.claims import PLANTED, branching, mean_without_condition

HARMLESS = Instance("softmax_tv", {"weights": (Fraction(1),), "ratios": (Fraction(2),), "tilts": (Fraction(1),)})


@pytest.mark.parametrize("engine", ["fuzz", "attack"])
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_planted_claims_are_refuted_and_replay_from_their_json(planted, engine):
    result = find_counterexample(planted, engine, budget_s=30, seed=0, source="sha256:abc")
    found = result.counterexample
    assert found is not None, result.note
    assert (found.claim, found.engine, found.seed, found.source) == (planted.name, engine, 0, "sha256:abc")
    again = from_json(to_json(found))
    assert again == found
    assert isinstance(replay(again, planted).verdict, Refuted)
    assert isinstance(replay(again).verdict, Refuted)
    assert result.found_after <= result.seconds
    assert result.shrunk_size > 0


@pytest.mark.parametrize("slug", BOUNDS)
def test_no_engine_refutes_a_bound(slug):
    for engine in ("fuzz", "attack"):
        result = find_counterexample(BOUNDS[slug], engine, budget_s=0.15, seed=1)
        assert result.counterexample is None
        assert result.tightness is None or 0 < result.tightness <= 1


@pytest.mark.parametrize("slug", ["softmax_tv_exact", "attention_linf_exact_upper", "quantizer_step_upper"])
def test_attained_bounds_are_seen_to_be_tight(slug):
    best = max(
        find_counterexample(BOUNDS[slug], engine, budget_s=0.7, seed=1).tightness for engine in ("fuzz", "attack")
    )
    assert best > 0.999999


@pytest.mark.parametrize("engine", ["fuzz", "attack"])
def test_equal_seeds_find_the_same(engine):
    first, second = (find_counterexample(mean_without_condition, engine, budget_s=30, seed=4) for _ in range(2))
    assert first.counterexample == second.counterexample
    assert first.cases == second.cases


def test_seeds_differ():
    found = {find_counterexample(mean_without_condition, "fuzz", budget_s=30, seed=s).cases for s in range(6)}
    assert len(found) > 1


def test_a_claim_that_branches_is_searched_case_by_case():
    fuzz = find_counterexample(branching, "fuzz", budget_s=60, seed=0)
    assert fuzz.counterexample is not None, fuzz.note
    assert "case by case" in fuzz.note
    attack = find_counterexample(branching, "attack", budget_s=5, seed=0)
    assert attack.counterexample is None
    assert "not applicable" in attack.note


def test_a_find_that_does_not_replay_is_an_internal_error(monkeypatch):
    monkeypatch.setitem(driver._SEARCHES, "fuzz", lambda claim, clock, seed: Found(1, HARMLESS))
    with pytest.raises(EngineError, match="does not refute"):
        find_counterexample(BOUNDS["softmax_tv_mean_upper"], "fuzz", budget_s=1, seed=0)


def test_a_find_that_the_checker_refutes_once_but_not_on_replay_is_an_internal_error(monkeypatch):
    broken = find_counterexample(mean_without_condition, "fuzz", budget_s=30, seed=0).counterexample.instance
    monkeypatch.setattr(driver, "replay", lambda counterexample, claim: Judgement(Inconclusive("lost")))
    with pytest.raises(EngineError, match=r"does not replay.*lost"):
        make_counterexample(mean_without_condition, broken, "fuzz", 0)


def test_a_claim_that_fails_in_every_arithmetic_is_bad_input():
    @claim("softmax_tv", name="typo")
    def typo(x, m):
        return m.sum(1)

    with pytest.raises(InvalidInputError, match="typo"):
        find_counterexample(typo, "fuzz", budget_s=1, seed=0)


def test_a_find_outside_the_premises_is_an_internal_error():
    outside = replace(HARMLESS, fields={**HARMLESS.fields, "tilts": (Fraction(9),)})
    with pytest.raises(EngineError, match="premise does not hold"):
        make_counterexample(mean_without_condition, outside, "fuzz", 0)


def test_unknown_engines_and_kinds_without_a_space_are_refused():
    with pytest.raises(InvalidInputError, match="engine"):
        find_counterexample(mean_without_condition, "magic", budget_s=1, seed=0)

    @claim("element_error")
    def observed(x, m):
        return m.const(0)

    with pytest.raises(InvalidInputError, match="kind"):
        find_counterexample(observed, "fuzz", budget_s=1, seed=0)


@pytest.mark.parametrize("engine", ["fuzz", "attack"])
def test_a_claim_that_cannot_be_evaluated_is_bad_input(engine):
    @claim("softmax_tv", name="misspelt")
    def misspelt(x, m):
        return x.wieghts[0]

    with pytest.raises(InvalidInputError, match="no known field 'wieghts'"):
        find_counterexample(misspelt, engine, budget_s=1, seed=0)


def test_a_claim_for_one_form_of_the_data_is_searched_in_that_form():
    @claim("softmax_tv")
    def largest_radius_over_four(x, m):
        return m.max(*x.logit_radii) / 4

    found = find_counterexample(largest_radius_over_four, "fuzz", budget_s=30, seed=0).counterexample
    assert "logits_hat" in found.instance.fields


@pytest.mark.parametrize("engine", ENGINES)
def test_a_claim_that_needs_optional_fields_is_searched_where_they_are(engine):
    @claim("softmax_tv")
    def by_kappas_and_earlier_weights(x, m):
        total = m.sum(x.previous_weights)
        return (
            m.max(*x.kappas) - 1 + m.sum(p * (r - 1) for p, r in zip(x.previous_weights, x.ratios, strict=True)) / total
        )

    found = find_counterexample(by_kappas_and_earlier_weights, engine, budget_s=30, seed=0).counterexample
    assert {"kappas", "previous_weights"} <= set(found.instance.fields)


def test_a_claim_that_refuses_most_structures_is_searched_in_the_others():
    @claim("softmax_tv")
    def for_three_tokens(x, m):
        if len(x.weights) != 3:
            raise ValueError("three tokens only")
        return m.const(0)

    found = find_counterexample(for_three_tokens, "fuzz", budget_s=30, seed=0).counterexample
    assert len(found.instance.fields["weights"]) == 3


def test_a_vacuous_claim_survives():
    @claim("softmax_tv")
    def one(x, m):
        return m.const(1)

    assert [r.counterexample for r in refute(one, ENGINES, 1.5, 0)] == [None] * 3


def test_claims_that_are_never_finite_or_negative_are_refuted_or_undecided_but_never_survive_by_error():
    @claim("softmax_tv")
    def minus_one(x, m):
        return m.const(-1)

    assert find_counterexample(minus_one, "fuzz", budget_s=30, seed=0).counterexample is not None


def test_refute_stops_at_the_first_find():
    results = refute(mean_without_condition, ("fuzz", "smt", "attack"), 60, 0)
    assert [result.engine for result in results] == ["fuzz"]


def test_progress_counts_cases():
    seen = []
    result = find_counterexample(
        BOUNDS["softmax_tv_mean_upper"], "fuzz", budget_s=0.5, seed=0, progress=lambda cases, s: seen.append((cases, s))
    )
    assert seen[-1][0] == result.cases > 0
    assert all(a <= b for a, b in pairwise(seen))


def test_the_clock_ends():
    clock = Clock(0.0)
    assert clock.over()
    assert clock.left() <= 0
    assert not Clock(100.0).over()
