from fractions import Fraction

import pytest

from proofkv_verify.kinds import Instance
from tests.quality.witnesses import assert_witness_kills, instance, mutants_of

SLUGS = (
    "softmax_tv_exact",
    "softmax_tv_eform_upper",
    "softmax_tv_odds_upper",
    "softmax_tv_mean_upper",
    "softmax_tv_overlap_upper",
    "softmax_tv_hinge_upper",
    "softmax_tv_histogram_upper",
    "softmax_tv_optimum",
    "softmax_tv_cell_upper",
    "softmax_tv_moment_upper",
)


def tv(weights: list, ratios: list, raised: list[int], **more: object) -> Instance:
    """Ratio form; tokens in `raised` are at the upper end of their weight ratio and the others at the lower end."""
    vertex = [Fraction(r) if i in raised else 1 / Fraction(r) for i, r in enumerate(ratios)]
    params = more.pop("params", None)
    return instance("softmax_tv", params, weights=weights, ratios=ratios, tilts=vertex, **more)


def ends(weights: list, lower: list, upper: list, tilts: list, **more: object) -> Instance:
    """Interval form."""
    return instance("softmax_tv", None, weights=weights, lower=lower, upper=upper, tilts=tilts, **more)


TINY_MASS = tv([1, 999999], [2000000, 2], [0])
OPPOSITE = tv([1, 1], [3, 3], [0])
TAIL = tv([1, 99], [20, 1], [0])
PAGES = [list(range(32))]
WITNESSES = {
    "tv_exact_single_tokens": tv([1, 1, 1, 1, 1], ["3/2"] * 5, [0, 1]),
    "tv_dispersion_form": tv([1, 1], ["11/10", "11/10"], [0]),
    "tv_eform_of_mean_radius": TAIL,
    "tv_tanh_of_mean_radius": TAIL,
    "tv_mean_of_tanh": TAIL,
    "tv_odds_radius_as_oscillation": OPPOSITE,
    "tv_odds_upper_end_only": ends([1, 1], ["1/3", 1], [1, 1], ["1/3", 1]),
    "tv_half_lipschitz": tv([1, 1], ["11/10", "11/10"], [0]),
    "tv_mean_weighted_odds": TAIL,
    "tv_mean_half_excess": TAIL,
    "tv_mean_without_condition": TINY_MASS,
    "tv_mean_of_page_averages": tv([31, *[1] * 31], [20, *[1] * 31], [], params={"pages": PAGES}),
    "tv_mean_of_previous_step": tv([1, 1], [1, 3], [1], previous_weights=[999999, 1]),
    "tv_mean_with_tokens_outside": tv([1, 1], [3, 3], [0], outside_weights=[98]),
    "tv_tail_one_factor": tv([999, 1], [3, 3], [1]),
    "tv_overlap_difference_quotient": tv([1, 999], [1001, 1], [0]),
    "tv_overlap_unscaled_ends": ends([1, 1], [10, 1], [10, 1], [10, 1]),
    "tv_hinge_without_condition": TINY_MASS,
    "tv_hinge_clipped_ratios": tv([1, 1], [1, 2], [1], kappas=[1]),
    "tv_histogram_binned_down": tv([1, 2], [2, 2], [0]),
    "tv_histogram_bin_mean": tv([1, 999], [1001, 1], [0], bin_edges=[1001]),
    "tv_optimum_upper_thresholds": tv([1, 2], [1, "3/2"], [0]),
    "tv_optimum_two_sided_sets": tv([1, 1, 2], ["3/2", 2, 3], [1]),
    "tv_optimum_local_ascent": tv([2, 1], [2, 2], [1]),
    "tv_cells_not_covering": tv([1, 999], [1000000, 1], [0]),
    "tv_cells_left_end_only": tv([1, 3], [3, "3/2"], [0]),
    "tv_cells_psi_at_wrong_end": tv([1, 2], [2, 2], [0]),
    "tv_cells_upper_sum": tv([1, 2], [2, 2], [0]),
    "tv_moment_chord_dropped": tv(
        [9, 2],
        [1, 3],
        [1],
        bin_edges=[99],
        cell_edges=[0, "1/4", "1/2", "3/4", 1],
        cell_mu=["3/4", "3/4", 1, 1],
    ),
    "tv_moment_left_edge": tv([1, 2], [5, 2], [0]),
}


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_named_witness_kills_mutant(name: str) -> None:
    assert_witness_kills(name, WITNESSES[name])


def test_every_tv_mutant_has_a_witness() -> None:
    assert mutants_of(SLUGS) == set(WITNESSES)


def test_unchecked_cell_edges_are_refuted_on_half_an_interval() -> None:
    witness = tv([1, 2], [2, 2], [0], cell_edges=[0, "1/8"])
    assert_witness_kills("tv_cells_not_covering", witness)
