from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_cell_upper import BOUND as CELL
from proofkv_verify.bounds.softmax_tv_moment_upper import BOUND
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    GUARDS,
    assert_at_least,
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    assert_tight,
    changed,
    few,
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
)


@few
@given(ratio_cases())
def test_softmax_tv_moment_upper_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@few
@given(interval_cases())
def test_softmax_tv_moment_upper_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@few
@given(logit_cases())
def test_softmax_tv_moment_upper_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@few
@given(ratio_cases())
def test_softmax_tv_moment_upper_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@few
@given(ratio_cases())
def test_softmax_tv_moment_upper_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@few
@given(ratio_cases(max_tokens=4))
def test_softmax_tv_moment_upper_does_not_change_when_a_token_is_split(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, split_first(case)))


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("11/10", "23/20", "23/20", "23/20"), strict=True)))
def test_softmax_tv_moment_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@few
@given(ratio_cases(), st.lists(st.fractions(-1, 2, max_denominator=8), min_size=2, max_size=4), st.data())
def test_softmax_tv_moment_upper_contains_exact_tv_for_any_cells_and_multipliers(
    case: Instance, edges: list[Fraction], data: st.DataObject
) -> None:
    mus = data.draw(st.tuples(*[st.fractions(-1, 4, max_denominator=4)] * (len(edges) - 1)))
    assert_contains(BOUND, changed(case, cell_edges=tuple(edges), cell_mu=mus))


@few
@given(ratio_cases(), st.integers(0, 9), st.sampled_from(["0", "1/2", "1", "3"]))
def test_softmax_tv_moment_upper_of_a_finer_cover_is_not_larger(case: Instance, k: int, mu: str) -> None:
    coarse = changed(case, cell_edges=(Fraction(0), Fraction(1)), cell_mu=(Fraction(mu),))
    cut = (Fraction(0), Fraction(k, 9), Fraction(1))
    fine = changed(case, cell_edges=cut, cell_mu=(Fraction(mu), Fraction(mu)))
    assert not (value(BOUND, fine) > value(BOUND, coarse)).value


@pytest.mark.parametrize("edges", [[0, "1/2"], ["1/4", 1], [0, "3/4", "1/2", 1]])
def test_softmax_tv_moment_upper_is_vacuous_for_cells_that_do_not_cover(edges: list) -> None:
    mus = [1] * (len(edges) - 1)
    assert value(BOUND, ratio_case([1, 2], [2, 2], cell_edges=edges, cell_mu=mus)).exact == 1


def test_softmax_tv_moment_upper_refuses_cells_without_matching_multipliers() -> None:
    with pytest.raises(ShapeError, match="2 multipliers"):
        value(BOUND, ratio_case([1], [2], cell_edges=[0, "1/2", 1], cell_mu=[1]))
    with pytest.raises(ShapeError, match="at least 2 edges"):
        value(BOUND, ratio_case([1], [2], cell_edges=[0], cell_mu=[]))
    with pytest.raises(InvalidInputError, match="cell_edges"):
        value(BOUND, ratio_case([1], [2], cell_mu=[1]))


@few
@given(ratio_cases())
def test_softmax_tv_moment_upper_with_cells_and_no_multipliers_tries_its_own(case: Instance) -> None:
    tried = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)))
    assert_contains(BOUND, tried)
    for mu in (Fraction(1), Fraction(1, 2)):
        fixed = changed(tried, cell_mu=(mu, mu))
        assert_contains(BOUND, fixed)


@few
@given(ratio_cases(), st.lists(st.fractions(0, 30, max_denominator=4), max_size=3))
def test_softmax_tv_moment_upper_contains_exact_tv_for_any_bins(case: Instance, edges: list[Fraction]) -> None:
    assert_contains(BOUND, changed(case, bin_edges=tuple(edges)))


@few
@given(ratio_cases(), st.sampled_from(["1/4", "1/2", "1", "3"]))
def test_softmax_tv_moment_upper_is_at_least_the_token_certificate_on_the_same_cells(case: Instance, mu: str) -> None:
    fixed = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)), cell_mu=(Fraction(mu),) * 2)
    assert (value(BOUND, fixed) >= value(CELL, fixed)).value is True


@few
@given(ratio_cases(), st.sampled_from(["1/4", "1/2", "1", "3"]))
def test_softmax_tv_moment_upper_with_a_bin_for_each_ratio_is_the_token_certificate(case: Instance, mu: str) -> None:
    ratios = sorted({Fraction(1), *fractions_of(case, "ratios")})
    cells = {"cell_edges": (Fraction(0), Fraction(1)), "cell_mu": (Fraction(mu),)}
    fixed = changed(case, bin_edges=tuple(ratios), **cells)
    assert value(BOUND, fixed).exact == value(CELL, fixed).exact


def test_softmax_tv_moment_upper_is_vacuous_for_decreasing_edges() -> None:
    assert value(BOUND, ratio_case([1, 1], [2, 2], bin_edges=[3, 2])).exact == 1


def test_softmax_tv_moment_upper_counts_an_edge_below_one_as_one() -> None:
    below, at = (ratio_case([1, 1], [1, 2], bin_edges=[edge, 2]) for edge in ("1/2", 1))
    assert_overlap(value(BOUND, below), value(BOUND, at))


def test_softmax_tv_moment_upper_worked_number() -> None:
    # One bin [1, 3] with mass 1, sum p r = 2, sum p/r = 2/3; mu 1/2, one cell: the chord at s = 0 gives 1/4 and
    # psi(1) = 1/3, so the value is max(1/4, 2/3); the tokens' own sum gives the same end value.
    case = ratio_case([1, 1], [1, 3], bin_edges=[3], cell_edges=[0, 1], cell_mu=["1/2"])
    assert value(BOUND, case).exact == Fraction(2, 3)
