"""What every bound on total variation must do; lists name the bounds that a fact exempts or is confined to."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import (
    assert_at_least,
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    changed,
    facts,
    few,
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

SLUGS = sorted(slug for slug, bound in BOUNDS.items() if bound.kind == "softmax_tv")
CELLS = ["softmax_tv_cell_upper", "softmax_tv_moment_upper"]
BINS = ["softmax_tv_histogram_upper", "softmax_tv_moment_upper"]
# A subset may hold one clone of a split token and not the other; a pair may be two clones of one token.
GROW_WHEN_SPLIT = ["softmax_tv_exact", "softmax_tv_odds_upper"]
# These choose cells, bins or kappas from the data; monotone at fixed ones is a fact of their own files.
CHOOSE_PARAMETERS = [*CELLS, "softmax_tv_hinge_upper", "softmax_tv_histogram_upper"]
BLIND_TO_SCALE_OF_ENDS = ["softmax_tv_cell_upper", "softmax_tv_exact", "softmax_tv_odds_upper"]


def but(exempt: list[str]) -> list[str]:
    """All slugs but these."""
    return [slug for slug in SLUGS if slug not in exempt]


@pytest.mark.parametrize("slug", SLUGS)
@facts
@given(case=ratio_cases())
def test_tv_bound_contains_exact_tv(slug: str, case: Instance) -> None:
    assert_contains(BOUNDS[slug], case)


@pytest.mark.parametrize("slug", SLUGS)
@facts
@given(case=interval_cases())
def test_tv_bound_contains_exact_tv_with_explicit_ends(slug: str, case: Instance) -> None:
    assert_contains(BOUNDS[slug], case)


@pytest.mark.parametrize("slug", SLUGS)
@facts
@given(case=logit_cases())
def test_tv_bound_contains_exact_tv_of_logits_and_two_precisions_overlap(slug: str, case: Instance) -> None:
    assert_contains(BOUNDS[slug], case)
    assert_precisions_overlap(BOUNDS[slug], case)


@pytest.mark.parametrize("slug", SLUGS)
@facts
@given(case=ratio_cases())
def test_tv_bound_is_at_least_the_optimum(slug: str, case: Instance) -> None:
    assert_at_least(BOUNDS[slug], case, optimum(case))


@pytest.mark.parametrize("slug", SLUGS)
@facts
@given(case=ratio_cases())
def test_tv_bound_ignores_order_and_common_scale_of_weights(slug: str, case: Instance) -> None:
    claimed = value(BOUNDS[slug], case)
    assert_overlap(claimed, value(BOUNDS[slug], permuted(case)))
    assert_overlap(claimed, value(BOUNDS[slug], scaled(case, "weights", Fraction(7, 3))))


@pytest.mark.parametrize("slug", but(GROW_WHEN_SPLIT))
@facts
@given(case=ratio_cases(max_tokens=4))
def test_tv_bound_does_not_change_when_a_token_is_split(slug: str, case: Instance) -> None:
    assert_overlap(value(BOUNDS[slug], case), value(BOUNDS[slug], split_first(case)))


@pytest.mark.parametrize("slug", but(CHOOSE_PARAMETERS))
@facts
@given(case=ratio_cases(), k=st.integers(0, 4))
def test_tv_bound_does_not_decrease_with_a_ratio(slug: str, case: Instance, k: int) -> None:
    assert not (value(BOUNDS[slug], widened(case, k)) < value(BOUNDS[slug], case)).value


@pytest.mark.parametrize("slug", BLIND_TO_SCALE_OF_ENDS)
@facts
@given(case=interval_cases(), factor=st.sampled_from(["1/3", "2", "7"]))
def test_tv_bound_does_not_change_when_all_ends_are_scaled(slug: str, case: Instance, factor: str) -> None:
    moved = scaled(scaled(case, "lower", Fraction(factor)), "upper", Fraction(factor))
    assert_overlap(value(BOUNDS[slug], case), value(BOUNDS[slug], moved))


@pytest.mark.parametrize("slug", CELLS)
@facts
@given(
    case=ratio_cases(),
    edges=st.lists(st.fractions(-1, 2, max_denominator=8), min_size=2, max_size=4),
    data=st.data(),
)
def test_tv_bound_contains_exact_tv_for_any_cells_and_multipliers(
    slug: str, case: Instance, edges: list[Fraction], data: st.DataObject
) -> None:
    mus = data.draw(st.tuples(*[st.fractions(-1, 4, max_denominator=4)] * (len(edges) - 1)))
    assert_contains(BOUNDS[slug], changed(case, cell_edges=tuple(edges), cell_mu=mus))


@pytest.mark.parametrize("slug", CELLS)
@facts
@given(case=ratio_cases(), k=st.integers(0, 9), mu=st.sampled_from(["0", "1/2", "1", "3"]))
def test_tv_bound_of_a_finer_cover_is_not_larger(slug: str, case: Instance, k: int, mu: str) -> None:
    coarse = changed(case, cell_edges=(Fraction(0), Fraction(1)), cell_mu=(Fraction(mu),))
    cut = (Fraction(0), Fraction(k, 9), Fraction(1))
    fine = changed(case, cell_edges=cut, cell_mu=(Fraction(mu), Fraction(mu)))
    assert not (value(BOUNDS[slug], fine) > value(BOUNDS[slug], coarse)).value


@pytest.mark.parametrize("slug", CELLS)
@few
@given(case=ratio_cases())
def test_tv_bound_with_cells_and_no_multipliers_tries_its_own(slug: str, case: Instance) -> None:
    tried = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)))
    assert_contains(BOUNDS[slug], tried)
    for mu in (Fraction(1), Fraction(1, 2)):
        assert_contains(BOUNDS[slug], changed(tried, cell_mu=(mu, mu)))


@pytest.mark.parametrize("slug", CELLS)
@pytest.mark.parametrize("edges", [[0, "1/2"], ["1/4", 1], [0, "3/4", "1/2", 1]])
def test_tv_bound_is_vacuous_for_cells_that_do_not_cover(slug: str, edges: list) -> None:
    mus = [1] * (len(edges) - 1)
    assert value(BOUNDS[slug], ratio_case([1, 2], [2, 2], cell_edges=edges, cell_mu=mus)).exact == 1


@pytest.mark.parametrize("slug", CELLS)
def test_tv_bound_refuses_cells_without_matching_multipliers(slug: str) -> None:
    with pytest.raises(ShapeError, match="2 multipliers"):
        value(BOUNDS[slug], ratio_case([1], [2], cell_edges=[0, "1/2", 1], cell_mu=[1]))
    with pytest.raises(ShapeError, match="at least 2 edges"):
        value(BOUNDS[slug], ratio_case([1], [2], cell_edges=[0], cell_mu=[]))
    with pytest.raises(InvalidInputError, match="cell_edges"):
        value(BOUNDS[slug], ratio_case([1], [2], cell_mu=[1]))


@pytest.mark.parametrize("slug", BINS)
@facts
@given(case=ratio_cases(), edges=st.lists(st.fractions(0, 30, max_denominator=4), max_size=4))
def test_tv_bound_contains_exact_tv_for_any_bins(slug: str, case: Instance, edges: list[Fraction]) -> None:
    assert_contains(BOUNDS[slug], changed(case, bin_edges=tuple(edges)))


@pytest.mark.parametrize("slug", BINS)
def test_tv_bound_is_vacuous_for_decreasing_bin_edges(slug: str) -> None:
    assert value(BOUNDS[slug], ratio_case([1, 1], [2, 2], bin_edges=[3, 2])).exact == 1


@pytest.mark.parametrize("slug", BINS)
def test_tv_bound_counts_a_bin_edge_below_one_as_one(slug: str) -> None:
    below, at = (ratio_case([1, 1], [1, 2], bin_edges=[edge, 2]) for edge in ("1/2", 1))
    assert_overlap(value(BOUNDS[slug], below), value(BOUNDS[slug], at))
