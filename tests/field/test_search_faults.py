"""Field faults A17, A19, A20 and A22: verifiers, solver encodings and generators that fool a search.

Each row is followed by its kind: planted wrong variants are caught without being told the row, correct twins pass.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random

import numpy as np
import pytest
import torch
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofkv_verify import claim
from proofkv_verify.bounds.argmax_margin_lower import BOUND as MARGIN
from proofkv_verify.bounds.logit_abs_box_upper import BOUND as BOX
from proofkv_verify.bounds.quantizer_step_upper import BOUND as STEP
from proofkv_verify.bounds.softmax_tv_odds_upper import BOUND as ODDS
from proofkv_verify.check import check_claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.search import smt
from proofkv_verify.search.batch import check_cast, evaluate
from proofkv_verify.search.driver import find_counterexample
from proofkv_verify.search.result import Clock
from proofkv_verify.search.samplers import SPACES, random_batch
from proofkv_verify.search.smt_math import SmtMath
from proofkv_verify.search.smt_templates import templates
from proofkv_verify.verdict import Refuted, Verified
from tests.search.test_inside import broken_premises

# ---- A17: an interval narrower than 1e-5 taken for a point ----

WIDTH = Fraction(9, 10**6)
SLOPE = Fraction(10**6)


def line(x_error):
    """f(x) = 1e6 x - 4 <= 0 on [0, 9e-6] as an argmax: scores 0 and f(x), x = 0 + error; the first must win."""
    fields = {
        "scores_hat": (0, -4), "radii": (0, 0), "rows": ((0,), (SLOPE,)), "hidden_hat": (0,),
        "hidden_radius": WIDTH, "score_errors": (0, 0), "hidden_error": (x_error,),
    }  # fmt: skip
    return Instance("argmax", {name: exact(value) for name, value in fields.items()}, {"candidate": 0})


def exact(value):
    return tuple(exact(entry) for entry in value) if isinstance(value, tuple) else Fraction(value)


def merged(radius, width, m):
    """A preprocessor that takes intervals narrower than `width` for points."""
    return m.where(radius < Fraction(width), 0, radius)


def snapping_argmax(width):
    @claim("argmax", name=f"argmax_snapped_below_{width}")
    def snapped(x, m):
        radii = [merged(r, width, m) for r in x.radii]
        return MARGIN(x.extended(hidden_radius=merged(x.hidden_radius, width, m), radii=radii), m)

    return snapped


def snapping_box(width):
    @claim("logit_abs", name=f"box_snapped_below_{width}")
    def snapped(x, m):
        return BOX(x.extended(box_radii=[merged(r, width, m) for r in x.box_radii]), m)

    return snapped


def snapping_odds(width):
    @claim("softmax_tv", name=f"odds_snapped_below_{width}")
    def snapped(x, m):
        return m.where(m.max(*x.ratios) - 1 < Fraction(width), 0, ODDS(x, m))

    return snapped


def test_a17_row_the_corner_of_the_narrow_box_is_found_and_the_snapped_verifier_refuted():
    corner = line(WIDTH)
    planted = check_claim(snapping_argmax(Fraction(1, 10**5)), corner)
    assert isinstance(planted.verdict, Refuted)
    assert planted.claimed.lower == planted.claimed.upper == 4, "the snapped point certifies: f = -4"
    assert planted.truth.lower == planted.truth.upper == -5, "max f = 5 at x = 9e-6"
    ours = check_claim(MARGIN, corner)
    assert isinstance(ours.verdict, Verified)
    assert ours.claimed.upper <= -5, "not certified"


def test_a17_row_in_float64_keeps_the_corner():
    tensors = {name: tensor_of(value) for name, value in line(WIDTH).fields.items()}
    batch = random_batch(SPACES["argmax"], "", Random(0), batch=1)[1]
    structure = type(batch.structure)("argmax", "", {"vocab": 2, "h": 1}, {"candidate": 0})
    values = evaluate(MARGIN, type(batch)(structure, tensors))
    assert abs(values.truth.item() + 5) < 1e-9


def tensor_of(value):
    def floats(entry):
        return [floats(part) for part in entry] if isinstance(entry, tuple) else float(entry)

    return torch.tensor(floats(value), dtype=torch.float64).unsqueeze(0)


@pytest.mark.parametrize("width", ["1/1000", "1/100000", "1/100000000"])
@pytest.mark.parametrize("verifier", [snapping_argmax, snapping_box, snapping_odds])
@pytest.mark.parametrize("engine", ["fuzz", "attack"])
def test_a17_kind_merging_by_absolute_width_is_refuted(verifier, width, engine):
    result = find_counterexample(verifier(Fraction(width)), engine, budget_s=30, seed=0)
    assert result.counterexample is not None


@pytest.mark.parametrize("verifier", [snapping_argmax, snapping_box, snapping_odds])
def test_a17_correct_twin_without_merging_survives(verifier):
    for engine in ("fuzz", "attack"):
        assert find_counterexample(verifier(Fraction(0)), engine, budget_s=0.5, seed=0).counterexample is None


# ---- A19: mixed floating-point and real arithmetic in the solver ----


ROUNDED_SUM = """
(define-fun t () Float32 ((_ to_fp 8 24) RNE 0.8))
(define-fun one () Float32 ((_ to_fp 8 24) RNE 1.0))
(assert (fp.eq (fp.add RNE one t) ((_ to_fp 8 24) RNE (+ 1.0 (fp.to_real t)))))
"""  # true: both sides round the same real number
EQUAL_TO_99_2 = """
(declare-const v Float32)
(assert (and (= (fp.to_real v) 99.2) (not (fp.isInfinite v)) (not (fp.isNaN v))))
"""  # false, and left unknown by both z3 versions of the report


def float_query(text):
    """A query of this package whose violation mixes floats and reals, and its template."""
    template = next(templates("quantizer_step"))

    @claim("quantizer_step")
    def zero(x, m):
        return m.const(0)

    query = smt.build_query(zero, template)
    return replace(query, violation=z3.parse_smt2_string(text, ctx=query.math.context)[0]), template


def test_a19_row_the_true_mixed_statement_is_not_taken_for_impossible():
    query, template = float_query(ROUNDED_SUM)
    assert smt.ask(query, template, 10, 0).status != "unsat"


def test_a19_row_a_statement_that_the_solver_leaves_open_is_unknown_and_no_evidence():
    query, template = float_query(EQUAL_TO_99_2)
    answer = smt.ask(query, template, 1.0, 0)
    assert answer.status in ("unknown", "unsat"), "it is false: never sat"
    assert answer.instance is None


def test_a19_row_arithmetic_is_right_in_exact_numbers():
    t = Fraction(float(np.float32(0.8)))
    assert Fraction(float(np.float32(1) + np.float32(t))) == Fraction(float(np.float32(float(1 + t))))
    assert Fraction(float(np.float32(99.2))) != Fraction(992, 10)


@pytest.mark.parametrize("answer", [z3.unsat, z3.unknown])
def test_a19_kind_a_solver_that_wrongly_finds_nothing_proves_nothing(monkeypatch, answer):
    monkeypatch.setattr(smt, "_check", lambda solver, seconds: answer)
    planted = snapping_box(Fraction(1))
    result = find_counterexample(planted, "smt", budget_s=5, seed=0)
    assert result.counterexample is None
    assert "proved" not in result.note
    word = "unknown" if answer == z3.unknown else "premises cannot hold"
    assert word in result.note
    assert find_counterexample(planted, "fuzz", budget_s=30, seed=0).counterexample is not None


def test_a19_kind_a_model_that_does_not_replay_is_no_counterexample(monkeypatch):
    monkeypatch.setattr(smt, "_number", lambda scalar, model: Fraction(1))
    found = smt.search_smt(snapping_box(Fraction(1)), Clock(3), 0)
    assert found.instance is None
    assert "does not replay" in found.note


# ---- A20: a missing premise s > 0, and x/0 ----


def lemma(*, with_premise):
    """|x/s - n| <= 1/2 implies |x - s n| <= s/2: the negated statement over this package's terms."""
    m = SmtMath()
    x, s = m.variable("x"), m.variable("s")
    n = m.const(0)
    premise = m.abs(x / s - n) <= Fraction(1, 2)
    broken = m.abs(x - s * n) > s / 2
    solver = z3.Solver(ctx=m.context)
    solver.add(m.condition(premise), m.condition(broken), *m.side_conditions)
    if with_premise:
        solver.add(m.condition(s > 0))
    return solver


