from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_cell_upper import BOUND
from proofkv_verify.bounds.softmax_tv_optimum import BOUND as OPTIMUM
from proofkv_verify.bounds.softmax_tv_overlap_upper import BOUND as OVERLAP
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
def test_softmax_tv_cell_upper_contains_exact_tv(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(interval_cases())
def test_softmax_tv_cell_upper_contains_exact_tv_with_explicit_ends(case: Instance) -> None:
    assert_contains(BOUND, case)


@facts
@given(logit_cases())
def test_softmax_tv_cell_upper_contains_exact_tv_of_logits_and_two_precisions_overlap(case: Instance) -> None:
    assert_contains(BOUND, case)
    assert_precisions_overlap(BOUND, case)


@facts
@given(ratio_cases())
def test_softmax_tv_cell_upper_is_at_least_the_optimum(case: Instance) -> None:
    assert_at_least(BOUND, case, optimum(case))


@facts
@given(ratio_cases())
def test_softmax_tv_cell_upper_ignores_order_and_common_scale_of_weights(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, permuted(case)))
    assert_overlap(value(BOUND, case), value(BOUND, scaled(case, "weights", Fraction(7, 3))))


@facts
@given(ratio_cases(max_tokens=4))
def test_softmax_tv_cell_upper_does_not_change_when_a_token_is_split(case: Instance) -> None:
    assert_overlap(value(BOUND, case), value(BOUND, split_first(case)))


@facts
@given(interval_cases(), st.sampled_from(["1/3", "2", "7"]))
def test_softmax_tv_cell_upper_does_not_change_when_all_ends_are_scaled(case: Instance, factor: str) -> None:
    moved = scaled(scaled(case, "lower", Fraction(factor)), "upper", Fraction(factor))
    assert_overlap(value(BOUND, case), value(BOUND, moved))


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("26/25", "6/5", "1002/1000", "23/20"), strict=True)))
def test_softmax_tv_cell_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@facts
@given(ratio_cases(), st.lists(st.fractions(-1, 2, max_denominator=8), min_size=2, max_size=4), st.data())
def test_softmax_tv_cell_upper_contains_exact_tv_for_any_cells_and_multipliers(
    case: Instance, edges: list[Fraction], data: st.DataObject
) -> None:
    mus = data.draw(st.tuples(*[st.fractions(-1, 4, max_denominator=4)] * (len(edges) - 1)))
    assert_contains(BOUND, changed(case, cell_edges=tuple(edges), cell_mu=mus))


@facts
@given(ratio_cases(), st.integers(0, 9), st.sampled_from(["0", "1/2", "1", "3"]))
def test_softmax_tv_cell_upper_of_a_finer_cover_is_not_larger(case: Instance, k: int, mu: str) -> None:
    coarse = changed(case, cell_edges=(Fraction(0), Fraction(1)), cell_mu=(Fraction(mu),))
    cut = (Fraction(0), Fraction(k, 9), Fraction(1))
    fine = changed(case, cell_edges=cut, cell_mu=(Fraction(mu), Fraction(mu)))
    assert not (value(BOUND, fine) > value(BOUND, coarse)).value


@pytest.mark.parametrize("edges", [[0, "1/2"], ["1/4", 1], [0, "3/4", "1/2", 1]])
def test_softmax_tv_cell_upper_is_vacuous_for_cells_that_do_not_cover(edges: list) -> None:
    mus = [1] * (len(edges) - 1)
    assert value(BOUND, ratio_case([1, 2], [2, 2], cell_edges=edges, cell_mu=mus)).exact == 1


def test_softmax_tv_cell_upper_refuses_cells_without_matching_multipliers() -> None:
    with pytest.raises(ShapeError, match="2 multipliers"):
        value(BOUND, ratio_case([1], [2], cell_edges=[0, "1/2", 1], cell_mu=[1]))
    with pytest.raises(ShapeError, match="at least 2 edges"):
        value(BOUND, ratio_case([1], [2], cell_edges=[0], cell_mu=[]))
    with pytest.raises(InvalidInputError, match="cell_edges"):
        value(BOUND, ratio_case([1], [2], cell_mu=[1]))


@facts
@given(ratio_cases())
def test_softmax_tv_cell_upper_with_cells_and_no_multipliers_tries_its_own(case: Instance) -> None:
    tried = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)))
    assert_contains(BOUND, tried)
    for mu in (Fraction(1), Fraction(1, 2)):
        fixed = changed(tried, cell_mu=(mu, mu))
        assert_contains(BOUND, fixed)


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
