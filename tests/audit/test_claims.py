"""Each audit claim refutes the scheme that breaks it, with a counterexample that replays, and spares the others."""

import pytest

from proofkv_verify.certificate import from_json, to_json
from proofkv_verify.check import replay
from proofkv_verify.verdict import Refuted, Status
from tests.audit import toys

ATTENTION = (
    "logit_abs_box_upper",
    "logit_abs_band_upper",
    "logit_abs_norm_upper",
    "softmax_tv_eform_upper",
    "softmax_tv_odds_upper",
    "softmax_tv_mean_upper",
    "softmax_tv_overlap_upper",
    "softmax_tv_hinge_upper",
    "softmax_tv_histogram_upper",
    "softmax_tv_cell_upper",
    "softmax_tv_moment_upper",
    "softmax_tv_optimum",
    "attention_l2_upper",
    "attention_linf_exact_upper",
)
RADII = ("key_box_upper", "key_norm_upper", "key_band_upper", "value_box_upper", "value_norm_upper")
RESULTS = ("finite", "deterministic", "inputs_unchanged", "batch_independent", "layout_independent")
LIVE = ("chunk_independent", "gqa_heads", "local", "something_changed", "bytes_accounted")


def assert_refuted(result, kind):
    assert result.status is Status.REFUTED, result
    found = result.counterexample
    assert found.instance.kind == kind
    assert found.claim == f"audit:toy:{result.bound}"
    again = from_json(to_json(found))
    assert again == found
    assert isinstance(replay(again).verdict, Refuted)
    assert result.basis == found.note


@pytest.mark.parametrize("bound", [*RESULTS, *LIVE, *RADII, *ATTENTION])
def test_a_right_scheme_survives(judge, bound):
    result = judge(toys.good, bound)
    assert result.status is Status.SURVIVED, result
    assert result.cases > 0
    assert result.counterexample is None
    assert "3 random" in result.basis


@pytest.mark.parametrize("bound", RADII)
def test_half_radii_are_refuted(judge, bound):
    kind = "element_error" if "box" in bound else "vector_error"
    result = judge(toys.HalfRadii(), bound)
    if bound in ("key_norm_upper", "value_norm_upper", "key_band_upper"):
        result = judge(toys.ZeroRadii(), bound)
    assert_refuted(result, kind)


@pytest.mark.parametrize("bound", ATTENTION)
def test_bounds_that_rest_on_zero_radii_are_refuted(judge, bound):
    result = judge(toys.ZeroRadii(), bound)
    kinds = {"logit": "logit_abs", "softm": "softmax_tv"}
    default = "attention_l2" if bound == "attention_l2_upper" else "attention_linf"
    assert_refuted(result, kinds.get(bound[:5], default))


@pytest.mark.parametrize("bound", ATTENTION[3:12])
def test_a_refuted_row_is_shrunk_to_few_tokens(judge, bound):
    found = judge(toys.ZeroRadii(), bound).counterexample
    assert len(found.instance.fields["logits"]) == 2


def test_a_refuted_logit_is_shrunk_to_one_coordinate(judge):
    found = judge(toys.ZeroRadii(), "logit_abs_box_upper").counterexample
    assert len(found.instance.fields["key_error"]) == 1


def test_a_refuted_norm_keeps_only_the_coordinates_it_needs(judge):
    found = judge(toys.ZeroRadii(), "key_norm_upper").counterexample
    assert len(found.instance.fields["left"]) == 1


def test_nan_radii_are_refuted(judge):
    for bound in ("key_box_upper", "key_norm_upper"):
        assert_refuted(judge(toys.NanRadii(), bound), "non_finite")


def test_infinite_results_are_refuted(judge):
    assert_refuted(judge(toys.Overflowing(), "finite"), "non_finite")
    assert_refuted(judge(toys.Overflowing(), "key_box_upper"), "non_finite")


def test_a_scheme_that_changes_nothing_is_refuted(judge):
    assert_refuted(judge(toys.Idle(), "something_changed"), "unchanged")


def test_understated_bytes_are_refuted(judge):
    result = judge(toys.Understated(), "bytes_accounted")
    assert_refuted(result, "stored_bytes")
    assert result.tightness > 1


def test_a_failing_scheme_is_undecided_and_the_reason_is_named(judge, few_adversarial):
    class Late(toys.Int8):
        def restore(self, pages):
            if float(pages.scales[0].max()) > 100:
                raise KeyError("no such page")
            return super().restore(pages)

    result = judge(Late(), "finite", few_adversarial)
    assert result.status is Status.UNDECIDED
    assert "restore raised KeyError: 'no such page'" in result.basis


def test_refused_inputs_are_counted_and_not_held_against_the_scheme(judge, few_adversarial):
    result = judge(toys.Picky(), "key_box_upper", few_adversarial)
    assert result.status is Status.SURVIVED
    assert "refused by the scheme" in result.basis


def test_a_spent_budget_is_said(judge, few_adversarial):
    result = judge(toys.good, "finite", few_adversarial, budget=0.0)
    assert result.status is Status.SURVIVED
    assert result.basis == "no violation in 2 inputs (2 adversarial); stopped by the time budget"


def test_no_status_text_calls_survival_sound(judge):
    assert "sound" not in judge(toys.good, "key_box_upper").basis