def test_a20_row_the_lemma_needs_its_premise():
    refuting = lemma(with_premise=False)
    assert refuting.check() == z3.sat
    assert Fraction(str(refuting.model()[z3.Real("s", refuting.ctx)])) < 0
    assert lemma(with_premise=True).check() == z3.unsat


def test_a20_row_a_over_a_is_one_because_the_denominator_is_a_side_condition():
    m = SmtMath()
    a = m.variable("a")
    broken = m.condition(a / a != 1)
    solver = z3.Solver(ctx=m.context)
    solver.add(broken)
    assert solver.check() == z3.sat, "without its side conditions the quotient is free"
    solver.add(*m.side_conditions)
    assert solver.check() == z3.unsat


STATED = {
    "softmax_tv": {"weights[0] > 0", "at least one token"},
    "attention_l2": {"weights[0] > 0", "value_radii[0] >= 0"},
    "attention_linf": {"weights[0] > 0", "value_box[0][0] >= 0"},
    "logit_abs": {"query_radius >= 0", "norm(key_error) <= norm_radii[head]", "box_radii[0] >= 0"},
    "quantizer_step": {"scale > 0", "divisor > 0", "roundoff >= 0"},
    "argmax": {"radii[0] >= 0", "hidden_radius >= 0"},
}


@pytest.mark.parametrize("kind", SPACES)
def test_a20_kind_queries_state_the_premises_that_such_reports_left_out(kind):
    @claim(kind)
    def zero(x, m):
        return m.const(0)

    for template in islice(templates(kind), 20):
        query = smt.build_query(zero, template)
        assert STATED[kind] <= {name for name, _ in query.premises}, template.name


