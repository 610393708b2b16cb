from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.ball import BallMath
from proofkv_verify.check import check_number
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance, View, view
from proofkv_verify.reference.registry import KINDS, kind_named
from tests.quality.witnesses import instance
from tests.reference.facts import assert_truth_matches_mpmath, broken_premise, changed, truth
from tests.reference.instances import FACT, output_cases, tv_cases

M = BallMath()
TV = instance("softmax_tv", weights=[1, 3], ratios=[2, 2], tilts=[2, "1/2"])
ENDS = instance("softmax_tv", weights=[1, 3], lower=["1/2", 1], upper=[3, 1], tilts=[2, 1])
LOGITS = instance("softmax_tv", logits_hat=[0, 1], logit_radii=[1, 0], logits=["1/2", 1])
L2 = instance(
    "attention_l2",
    weights=[1, 1],
    ratios=[3, 3],
    tilts=[3, 1],
    values_hat=[[1, 0], [0, 1]],
    value_errors=[[3, 4], [0, 0]],
    value_radii=[5, 0],
)
LINF = instance(
    "attention_linf",
    weights=[1, 1],
    ratios=[3, 3],
    tilts=[3, 1],
    values_hat=[[1, 0], [0, 1]],
    value_errors=[["-1/2", 1], [0, 0]],
    value_box=[["1/2", 1], [0, 0]],
)


def known(data: Instance) -> View:
    return view(data, KINDS[data.kind], M, hidden=False)


@FACT
@given(tv_cases())
def test_the_true_total_variation_is_one_minus_the_overlap(data: Instance) -> None:
    assert broken_premise(data) is None
    assert_truth_matches_mpmath(data)


@FACT
@given(st.sampled_from(["attention_l2", "attention_linf"]).flatmap(output_cases))
def test_the_true_output_error_is_that_of_matrix_products(data: Instance) -> None:
    assert broken_premise(data) is None
    assert_truth_matches_mpmath(data)


def test_truths_have_the_values_found_by_hand() -> None:
    assert truth(TV).exact == Fraction(4, 7) - Fraction(1, 4)  # (1/4, 3/4) becomes (4/7, 3/7)
    assert truth(instance("softmax_tv", weights=[7], ratios=[9], tilts=[3])).exact == 0
    # weights (3/4, 1/4): (3/4)(1 + 3) - 1/2 = 5/2 and (3/4) 4 + 1/4 - 1/2 = 11/4
    assert (M.abs(truth(L2) - M.sqrt(221) / 4) < Fraction(1, 10**14)).value
    assert truth(LINF).exact == Fraction(1, 2)
    quiet = changed(L2, value_errors=[[0, 0], [0, 0]], tilts=[1, 1])
    assert truth(quiet).exact == 0


def test_only_the_total_variation_of_shifted_logits_is_seen() -> None:
    shifted = changed(LOGITS, logits_hat=[100, 101], logits=["-7/2", -3])
    assert (M.abs(truth(LOGITS) - truth(shifted)) < Fraction(1, 10**14)).value


def test_the_weights_are_normalised_unless_they_are_stated_to_sum_to_one() -> None:
    assert [w.exact for w in known(TV).weights] == [Fraction(1, 4), Fraction(3, 4)]
    assert [w.exact for w in known(TV).raw_weights] == [1, 3]
    stated = Instance(TV.kind, TV.fields, {"sum_to_one": True})
    assert [w.exact for w in known(stated).weights] == [1, 3]


def test_derived_ratios_ends_and_radii_follow_from_each_form() -> None:
    ratio, ends, logits = known(TV), known(ENDS), known(LOGITS)
    assert [r.exact for r in ratio.lower] == [Fraction(1, 2)] * 2
    assert [r.exact for r in ratio.upper] == [2, 2]
    assert [r.exact for r in ends.ratios] == [3, 1]  # the wider of upper and 1/lower
    assert [r.exact for r in logits.radii] == [1, 0]
    assert (logits.ratios[0] > Fraction(27, 10)).value
    assert (logits.lower[0] < Fraction(37, 100)).value
    assert (M.abs(ratio.radii[0] - Fraction(693147, 10**6)) < Fraction(1, 10**6)).value
    assert ratio.symmetric
    assert logits.symmetric
    assert not ends.symmetric


def test_hidden_tilts_are_not_in_the_view_of_a_claim() -> None:
    for data in (TV, ENDS, LOGITS):
        assert "tilts" not in known(data)
        with pytest.raises(AttributeError, match="no known field 'tilts'"):
            _ = known(data).tilts
    hidden = view(LOGITS, KINDS["softmax_tv"], M, hidden=True)
    assert (hidden.tilts[0] > 1).value
    assert hidden.tilts[1].exact == 1


