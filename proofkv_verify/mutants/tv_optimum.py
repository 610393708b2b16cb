"""Planted wrong variants of the total variation optimum, its cell certificates and its histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from proofkv_verify.bounds._bins import Bin, guarded, ratio_bins
from proofkv_verify.bounds._cells import DEFAULT_EDGES, cell_bound
from proofkv_verify.bounds._thresholds import fractional_optimum, ratio_order
from proofkv_verify.bounds.softmax_tv_cell_upper import dual
from proofkv_verify.bounds.softmax_tv_moment_upper import moment_multipliers
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Condition, Math, Scalar

_CellValue: TypeAlias = Callable[[Scalar, Scalar, Scalar], Scalar]  # (mu, s0, s1)
_BinExcess: TypeAlias = Callable[[Bin, Scalar, Scalar], Scalar]  # (bin, mu, s)

_EXACT, _OPTIMUM, _CELL = "softmax_tv_exact", "softmax_tv_optimum", "softmax_tv_cell_upper"
_HISTOGRAM, _MOMENT = "softmax_tv_histogram_upper", "softmax_tv_moment_upper"


@claim("softmax_tv", name="tv_exact_single_tokens", mutates=_EXACT)
def tv_exact_single_tokens(x: View, m: Math) -> Scalar:
    """Only sets of one token are tried."""
    n = range(len(x.weights))
    return m.max(0, *(_set_value(x, [m.const(int(i == k)) for i in n], m) for k in n))


@claim("softmax_tv", name="tv_optimum_upper_thresholds", mutates=_OPTIMUM)
def tv_optimum_upper_thresholds(x: View, m: Math) -> Scalar:
    """Only the sets of all tokens above a ratio are tried; tokens of small ratio may belong to the best set."""
    order = ratio_order(x)
    return m.max(0, *(_set_value(x, _indicator([r >= mine for r in order], m), m) for mine in order))


@claim("softmax_tv", name="tv_optimum_two_sided_sets", mutates=_OPTIMUM)
def tv_optimum_two_sided_sets(x: View, m: Math) -> Scalar:
    """Only whole sets below one ratio and above another are tried; the best set need not be one of them."""
    order = ratio_order(x)
    sets = [[(r < low) | (r > high) for r in order] for low in order for high in order]
    return m.max(0, *(_set_value(x, _indicator(chosen, m), m) for chosen in sets))


@claim("softmax_tv", name="tv_optimum_local_ascent", mutates=_OPTIMUM)
def tv_optimum_local_ascent(x: View, m: Math) -> Scalar:
    """A local maximum is taken for the maximum: from the empty set, each token in turn enters if that gains."""
    taken = [m.const(0) for _ in x.weights]
    for k in range(len(taken)):
        entered = [m.const(1) if i == k else part for i, part in enumerate(taken)]
        gains = _set_value(x, entered, m) > _set_value(x, taken, m)
        taken = [m.where(gains, after, before) for after, before in zip(entered, taken, strict=True)]
    return _set_value(x, taken, m)


@claim("softmax_tv", name="tv_cells_not_covering", mutates=_CELL)
def tv_cells_not_covering(x: View, m: Math) -> Scalar:
    """The cells need not cover [0, 1]: given edges are not checked, and the default's last cell is left out."""
    edges = x.cell_edges if "cell_edges" in x else [m.const(edge) for edge in DEFAULT_EDGES[:-1]]
    return _cells(x, m, edges, lambda mu, s, t: m.max(s - dual(x, s, m)(mu), t - dual(x, t, m)(mu)))


@claim("softmax_tv", name="tv_cells_left_end_only", mutates=_CELL)
def tv_cells_left_end_only(x: View, m: Math) -> Scalar:
    """s0 - psi(s0): the other end of the cell is forgotten."""
    return _cells(x, m, _edges(x, m), lambda mu, s, _: s - dual(x, s, m)(mu))


@claim("softmax_tv", name="tv_cells_psi_at_wrong_end", mutates=_CELL)
def tv_cells_psi_at_wrong_end(x: View, m: Math) -> Scalar:
    """s0 - psi(s1): the monotone form with its ends exchanged."""
    return _cells(x, m, _edges(x, m), lambda mu, s, t: s - dual(x, t, m)(mu))


