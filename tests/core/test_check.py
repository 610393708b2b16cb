from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from proofkv_verify import claim
from proofkv_verify.ball import Real
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Counterexample, Interval
from proofkv_verify.check import (
    check_certificate,
    check_claim,
    check_number,
    judge,
    replay,
)
from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.reference.registry import KINDS
from proofkv_verify.verdict import Inconclusive, Refuted, Status, Verified
from tests.quality.witnesses import instance

TWO = instance("softmax_tv", weights=[1, 1], ratios=[2, 2], tilts=[2, "1/2"])  # TV = 3/10
KNOWN = instance("softmax_tv", weights=[1, 1], ratios=[2, 2])
MEAN = BOUNDS["softmax_tv_mean_upper"]  # 1/2 on TWO


def constant(value: Any) -> Claim:
    return claim("softmax_tv", name="constant")(lambda _x, m: m.const(value))


@pytest.mark.parametrize(
    ("value", "outcome"),
    [(Fraction(3, 10), Verified), (1, Verified), (Fraction(29, 100), Refuted), (-1, Refuted)],
)
def test_a_claimed_number_is_compared_exactly(value: Fraction, outcome: type) -> None:
    assert isinstance(check_claim(constant(value), TWO).verdict, outcome)
    assert isinstance(check_number(TWO, Fraction(value)).verdict, outcome)


def test_the_enclosures_are_reported() -> None:
    judgement = check_number(TWO, Fraction(1))
    assert judgement.truth == Interval(Fraction(3, 10), Fraction(3, 10))
    assert judgement.claimed == Interval(Fraction(1), Fraction(1))


@pytest.mark.parametrize("special", ["nan", "-inf"])
def test_a_claimed_nan_or_minus_infinity_is_refuted(special: Any) -> None:
    assert isinstance(check_number(TWO, special).verdict, Refuted)
    assert isinstance(check_certificate(Certificate(MEAN.name, KNOWN, special)).verdict, Refuted)


def test_a_claimed_infinity_is_sound_and_vacuous() -> None:
    assert check_number(TWO, "inf").verdict == Verified(vacuous=True)


def test_an_infinite_argmax_margin_is_no_certificate() -> None:
    fields: dict[str, Any] = {"scores_hat": [1], "radii": [0], "score_errors": [0], "rows": [[]]}
    tie = instance("argmax", **fields, hidden_hat=[], hidden_radius=0, hidden_error=[])
    assert isinstance(check_number(tie, "inf").verdict, Refuted)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": [1, 0]},
        {"ratios": [2, "1/2"]},
        {"tilts": [3, 1]},
        {"tilts": [1, "1/3"]},
    ],
)
def test_an_instance_that_breaks_a_premise_says_nothing(changes: dict[str, Any]) -> None:
    fields = {"weights": [1, 1], "ratios": [2, 2], "tilts": [2, "1/2"], **changes}
    verdict = check_claim(constant(-1), instance("softmax_tv", **fields)).verdict
    assert isinstance(verdict, Inconclusive)
    assert "premise" in verdict.reason


def test_an_equality_of_irrational_numbers_stays_inconclusive() -> None:
    data = instance("softmax_tv", logits_hat=[0, 0], logit_radii=[1, 1], logits=[1, 0])
    same = claim("softmax_tv")(lambda x, m: (m.exp(x.radii[0]) - 1) / (m.exp(x.radii[0]) + 1) / 2)
    verdict = check_claim(same, data).verdict
    assert verdict == Inconclusive("undecided at 2048 bits")


def test_a_claim_that_divides_by_zero_or_branches_on_an_undecided_comparison_is_inconclusive() -> None:
    zero = claim("softmax_tv")(lambda x, _m: 1 / (x.ratios[0] - 2))
    assert isinstance(check_claim(zero, TWO).verdict, Inconclusive)
    assert isinstance(check_certificate(Certificate(MEAN.name, KNOWN, Fraction(1))).verdict, Verified)

    def branching(_x: Any, m: Any) -> Any:
        return m.const(1) if m.exp(m.log(m.const(2))) <= 2 else m.const(2)

    verdict = check_claim(claim("softmax_tv")(branching), TWO).verdict
    assert verdict == Inconclusive("undecided at 2048 bits")


def test_a_claim_about_another_kind_is_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="kind"):
        check_claim(BOUNDS["argmax_margin_lower"], TWO)


def test_a_certificate_with_exact_data_is_judged_against_them() -> None:
    assert isinstance(check_certificate(Certificate("anything", TWO, Fraction(3, 10))).verdict, Verified)
    assert isinstance(check_certificate(Certificate(MEAN.name, TWO, Fraction(1, 4))).verdict, Refuted)


@pytest.mark.parametrize(("value", "outcome"), [(Fraction(1, 2), Verified), (Fraction(49, 100), Inconclusive)])
def test_a_certificate_without_exact_data_rests_on_its_bound(value: Fraction, outcome: type) -> None:
    assert isinstance(check_certificate(Certificate(MEAN.name, KNOWN, value)).verdict, outcome)


@pytest.mark.parametrize("name", ["unknown", "argmax_margin_lower"])
def test_a_certificate_must_name_a_bound_of_its_kind(name: str) -> None:
    with pytest.raises(InvalidInputError, match="bound"):
        check_certificate(Certificate(name, KNOWN, Fraction(1)))


@pytest.mark.parametrize("changes", [{"weights": [1, 0]}, {"ratios": ["1/2", 1]}])
def test_a_certificate_whose_known_data_contradict_each_other_is_never_verified(changes: dict[str, Any]) -> None:
    fields = {"weights": [1, 1], "ratios": [2, 2], **changes}
    verdict = check_certificate(Certificate(MEAN.name, instance("softmax_tv", **fields), Fraction(1))).verdict
    assert isinstance(verdict, Inconclusive)


