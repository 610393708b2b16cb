from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_cell_upper import BOUND
from proofkv_verify.bounds.softmax_tv_optimum import BOUND as OPTIMUM
from proofkv_verify.bounds.softmax_tv_overlap_upper import BOUND as OVERLAP
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_tight,
    changed,
    facts,
    fractions_of,
    ratio_case,
    ratio_cases,
    value,
    widened,
)


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("26/25", "6/5", "1002/1000", "23/20"), strict=True)))
def test_softmax_tv_cell_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases(), st.integers(0, 4), st.sampled_from(["1/2", "1", "3"]))
def test_softmax_tv_cell_upper_at_fixed_multipliers_does_not_decrease_with_a_ratio(
    case: Instance, k: int, mu: str
) -> None:
    fixed = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)), cell_mu=(Fraction(mu),) * 2)
    assert not (value(BOUND, widened(fixed, k)) < value(BOUND, fixed)).value


@facts
@given(ratio_cases())
def test_softmax_tv_cell_upper_is_at_least_the_optimum_over_parts(case: Instance) -> None:
    assert not (value(BOUND, case) < value(OPTIMUM, case)).value


@facts
@given(ratio_cases())
def test_softmax_tv_cell_upper_with_one_cell_is_at_most_the_overlap_bound(case: Instance) -> None:
    weights, ratios = fractions_of(case, "weights"), fractions_of(case, "ratios")
    mean = sum(p * r for p, r in zip(weights, ratios, strict=True)) / sum(weights)
    one = changed(case, cell_edges=(Fraction(0), Fraction(1)), cell_mu=(1 / mean,))
    assert (value(BOUND, one) <= value(OVERLAP, case)).value is True


def test_softmax_tv_cell_upper_worked_number() -> None:
    # one cell, mu 1: max(sum p (u - 1)_+, 1 - sum p min(1, l)) = max(1, 1/2)
    assert value(BOUND, ratio_case([1, 2], [2, 2], cell_edges=[0, 1], cell_mu=[1])).exact == 1
    assert value(BOUND, ratio_case([1, 2], [2, 2], cell_edges=[0, 1], cell_mu=["1/2"])).exact == Fraction(3, 4)


def test_softmax_tv_cell_upper_tries_at_most_24_multipliers_a_cell() -> None:
    ratios = tuple(1 + Fraction(k, 30) for k in range(30))
    many = Instance("softmax_tv", {"weights": (Fraction(1),) * 30, "ratios": ratios})
    assert (value(BOUND, many) <= Fraction(1, 3)).value is True
