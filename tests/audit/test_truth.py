"""The float64 enclosures of the audit against the checker's, row by row."""

from fractions import Fraction

import pytest
import torch

from proofkv_verify.audit.attention import attend
from proofkv_verify.audit.claim import Setting
from proofkv_verify.audit.data import adversarial_cases, random_cases, shape_for
from proofkv_verify.audit.instances import logit_instance, norm_up, output_instance, weights_instance
from proofkv_verify.audit.truth import truth_of
from proofkv_verify.check import check_number
from proofkv_verify.schemes.registry import resolve_scheme
from proofkv_verify.verdict import Verified
from tests.audit import toys

SHAPE = shape_for(0, 16)
CORNERS = ("all zero (float16)", "outlier token (float32)", "largest numbers (bfloat16)", "far from zero (float16)")
CASES = [*random_cases(SHAPE, 5, 3), *(c for c in adversarial_cases(SHAPE) if c.name in CORNERS)]


def instances(kind, part, row, tokens):
    if kind == "softmax_tv":
        return [weights_instance(part, row, tokens)]
    return [output_instance(kind, part, row, tokens, centred=centred) for centred in (False, True)]


@pytest.mark.parametrize("kind", ["softmax_tv", "attention_l2", "attention_linf"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.parametrize("scheme", [toys.good, resolve_scheme("identity")], ids=["int8", "identity"])
def test_truth_encloses_what_the_checker_finds(one_thread, kind, case, scheme):
    (part,) = attend(Setting(scheme, "toy", "cpu", 0), case)
    low, high = truth_of(part, kind)
    assert truth_of(part, kind)[0] is low
    for row in ((0, 0, 0), (1, 1, 1), (0, 3, 2), (1, 2, 4)):
        tokens = part.mask[row].nonzero()[:, 0]
        for instance in instances(kind, part, row, tokens):
            judged = check_number(instance, Fraction(10) ** 40)
            assert isinstance(judged.verdict, Verified), judged
            assert Fraction(float(low[row])) <= judged.truth.upper
            assert judged.truth.lower <= Fraction(float(high[row]))


@pytest.mark.parametrize("case", CASES[:3], ids=[case.name for case in CASES[:3]])
def test_the_change_of_a_logit_encloses_what_the_checker_finds(one_thread, case):
    (part,) = attend(Setting(toys.good, "toy", "cpu", 0), case)
    for row, token in (((0, 0, 0), 0), ((1, 3, 4), 7)):
        query = part.trial.case.queries[row].double()
        true = check_number(logit_instance(part, row, token, query), Fraction(10) ** 40).truth
        low, high = (Fraction(float(end[row][token])) for end in part.change)
        assert low <= true.lower == true.upper <= high
        assert high - low <= true.upper / 10**12


def test_a_query_along_the_error_moves_its_logit_as_far_as_the_norm_allows(one_thread):
    (part,) = attend(Setting(toys.good, "toy", "cpu", 0), CASES[0])
    error = CASES[0].keys.double() - part.trial.keys_hat.double()
    token = int(error[0, 0].abs().amax(-1).argmax())
    query = part.trial.case.queries[0, 0, -1].double()
    reach = torch.linalg.vector_norm(query) * torch.linalg.vector_norm(error[0, 0, token]) / 4
    assert float(part.change[0][0, 0, -1, token]) > 0.999 * float(reach)


def test_norm_up_is_above_the_norm_and_close_to_it():
    for numbers in (
        [Fraction(3), Fraction(4)],
        [Fraction(1, 3**60), Fraction(2, 3**61)],
        [Fraction(10) ** 50, Fraction(1)],
    ):
        square = sum(x * x for x in numbers)
        root = norm_up(numbers)
        assert square <= root * root <= square * (1 + Fraction(1, 2**60))
    assert norm_up([Fraction(0)]) == 0
