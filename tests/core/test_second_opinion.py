from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings

from proofkv_verify import claim
from proofkv_verify import second_opinion as module
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Counterexample, Interval
from proofkv_verify.check import Judgement, check_number
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.mp_math import Approx, MpMath
from proofkv_verify.mp_truth import true_quantity
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.reference.registry import KINDS
from proofkv_verify.second_opinion import second_opinion
from proofkv_verify.verdict import Verified
from tests.quality import test_mutants_argmax as argmax
from tests.quality import test_mutants_logit as logit
from tests.quality import test_mutants_quantizer as quantizer
from tests.quality import test_mutants_tv as tv
from tests.quality.witnesses import instance
from tests.reference.documents import documents

M = MpMath(60)
WITNESSES = {**quantizer.WITNESSES, **logit.WITNESSES, **tv.WITNESSES, **argmax.WITNESSES}
TV = instance("softmax_tv", weights=[1, 1], ratios=[2, 2], tilts=[2, "1/2"])  # TV = 3/10
TV_LOGITS = instance("softmax_tv", logits_hat=[0, 1], logit_radii=[1, 1], logits=[1, "1/2"])
KNOWN = instance("softmax_tv", weights=[1, 1], ratios=[2, 2])
MARGIN = instance("argmax", scores_hat=[3, 0], radii=[1, 1], rows=[[], []], hidden_hat=[], hidden_radius=0)


def found(data: Instance, claimed: Fraction | None) -> Counterexample:
    return Counterexample("hand", data, Interval(claimed, claimed), Interval(None, None), "hand", 0)


def test_every_kind_has_an_independent_formula() -> None:
    examples = [
        TV,
        instance("element_error", left=[1, "1/2"], right=["3/2", 0]),
        instance("vector_error", left=[3, 0], right=[0, 4]),
        instance("vector_error", left=[], right=[]),
        instance("non_finite", {"restored": "-inf"}, left=[1]),
        instance("non_finite", {"restored": "nan"}, left=[1]),
        instance("non_finite", left=[1]),
        instance("unchanged", left=[1, 2], right=[1, 2]),
        instance("unchanged", left=[1, 2], right=[1, 3]),
        instance("stored_bytes", parts=[3, 4]),
    ]
    truths = [Fraction(3, 10), Fraction(1, 2), 5, 0, 1, 1, 0, 1, 0, 7]
    for data, truth in zip(examples, truths, strict=True):
        assert abs(true_quantity(data, 30) - mpmath.mpf(truth.numerator) / truth.denominator) < mpmath.mpf(10) ** -14
    with pytest.raises(InvalidInputError, match="kind"):
        true_quantity(instance("nothing"), 30)
    assert set(KINDS) == set(module.true_quantity.__globals__["_TRUTHS"])


@pytest.mark.parametrize(
    ("document", "word"),
    [
        (Certificate("given", TV, Fraction(3, 10)), "Verified"),
        (Certificate("given", TV, Fraction(1, 4)), "Refuted"),
        (Certificate("given", TV_LOGITS, Fraction(1, 2)), "Verified"),
        (Certificate("given", TV_LOGITS, Fraction(1, 4)), "Refuted"),
        (Certificate("softmax_tv_mean_upper", KNOWN, Fraction(1, 2)), "Verified"),
        (Certificate("softmax_tv_mean_upper", KNOWN, Fraction(1, 3)), "Inconclusive"),
        (Certificate("argmax_margin_lower", MARGIN, Fraction(1)), "Verified"),
        (Certificate("argmax_margin_lower", MARGIN, Fraction(2)), "Inconclusive"),
        (found(TV, Fraction(1, 4)), "Refuted"),
        (found(instance("softmax_tv", weights=[1], ratios=[2], tilts=[3]), Fraction(0)), "Inconclusive"),
    ],
)
def test_a_sound_verdict_is_confirmed_with_its_word(document: Certificate | Counterexample, word: str) -> None:
    opinion = second_opinion(document)
    assert opinion.agrees is True, opinion.text
    assert opinion.text.startswith(word)


def test_a_claim_is_evaluated_again_for_a_counterexample_only() -> None:
    mean = BOUNDS["softmax_tv_mean_upper"]
    assert second_opinion(found(TV, None), mean).agrees is True
    with pytest.raises(InvalidInputError, match="claim"):
        second_opinion(Certificate("given", TV, Fraction(1)), mean)


