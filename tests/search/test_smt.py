"""z3 finds false bounds, finds nothing against true ones, and what it says is never more than it knows."""

from __future__ import annotations

from fractions import Fraction

import pytest
import z3

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.claims import claim
from proofkv_verify.errors import NotAlgebraicError
from proofkv_verify.search import smt
from proofkv_verify.search.driver import find_counterexample
from proofkv_verify.search.result import Clock
from proofkv_verify.search.samplers import SPACES
from proofkv_verify.search.smt_templates import Template, templates
from tests.search.claims import (
    branching,
    half_step_of_unrounded_scale,
    mean_without_condition,
    tanh_of_mean_radius,
    ties_are_wins,
)
from tests.search.test_inside import broken_premises


@pytest.mark.parametrize("planted", [mean_without_condition, half_step_of_unrounded_scale, ties_are_wins])
def test_smt_refutes_a_false_claim_with_a_replaying_counterexample(planted):
    result = find_counterexample(planted, "smt", budget_s=20, seed=0)
    assert result.counterexample is not None, result.note
    assert broken_premises(result.counterexample.instance) == []


@pytest.mark.parametrize("slug", ["quantizer_step_upper", "softmax_tv_odds_upper", "argmax_margin_lower"])
def test_smt_finds_nothing_against_a_bound_and_says_at_which_sizes(slug):
    result = find_counterexample(BOUNDS[slug], "smt", budget_s=1.5, seed=0)
    assert result.counterexample is None
    assert result.cases > 0
    assert "unsat" in result.note


@pytest.mark.parametrize(("planted", "word"), [(tanh_of_mean_radius, "z3 encoding"), (branching, "m.where")])
def test_smt_says_when_a_claim_is_not_for_it(planted, word):
    result = find_counterexample(planted, "smt", budget_s=5, seed=0)
    assert result.counterexample is None
    assert result.cases == 0
    assert "not applicable" in result.note
    assert word in result.note


def test_a_claim_with_exp_builds_no_query():
    with pytest.raises(NotAlgebraicError):
        smt.build_query(tanh_of_mean_radius, next(templates("softmax_tv")))


@pytest.mark.parametrize("kind", SPACES)
def test_every_template_has_premises_that_can_hold(kind):
    @claim(kind)
    def zero(x, m):
        return m.const(0)

    for template in templates(kind):
        query = smt.build_query(zero, template)
        solver = z3.Solver(ctx=query.math.context)
        solver.set("timeout", 3000)
        solver.add(*(formula for _, formula in query.premises), *query.side_conditions)
        assert solver.check() != z3.unsat, template.name


@pytest.mark.parametrize(("kind", "sizes"), [("softmax_tv", 4), ("attention_l2", 4), ("argmax", 4), ("logit_abs", 4)])
def test_templates_reach_four_tokens_or_dimensions(kind, sizes):
    axis = {"softmax_tv": "weights", "attention_l2": "weights", "argmax": "scores_hat", "logit_abs": "key_error"}[kind]
    assert max(len(template.fields[axis]) for template in templates(kind)) >= sizes
    assert any(template.general for template in templates(kind))


def test_sizes_grow():
    sizes = [len(t.fields["weights"]) for t in templates("softmax_tv") if t.general]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1


def test_algebraic_numbers_of_a_model_become_rationals_inside_the_premises():
    @claim("quantizer_step")
    def square(x, m):
        sound = BOUNDS["quantizer_step_upper"](x, m)
        return m.where(x.scale * x.scale == 2, 0, sound)

    result = find_counterexample(square, "smt", budget_s=5, seed=0)
    # Only scale = sqrt(2) breaks it, and no rational scale does: the model cannot be replayed and does not count.
    assert result.counterexample is None
    assert "sat, but the model does not replay" in result.note


def template_with(extra):
    base = next(t for t in templates("softmax_tv") if t.name == "n=1")
    return Template(base.kind, base.name, base.fields, base.params, extra)


def test_contradictory_premises_are_reported_as_vacuous():
    template = template_with(lambda x, m: [("w < 0", x.raw_weights[0] < 0)])
    answer = smt.ask(smt.build_query(mean_without_condition, template), template, 5, 0)
    assert answer.status == "vacuous"
    assert answer.instance is None


def test_vacuous_premises_reach_the_note(monkeypatch):
    template = template_with(lambda x, m: [("w < 0", x.raw_weights[0] < 0)])
    monkeypatch.setattr(smt, "templates", lambda kind: iter([template]))
    found = smt.search_smt(mean_without_condition, Clock(5), 0)
    assert "premises cannot hold: 1 queries" in found.note


def test_no_fitting_form_is_not_a_success():
    @claim("softmax_tv")
    def needs_a_field(x, m):
        return x.no_such_field

    found = smt.search_smt(needs_a_field, Clock(5), 0)
    assert found.instance is None
    assert "not applicable" in found.note


def test_a_query_out_of_time_is_unknown():
    template = next(t for t in templates("softmax_tv") if t.name == "n=4")
    answer = smt.ask(smt.build_query(BOUNDS["softmax_tv_mean_upper"], template), template, 0.05, 0)
    assert answer.status == "unknown"


def test_equal_seeds_give_equal_finds():
    first, second = (find_counterexample(mean_without_condition, "smt", budget_s=20, seed=3) for _ in range(2))
    assert first.counterexample == second.counterexample
    assert first.counterexample is not None


def test_weights_sum_to_one_only_inside_the_query():
    result = find_counterexample(mean_without_condition, "smt", budget_s=20, seed=0)
    assert "sum_to_one" not in result.counterexample.instance.params
    assert isinstance(result.counterexample.instance.fields["weights"][0], Fraction)