@claim("softmax_tv", name="tv_cells_upper_sum", mutates=_CELL)
def tv_cells_upper_sum(x: View, m: Math) -> Scalar:
    """psi_mu(s) with sum p u in place of B = sum p l."""
    surplus = m.sum(p * (high - low) for p, low, high in zip(x.weights, x.lower, x.upper, strict=True))

    def wrong(mu: Scalar, s: Scalar) -> Scalar:
        return s - dual(x, s, m)(mu) - mu * s * surplus

    return _cells(x, m, _edges(x, m), lambda mu, s, t: m.max(wrong(mu, s), wrong(mu, t)))


@claim("softmax_tv", name="tv_histogram_binned_down", mutates=_HISTOGRAM)
def tv_histogram_binned_down(x: View, m: Math) -> Scalar:
    """Ratios are lowered to the lower edge of their bin."""
    return _histogram(x, m, lambda part: part.left)


@claim("softmax_tv", name="tv_histogram_bin_mean", mutates=_HISTOGRAM)
def tv_histogram_bin_mean(x: View, m: Math) -> Scalar:
    """Each bin's ratios are replaced by their mean."""
    return _histogram(x, m, lambda part: m.where(part.mass > 0, part.raised / m.where(part.mass > 0, part.mass, 1), 1))


@claim("softmax_tv", name="tv_moment_chord_dropped", mutates=_MOMENT)
def tv_moment_chord_dropped(x: View, m: Math) -> Scalar:
    """The positive part is taken of the bin's sum instead of its chord: Jensen's inequality the wrong way round."""

    def wrong(part: Bin, mu: Scalar, s: Scalar) -> Scalar:
        return m.max(mu * ((1 - s) * part.raised + s * part.lowered) - part.mass, 0)

    return _moments(x, m, wrong)


@claim("softmax_tv", name="tv_moment_left_edge", mutates=_MOMENT)
def tv_moment_left_edge(x: View, m: Math) -> Scalar:
    """A bin that the threshold crosses is evaluated at its lower edge."""

    def wrong(part: Bin, mu: Scalar, s: Scalar) -> Scalar:
        return part.mass * m.max(mu * ((1 - s) * part.left + s / part.left) - 1, 0)

    return _moments(x, m, wrong)


def _set_value(x: View, taken: Sequence[Scalar], m: Math) -> Scalar:
    rows = list(zip(x.weights, x.ratios, taken, strict=True))
    a = m.sum(p * r * part for p, r, part in rows)
    b = m.sum(p / r * (1 - part) for p, r, part in rows)
    return a / (a + b) - m.sum(p * part for p, _, part in rows)


def _indicator(chosen: Sequence[Condition], m: Math) -> list[Scalar]:
    return [m.where(inside, 1, 0) for inside in chosen]


def _edges(x: View, m: Math) -> list[Scalar]:
    return list(x.cell_edges) if "cell_edges" in x else [m.const(edge) for edge in DEFAULT_EDGES]


def _cells(x: View, m: Math, edges: Sequence[Scalar], value: _CellValue) -> Scalar:
    found = []
    for k, (s, t) in enumerate(pairwise(edges)):
        middle = (s + t) / 2
        gains = [(1 - middle) * high + middle * low for low, high in zip(x.lower, x.upper, strict=True)]
        mus = [x.cell_mu[k]] if "cell_mu" in x else [1 / g for g in gains]
        found.append(m.min(*(value(m.max(mu, 0), s, t) for mu in mus)))
    return m.max(*found)


def _histogram(x: View, m: Math, ratio: Callable[[Bin], Scalar]) -> Scalar:
    bins, condition = ratio_bins(x, m)
    places = [m.const(k) for k in range(len(bins))]
    value = fractional_optimum([part.mass for part in bins], [ratio(part) for part in bins], places, m)
    return guarded(condition, value, m)


def _moments(x: View, m: Math, excess: _BinExcess) -> Scalar:
    bins, condition = ratio_bins(x, m)
    lowered = m.sum(part.lowered for part in bins)

    def wrong(s: Scalar) -> Callable[[Scalar], Scalar]:
        return lambda mu: mu * s * lowered - m.sum(excess(part, mu, s) for part in bins)

    return guarded(condition, cell_bound(x, m, wrong, lambda s: moment_multipliers(bins, s)), m)


MUTANTS: tuple[Claim, ...] = (
    tv_exact_single_tokens,
    tv_optimum_upper_thresholds,
    tv_optimum_two_sided_sets,
    tv_optimum_local_ascent,
    tv_cells_not_covering,
    tv_cells_left_end_only,
    tv_cells_psi_at_wrong_end,
    tv_cells_upper_sum,
    tv_histogram_binned_down,
    tv_histogram_bin_mean,
    tv_moment_chord_dropped,
    tv_moment_left_edge,
)