@pytest.mark.parametrize("claimed", ["nan", "inf", "-inf"])
def test_without_a_claimed_number_there_is_no_opinion(claimed: Any) -> None:
    assert second_opinion(Certificate("given", TV, claimed)).agrees is None
    assert second_opinion(found(TV, None)).agrees is None


def test_what_no_number_of_digits_decides_is_no_opinion() -> None:
    def branches(_x: Any, m: Any) -> Any:
        return m.const(1) if m.exp(m.log(m.const(2))) <= 2 else m.const(2)

    same = instance("softmax_tv", logits_hat=[0, 1], logit_radii=[1, 1], logits=[1, 0])
    reached = claim("softmax_tv")(lambda x, m: (m.exp(x.radii[0]) - 1) / (m.exp(x.radii[0]) + 1))
    for data, undecided in ((TV, claim("softmax_tv")(branches)), (same, reached)):
        opinion = second_opinion(found(data, None), undecided)
        assert (opinion.agrees, opinion.text) == (None, "60 and 120 digits do not decide")


def test_a_claim_that_divides_by_zero_is_inconclusive_on_both_sides() -> None:
    divides = claim("softmax_tv", name="divides")(lambda x, _m: 1 / (x.ratios[0] - 2))
    opinion = second_opinion(found(TV, None), divides)
    assert (opinion.agrees, opinion.text[:12]) == (True, "Inconclusive")


def test_wrong_numbers_of_the_checker_are_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    document = Certificate("given", TV, Fraction(1, 4))
    wrong = Judgement(Verified(), Interval(Fraction(1, 4), Fraction(1, 4)), Interval(Fraction(1, 5), Fraction(1, 5)))
    monkeypatch.setattr(module, "check_certificate", lambda _document: wrong)
    opinion = second_opinion(document)
    assert opinion.agrees is False
    assert "outside" in opinion.text
    assert "Verified" in opinion.text


def test_a_wrong_reference_formula_is_contradicted_by_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = replace(KINDS["softmax_tv"], truth=lambda x, m: m.const(Fraction(3, 5)))
    monkeypatch.setitem(KINDS, "softmax_tv", doubled)
    opinion = second_opinion(Certificate("given", TV, Fraction(1)))
    assert opinion.agrees is False
    assert "plain formula" in opinion.text


def test_two_numbers_of_digits_that_differ_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Drifting(MpMath):
        def exp(self, value: Any) -> Approx:
            return super().exp(value * (1 + Fraction(self.digits, 10**30)))

    monkeypatch.setattr(module, "MpMath", Drifting)
    opinion = second_opinion(Certificate("given", TV_LOGITS, Fraction(1, 2)))
    assert opinion.agrees is False
    assert "digits" in opinion.text


@pytest.mark.parametrize("name", WITNESSES)
def test_both_libraries_refute_every_mutant_on_its_witness(name: str) -> None:
    opinion = second_opinion(found(WITNESSES[name], None), MUTANTS[name])
    assert opinion.agrees is True, opinion.text
    assert opinion.text.startswith("Refuted")


def test_the_checker_and_the_second_opinion_see_one_truth() -> None:
    judged = check_number(TV_LOGITS, Fraction(1, 2))
    assert judged.truth is not None
    plain = true_quantity(TV_LOGITS, 60)
    lower, upper = judged.truth.lower, judged.truth.upper
    assert lower is not None
    assert upper is not None
    assert M.point(lower) <= plain <= M.point(upper)


@settings(deadline=None, max_examples=100)
@given(documents())
def test_the_second_opinion_contradicts_the_checker_on_no_document(data: Instance) -> None:
    names = [name for name, bound in BOUNDS.items() if bound.kind == data.kind] or ["given"]
    for document in [Certificate(names[0], data, Fraction(1, 3)), found(data, Fraction(1, 3))]:
        try:
            opinion = second_opinion(document)
        except InvalidInputError:
            continue
        assert opinion.agrees is not False, f"{document}: {opinion.text}"


def test_logits_of_any_size_are_evaluated() -> None:
    huge = instance("softmax_tv", logits_hat=[2**3000, 0], logit_radii=[1, 1], logits=[2**3000, 1])
    assert second_opinion(Certificate("given", huge, Fraction(1, 2))).agrees is not False
