from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_histogram_upper import BOUND
from proofkv_verify.bounds.softmax_tv_optimum import BOUND as OPTIMUM
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_overlap,
    assert_tight,
    changed,
    facts,
    fractions_of,
    ratio_cases,
    value,
    widened,
)


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("5/4", "101/100", "9/5", "101/100"), strict=True)))
def test_softmax_tv_histogram_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


EDGES = (Fraction(1), Fraction(3, 2), Fraction(4), Fraction(30))


@facts
@given(ratio_cases(), st.integers(0, 4))
def test_softmax_tv_histogram_upper_with_fixed_bins_does_not_decrease_with_a_ratio(case: Instance, k: int) -> None:
    binned = changed(case, bin_edges=EDGES)
    assert not (value(BOUND, widened(binned, k)) < value(BOUND, binned)).value


@facts
@given(ratio_cases())
def test_softmax_tv_histogram_upper_exceeds_the_unbinned_optimum_by_at_most_the_bin_width(case: Instance) -> None:
    rho = Fraction(2)
    ratios = fractions_of(case, "ratios")
    edges = [Fraction(1)]
    while edges[-1] < max(ratios):
        edges.append(edges[-1] * rho)
    binned, plain = value(BOUND, changed(case, bin_edges=tuple(edges))), value(OPTIMUM, case)
    assert not (binned < plain).value
    assert (binned <= plain + (rho - 1) / (rho + 1)).value is True


@facts
@given(ratio_cases())
def test_softmax_tv_histogram_upper_with_an_edge_at_each_ratio_is_the_unbinned_optimum(case: Instance) -> None:
    edges = tuple(sorted(fractions_of(case, "ratios")))
    assert_overlap(value(BOUND, changed(case, bin_edges=edges)), value(OPTIMUM, case))
