"""Whatever a document says, the checker answers with a verdict or with an error of ours that names a field."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate
from proofkv_verify.check import Judgement, check_certificate, check_claim, check_number
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.verdict import Inconclusive, Refuted, Verified
from tests.quality.witnesses import instance
from tests.reference.documents import documents


def outcome(call: Any) -> Judgement | InvalidInputError:
    try:
        judgement = call()
    except InvalidInputError as error:
        return error
    assert isinstance(judgement, Judgement)
    return judgement


NO_QUERY = {"queries": [], "key_hat": [], "key_error": [], "query_error": [], "box_radii": []}
LOGIT = {
    "queries": [[1]],
    "softmax_scale": 1,
    "rope_factor": 1,
    "cos": [],
    "sin": [],
    "box_radii": [1],
    "norm_radii": [1],
    "band_radii": [1],
    "query_radius": 0,
    "key_norm": 0,
    "key_hat": [0],
    "key_error": [0],
    "query_error": [0],
}
SCORES = {
    "scores_hat": [1],
    "radii": [0],
    "rows": [[]],
    "hidden_hat": [],
    "hidden_radius": 0,
    "score_errors": [0],
    "hidden_error": [],
}


@settings(deadline=None, max_examples=300)
@given(documents())
@example(instance("softmax_tv", logits_hat=[], logit_radii=[], logits=[]))
@example(instance("softmax_tv", weights=[1, -1], ratios=[1, 1], tilts=[1, 1]))
@example(instance("logit_abs", {"bands": [[0]]}, **{**LOGIT, **NO_QUERY}))
@example(
    instance("attention_linf", weights=[1], ratios=[1], tilts=[1], values_hat=[[]], value_box=[[]], value_errors=[[]])
)
def test_any_instance_gives_a_verdict_or_an_error_of_ours(data: Instance) -> None:
    assert outcome(lambda: check_number(data, Fraction(1)))
    for bound in BOUNDS.values():
        if bound.kind == data.kind:
            judged = outcome(lambda: check_claim(bound, data))  # noqa: B023 (called at once)
            refuted = isinstance(judged, Judgement) and isinstance(judged.verdict, Refuted)
            assert not refuted, f"{bound.name} is unsound on {data}: {judged}"
            assert outcome(lambda: check_certificate(Certificate(bound.name, data, Fraction(1))))  # noqa: B023


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"bands": [[1]]}, "bands"),
        ({"bands": [[-1]]}, "bands"),
        ({"bands": [0]}, "bands"),
        ({"bands": [["0"]]}, "bands"),
        ({"bands": 0}, "bands"),
        ({"bands": [[0], [0]]}, "bands"),
        ({"bands": [[0]], "planes": "ab"}, "planes"),
        ({"bands": [[0]], "planes": [0]}, "planes"),
        ({"bands": [[0]], "planes": [["a", "b"]]}, "planes"),
        ({"bands": [[0]], "query_head": "0"}, "query_head"),
        ({"bands": [[0]], "query_head": [0]}, "query_head"),
    ],
)
def test_parameters_of_a_logit_are_checked_by_name(params: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_number(instance("logit_abs", params, **LOGIT), Fraction(1))
    assert raised.value.name == name


@pytest.mark.parametrize("candidate", ["0", [0], -1, 1])
def test_the_candidate_of_an_argmax_is_checked(candidate: Any) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_number(instance("argmax", {"candidate": candidate}, **SCORES), Fraction(1))
    assert raised.value.name == "candidate"


def test_weights_that_are_stated_to_sum_to_one_must_do_so() -> None:
    """Without this premise a certificate over tiny unnormalised weights would verify a total variation of 0."""
    stated = {"sum_to_one": True}
    tiny = instance("softmax_tv", stated, weights=["1/1000", "1/1000"], ratios=[2, 2])
    verdict = check_certificate(Certificate("softmax_tv_mean_upper", tiny, Fraction(0))).verdict
    assert verdict == Inconclusive("the premise does not hold: weights sum to 1")
    whole = instance("softmax_tv", stated, weights=["1/3", "2/3"], ratios=[2, 2])
    assert check_certificate(Certificate("softmax_tv_mean_upper", whole, Fraction(1, 2))).verdict == Verified()


@pytest.mark.parametrize("value", [1, 0, "yes", []])
def test_a_switch_is_true_or_false_and_nothing_else(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="sum_to_one: expected a value of the type of False"):
        check_number(instance("softmax_tv", {"sum_to_one": value}, weights=[1], ratios=[1], tilts=[1]), Fraction(1))