@pytest.mark.parametrize(
    ("data", "changes", "premise"),
    [
        (TV, {"weights": [1, 0]}, "weights[1] > 0"),
        (TV, {"weights": [-1, 3]}, "weights[0] > 0"),
        (TV, {"ratios": [2, "1/2"]}, "ratios[1] >= 1"),
        (TV, {"tilts": [3, 1]}, "tilts[0] <= ratios[0]"),
        (TV, {"tilts": [1, "1/3"]}, "1/ratios[1] <= tilts[1]"),
        (ENDS, {"lower": [0, 1]}, "lower[0] > 0"),
        (ENDS, {"upper": ["1/3", 1]}, "lower[0] <= upper[0]"),
        (ENDS, {"tilts": ["1/3", 1]}, "lower[0] <= tilts[0]"),
        (ENDS, {"tilts": [4, 1]}, "tilts[0] <= upper[0]"),
        (LOGITS, {"logit_radii": [1, "-1/2"]}, "logit_radii[1] >= 0"),
        (LOGITS, {"logits": [2, 1]}, "abs(logits[0] - logits_hat[0]) <= logit_radii[0]"),
        (L2, {"value_radii": [5, -1]}, "value_radii[1] >= 0"),
        (L2, {"value_errors": [[3, 4], ["1/9", 0]]}, "norm(value_errors[1]) <= value_radii[1]"),
        (L2, {"ratios": [3, "1/2"]}, "ratios[1] >= 1"),
        (L2, {"tilts": [4, 1]}, "tilts[0] <= ratios[0]"),
        (LINF, {"value_box": [["1/2", 1], [0, "-1/9"]]}, "value_box[1][1] >= 0"),
        (LINF, {"value_errors": [["-1/2", 1], [0, "1/9"]]}, "abs(value_errors[1][1]) <= value_box[1][1]"),
        (LINF, {"tilts": [4, 1]}, "tilts[0] <= ratios[0]"),
    ],
)
def test_each_broken_premise_is_named(data: Instance, changes: dict[str, Any], premise: str) -> None:
    assert broken_premise(data) is None
    assert broken_premise(changed(data, **changes)) == premise


def test_no_tokens_break_a_premise() -> None:
    assert broken_premise(instance("softmax_tv", weights=[], ratios=[], tilts=[])) == "at least one token"


@pytest.mark.parametrize(
    "data",
    [
        changed(TV, ratios=[2, 1], tilts=["1/2", 1]),
        changed(TV, tilts=[2, 2]),
        changed(ENDS, tilts=["1/2", 1]),
        changed(ENDS, tilts=[3, 1]),
        changed(LOGITS, logits=[-1, 1]),
        changed(LOGITS, logits=[1, 1]),
    ],
)
def test_the_premises_hold_at_their_boundary(data: Instance) -> None:
    assert broken_premise(data) is None


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"ratios": [1], "tilts": [1]}, "weights"),
        ({"weights": [1], "logits_hat": [0], "ratios": [1], "tilts": [1]}, "weights"),
        ({"weights": [1], "tilts": [1]}, "ratios"),
        ({"weights": [1], "ratios": [1], "lower": [1], "upper": [1], "tilts": [1]}, "ratios"),
        ({"weights": [1], "ratios": [1], "lower": [1], "tilts": [1]}, "ratios"),
        ({"weights": [1], "upper": [1], "tilts": [1]}, "ratios"),
        ({"weights": [1], "ratios": [1]}, "tilts"),
        ({"logits_hat": [1], "logits": [1]}, "logit_radii"),
        ({"logits_hat": [1], "logit_radii": [1]}, "tilts"),
    ],
)
def test_a_mixed_or_incomplete_form_is_bad_input(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_number(instance("softmax_tv", **fields), Fraction(1))
    assert raised.value.name == name


def test_axes_must_agree_across_fields() -> None:
    for data, changes in (
        (L2, {"values_hat": [[1, 0]]}),
        (L2, {"value_errors": [[3, 4, 5], [0, 0, 0]]}),
        (LINF, {"value_box": [[1], [0]]}),
        (TV, {"tilts": [1]}),
    ):
        with pytest.raises(ShapeError):
            check_number(changed(data, **changes), Fraction(1))


def test_a_kind_knows_its_fields_and_refuses_other_names() -> None:
    kind = kind_named("softmax_tv")
    assert kind.field_named("ratios").axes == ("n",)
    with pytest.raises(InvalidInputError, match="a field of softmax_tv"):
        kind.field_named("surprise")
    with pytest.raises(InvalidInputError, match="one of quantizer_step"):
        kind_named("surprise")