def test_an_empty_interval_of_ratios_is_never_verified() -> None:
    empty = instance("softmax_tv", weights=[1, 1], lower=[2, 1], upper=[1, 1])
    assert isinstance(check_certificate(Certificate(MEAN.name, empty, Fraction(1))).verdict, Inconclusive)


def test_no_tokens_are_never_verified() -> None:
    none = instance("softmax_tv", weights=[], ratios=[], tilts=[])
    assert isinstance(check_number(none, Fraction(1)).verdict, Inconclusive)


def test_an_argmax_certificate_needs_a_value_not_above_its_bound() -> None:
    data = instance("argmax", scores_hat=[3, 0], radii=[1, 1], rows=[[], []], hidden_hat=[], hidden_radius=0)
    name = "argmax_margin_lower"
    assert isinstance(check_certificate(Certificate(name, data, Fraction(1))).verdict, Verified)
    assert isinstance(check_certificate(Certificate(name, data, Fraction(2))).verdict, Inconclusive)


def test_replay_evaluates_the_claim_again_or_takes_the_recorded_number() -> None:
    low = Fraction(1, 4)
    found = Counterexample("c", TWO, Interval(low, low), Interval(None, None), "hand", 0)
    assert isinstance(replay(found).verdict, Refuted)
    assert isinstance(replay(found, constant(low)).verdict, Refuted)
    assert isinstance(replay(found, MEAN).verdict, Verified)
    nothing = Counterexample("c", TWO, Interval(None, None), Interval(None, None), "hand", 0)
    assert isinstance(replay(nothing).verdict, Inconclusive)


UNDECIDED = Inconclusive("undecided at 2048 bits")


def planted(monkeypatch: pytest.MonkeyPatch, formula: Any) -> Certificate:
    """A certificate without exact data whose bound is a formula of the test."""
    monkeypatch.setitem(BOUNDS, "planted", claim("softmax_tv", name="planted")(formula))
    return Certificate("planted", KNOWN, Fraction(1))


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (lambda x, _m: 1 / (x.ratios[0] - 2), Inconclusive("the bound is undefined: division by zero")),
        (lambda _x, m: m.const(1) if m.exp(m.log(m.const(2))) <= 2 else m.const(2), UNDECIDED),
        (lambda _x, m: m.exp(m.log(m.const(1)) + m.log(m.const(2)) - m.log(m.const(2))), UNDECIDED),
        (lambda _x, m: m.log(m.const(0)), UNDECIDED),
    ],
)
def test_a_bound_without_a_decided_value_never_verifies(
    monkeypatch: pytest.MonkeyPatch, formula: Any, verdict: Inconclusive
) -> None:
    assert check_certificate(planted(monkeypatch, formula)).verdict == verdict


def test_a_bound_that_needs_more_bits_is_evaluated_again() -> None:
    close = claim("softmax_tv")(lambda x, m: (m.exp(m.const(Fraction(1, 10**50))) - 1) * 10**50 * Fraction(3, 10))
    assert isinstance(check_claim(close, TWO).verdict, Verified)


def test_a_premise_that_no_precision_decides_says_nothing() -> None:
    kind = replace(KINDS["softmax_tv"], known_premises=lambda x, m: [("odd", m.exp(m.log(m.const(2))) <= 2)])
    assert judge(kind, TWO, lambda _known: Real(1)).verdict == UNDECIDED
    also_false = replace(kind, hidden_premises=lambda x, m: [("false", m.const(1) <= 0)])
    assert judge(also_false, TWO, lambda _known: Real(1)).verdict == Inconclusive("the premise does not hold: false")


@pytest.mark.parametrize("verdict", [Verified(), Refuted("r"), Inconclusive("i")])
def test_a_verdict_has_no_truth_value(verdict: Any) -> None:
    with pytest.raises(TypeError, match="three values"):
        bool(verdict)


def test_the_four_statuses_have_stable_names() -> None:
    assert [str(s) for s in Status] == ["proved", "refuted", "survived", "undecided"]


def test_instances_are_validated_by_name_and_shape() -> None:
    bad: list[tuple[Instance, str]] = [
        (instance("softmax_tv", surprise=1, weights=[1], ratios=[1], tilts=[1]), "surprise"),
        (instance("softmax_tv", {"surprise": 1}, weights=[1], ratios=[1], tilts=[1]), "surprise"),
        (instance("softmax_tv", weights=[1], ratios=[1, 1], tilts=[1]), "ratios"),
        (instance("softmax_tv", weights=1, ratios=[1], tilts=[1]), "weights"),
        (instance("softmax_tv", weights=[[1]], ratios=[1], tilts=[1]), "weights"),
        (instance("softmax_tv", ratios=[1], tilts=[1]), "weights"),
        (instance("softmax_tv", weights=[1], tilts=[1]), "ratios"),
        (instance("softmax_tv", weights=[1], lower=[1], tilts=[1]), "ratios"),
        (instance("softmax_tv", logits_hat=[1], tilts=[1]), "logit_radii"),
        (instance("softmax_tv", weights=[1], ratios=[1]), "tilts"),
        (instance("softmax_tv", logits_hat=[1], logit_radii=[1]), "tilts"),
        (instance("nothing"), "kind"),
        (instance("element_error", left=[1]), "right"),
    ]
    for data, name in bad:
        with pytest.raises(InvalidInputError) as raised:
            check_number(data, Fraction(1))
        assert raised.value.name == name
