from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_histogram_upper import BOUND
from proofkv_verify.bounds.softmax_tv_optimum import BOUND as OPTIMUM
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_at_least,
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    assert_tight,
    changed,
    facts,
    fractions_of,
    interval_cases,
    logit_cases,
    optimum,
    permuted,
    ratio_case,
    ratio_cases,
    scaled,
    split_first,
    value,
    widened,
)


@facts
@given(ratio_cases())
def test_softmax_tv_histogram_upper_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(interval_cases())
def test_softmax_tv_histogram_upper_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(logit_cases())
def test_softmax_tv_histogram_upper_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@facts
@given(ratio_cases())
def test_softmax_tv_histogram_upper_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@facts
@given(ratio_cases())
def test_softmax_tv_histogram_upper_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@facts
@given(ratio_cases(max_tokens=4))
def test_softmax_tv_histogram_upper_does_not_change_when_a_token_is_split(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, split_first(case)))


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
@given(ratio_cases(), st.lists(st.fractions(0, 30, max_denominator=4), max_size=4))
def test_softmax_tv_histogram_upper_contains_exact_tv_for_any_edges(case: Instance, edges: list[Fraction]) -> None:
    assert_contains(BOUND, changed(case, bin_edges=tuple(edges)))


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


def test_softmax_tv_histogram_upper_is_vacuous_for_decreasing_edges() -> None:
    assert value(BOUND, ratio_case([1, 1], [2, 2], bin_edges=[3, 2])).exact == 1


def test_softmax_tv_histogram_upper_counts_an_edge_below_one_as_one() -> None:
    below, at = (ratio_case([1, 1], [1, 2], bin_edges=[edge, 2]) for edge in ("1/2", 1))
    assert_overlap(value(BOUND, below), value(BOUND, at))
