"""A check that averages over queries passes a wrong bound; the checker judges each query."""

from fractions import Fraction

from proofkv_verify.check import check_claim
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.verdict import Refuted, Verified
from tests.quality.witnesses import instance

MUTANT = MUTANTS["tv_dispersion_form"]
VIOLATED = instance("softmax_tv", logits_hat=[0, 0], logit_radii=["1/10", "1/10"], logits=["-1/10", "1/10"])
HARMLESS = instance("softmax_tv", weights=["3/10", "7/10"], ratios=["33/20", 1], tilts=["33/20", 1])


def test_the_mean_over_queries_hides_a_violated_query() -> None:
    judgements = [check_claim(MUTANT, query) for query in (VIOLATED, HARMLESS)]
    assert isinstance(judgements[0].verdict, Refuted)
    assert isinstance(judgements[1].verdict, Verified)
    claimed = sum((j.claimed.lower for j in judgements), Fraction(0))  # type: ignore[union-attr, misc]
    true = sum((j.truth.upper for j in judgements), Fraction(0))  # type: ignore[union-attr, misc]
    assert true <= claimed