@pytest.mark.parametrize("dropped", ["scale > 0", "divisor > 0", "restored is the dequantized code"])
def test_a20_kind_a_query_without_a_premise_gives_no_counterexample_that_counts(dropped):
    template = next(templates("quantizer_step"))
    query = smt.build_query(STEP, template)
    assert smt.ask(query, template, 10, 0).status == "unsat"
    fewer = tuple((name, formula) for name, formula in query.premises if name != dropped)
    assert len(fewer) == len(query.premises) - 1
    answer = smt.ask(replace(query, premises=fewer), template, 10, 0)
    # Without the premise z3 has a model; moved into the premises it is judged, and the bound stands.
    assert answer.status in ("sat", "unsat")
    if answer.instance is not None:
        assert broken_premises(answer.instance) == []
        assert isinstance(check_claim(STEP, answer.instance).verdict, Verified)


def test_a20_kind_contradictory_premises_are_reported_and_prove_nothing():
    template = next(templates("quantizer_step"))

    @claim("quantizer_step")
    def zero(x, m):
        return m.const(0)

    query = smt.build_query(zero, template)
    scale = query.fields["scale"]
    contradiction = ("scale < 0", query.math.condition(scale < 0))
    vacuous = replace(query, premises=(*query.premises, contradiction))
    assert smt.ask(vacuous, template, 5, 0).status == "vacuous"
    assert smt.ask(query, template, 5, 0).status == "sat"


# ---- A22: generators whose values leave their set in a cast ----


def generated(strategy, count=120):
    """All values that a strategy of arrays yields, as float64 tensors of the dtype that it stores."""
    found = []

    quiet = list(HealthCheck)

    @settings(max_examples=count, deadline=None, database=None, derandomize=True, suppress_health_check=quiet)
    @given(strategy)
    def collect(array):
        found.append(torch.from_numpy(array.copy()))

    collect()
    return found


BELOW_ONE = float(np.nextafter(np.float16(1), np.float16(0)))
SMALLEST = 2.0**-24
WIDE_DRAWS = {
    "float16 up to an excluded end": (st.floats(0, 1, exclude_max=True), np.float16, 0.0, BELOW_ONE),
    "float32 without infinity": (st.floats(allow_nan=False, allow_infinity=False), np.float32, -3.5e38, 3.5e38),
    "float16 positive": (st.floats(0, 1, exclude_min=True), np.float16, SMALLEST, 1.0),
}
NARROW_DRAWS = {
    "float16 up to an excluded end": st.floats(0, BELOW_ONE, width=16),
    "float32 without infinity": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "float16 positive": st.floats(SMALLEST, 1, width=16),
}


@pytest.mark.parametrize("name", WIDE_DRAWS)
def test_a22_planted_generators_that_draw_wide_and_cast_are_caught(name):
    strategy, dtype, low, high = WIDE_DRAWS[name]
    caught = 0
    for tensor in generated(arrays(np.float64, 3, elements=strategy)):
        with np.errstate(over="ignore"):
            cast = torch.from_numpy(tensor.numpy().astype(dtype))
        try:
            check_cast(cast, float(low), float(high), name=name)
        except InvalidInputError:
            caught += 1
    assert caught > 0


@pytest.mark.parametrize("name", WIDE_DRAWS)
def test_a22_correct_twins_that_draw_in_the_width_pass(name):
    _, dtype, low, high = WIDE_DRAWS[name]
    for tensor in generated(arrays(dtype, 3, elements=NARROW_DRAWS[name])):
        check_cast(tensor, float(low), float(high), name=name)


@pytest.mark.parametrize("kind", SPACES)
def test_a22_kind_near_constant_cases_are_a_minority(kind):
    rng, constant, total = Random(5), 0, 0
    for _ in range(80):
        _, batch = random_batch(SPACES[kind], SPACES[kind].forms[0], rng, batch=64)
        rows = torch.cat([tensor.reshape(len(batch), -1) for tensor in batch.fields.values()], -1)
        constant += int((rows.amax(-1) == rows.amin(-1)).sum())
        total += len(batch)
    assert constant < total / 10


@pytest.mark.parametrize("kind", SPACES)
def test_a22_kind_flushing_subnormals_changes_no_premise(kind):
    rng = Random(6)
    assert torch.set_flush_denormal(True)
    try:
        for _ in range(25):
            _, batch = random_batch(SPACES[kind], SPACES[kind].forms[0], rng, batch=8)
            assert broken_premises(batch.instance(0)) == []
    finally:
        torch.set_flush_denormal(False)


def test_a22_kind_both_subnormal_modes_meet_subnormal_weights():
    space, tiny = SPACES["softmax_tv"], Fraction(1, 2**1022)
    for flush in (False, True):
        torch.set_flush_denormal(flush)
        try:
            rng, below = Random(2), 0
            for _ in range(150):
                regime, batch = random_batch(space, "ratio", rng, batch=4)
                if regime == "subnormal":
                    below += any(0 < w < tiny for w in batch.instance(0).fields["weights"])
        finally:
            torch.set_flush_denormal(False)
        assert below > 0, flush
