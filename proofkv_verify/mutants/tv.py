"""Planted wrong variants of the total variation bounds in closed form."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.bounds.softmax_tv_hinge_upper import hinge_value, mean_excess
from proofkv_verify.bounds.softmax_tv_mean_upper import mean_ratio
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar

_EFORM, _ODDS, _MEAN = "softmax_tv_eform_upper", "softmax_tv_odds_upper", "softmax_tv_mean_upper"
_OVERLAP, _HINGE = "softmax_tv_overlap_upper", "softmax_tv_hinge_upper"


def _mean(x: View, values: Sequence[Scalar], m: Math) -> Scalar:
    return m.sum(p * v for p, v in zip(x.weights, values, strict=True))


def _odds(k: Scalar) -> Scalar:
    return (k - 1) / (k + 1)


def _mean_bound(a: Scalar, m: Math) -> Scalar:
    return m.where(a <= 2, 1 - 1 / a, a * a / (a * a + 4))


@claim("softmax_tv", name="tv_dispersion_form", mutates=_EFORM)
def tv_dispersion_form(x: View, m: Math) -> Scalar:
    """The mean deviation of the radii stands for the errors: (1/2) e^(2 c_max) (E|c - E c| + E c (e^c_max - 1))."""
    top, centre = m.max(*x.ratios), _mean(x, x.radii, m)
    spread = _mean(x, [m.abs(c - centre) for c in x.radii], m)
    return top * top * (spread + centre * (top - 1)) / 2


@claim("softmax_tv", name="tv_eform_of_mean_radius", mutates=_EFORM)
def tv_eform_of_mean_radius(x: View, m: Math) -> Scalar:
    """(e^(2 E c) - 1)/2: the mean is taken inside the exponential."""
    return (m.exp(2 * _mean(x, x.radii, m)) - 1) / 2


@claim("softmax_tv", name="tv_tanh_of_mean_radius", mutates=_ODDS)
def tv_tanh_of_mean_radius(x: View, m: Math) -> Scalar:
    """tanh(E c / 2): the mean radius in place of the largest."""
    return _odds(m.exp(_mean(x, x.radii, m)))


@claim("softmax_tv", name="tv_mean_of_tanh", mutates=_ODDS)
def tv_mean_of_tanh(x: View, m: Math) -> Scalar:
    """E tanh(c/2): the per-token bounds are averaged."""
    return _mean(x, [_odds(r) for r in x.ratios], m)


@claim("softmax_tv", name="tv_odds_radius_as_oscillation", mutates=_ODDS)
def tv_odds_radius_as_oscillation(x: View, m: Math) -> Scalar:
    """tanh(c_max/4): the radius is taken for the oscillation, which is twice as large."""
    return _odds(m.sqrt(m.max(*x.ratios)))


@claim("softmax_tv", name="tv_odds_upper_end_only", mutates=_ODDS)
def tv_odds_upper_end_only(x: View, m: Math) -> Scalar:
    """Only growth of a weight counts (one-sided radius): the lower ends are ignored."""
    return _odds(m.max(1, *x.upper))


@claim("softmax_tv", name="tv_half_lipschitz", mutates=_ODDS)
def tv_half_lipschitz(x: View, m: Math) -> Scalar:
    """c_max/4: the half-Lipschitz constant of one norm is used across two norms."""
    return m.max(*x.radii) / 4


@claim("softmax_tv", name="tv_mean_weighted_odds", mutates=_MEAN)
def tv_mean_weighted_odds(x: View, m: Math) -> Scalar:
    """(A - 1)/(A + 1): the mean ratio in the formula of the largest ratio."""
    return _odds(mean_ratio(x, m))


@claim("softmax_tv", name="tv_mean_half_excess", mutates=_MEAN)
def tv_mean_half_excess(x: View, m: Math) -> Scalar:
    """(A - 1)/2: the first order of the exponential form with half its slope."""
    return (mean_ratio(x, m) - 1) / 2


@claim("softmax_tv", name="tv_mean_without_condition", mutates=_MEAN)
def tv_mean_without_condition(x: View, m: Math) -> Scalar:
    """1 - 1/A without the condition A <= 2."""
    return 1 - 1 / mean_ratio(x, m)


@claim("softmax_tv", name="tv_mean_of_page_averages", mutates=_MEAN)
def tv_mean_of_page_averages(x: View, m: Math) -> Scalar:
    """The page's average ratio in place of its largest (without pages all tokens are one page)."""
    pages = x.pages or [list(range(len(x.weights)))]
    masses = [m.sum(x.weights[i] for i in page) for page in pages]
    averages = [m.sum(x.ratios[i] for i in page) / len(page) for page in pages]
    paged = {i for page in pages for i in page}
    rest = m.sum(p * r for i, (p, r) in enumerate(zip(x.weights, x.ratios, strict=True)) if i not in paged)
    return _mean_bound(m.sum(w * r for w, r in zip(masses, averages, strict=True)) + rest, m)


@claim("softmax_tv", name="tv_mean_of_previous_step", mutates=_MEAN)
def tv_mean_of_previous_step(x: View, m: Math) -> Scalar:
    """A is taken with the weights of an earlier step (of this step, where none are given)."""
    weights = x.previous_weights if "previous_weights" in x else x.weights
    total = m.sum(weights)
    return _mean_bound(m.sum(w * r for w, r in zip(weights, x.ratios, strict=True)) / total, m)


@claim("softmax_tv", name="tv_mean_with_tokens_outside", mutates=_MEAN)
def tv_mean_with_tokens_outside(x: View, m: Math) -> Scalar:
    """Exact tokens outside the attention window are counted into the mean, as the wrong mask does."""
    outside = m.sum(x.outside_weights) if "outside_weights" in x else m.const(0)
    raised = m.sum(w * r for w, r in zip(x.raw_weights, x.ratios, strict=True))
    return _mean_bound((raised + outside) / (m.sum(x.raw_weights) + outside), m)


@claim("softmax_tv", name="tv_tail_one_factor", mutates=_MEAN)
def tv_tail_one_factor(x: View, m: Math) -> Scalar:
    """The tail can grow by its own ratio only: sum p (r - 1) without the heaviest token, whose error is forgotten."""
    rows = list(zip(x.weights, x.ratios, strict=True))
    weight, ratio = rows[0]
    for p, r in rows[1:]:
        ratio, weight = m.where(p > weight, r, ratio), m.max(p, weight)
    return mean_ratio(x, m) - 1 - weight * (ratio - 1)


@claim("softmax_tv", name="tv_overlap_difference_quotient", mutates=_OVERLAP)
def tv_overlap_difference_quotient(x: View, m: Math) -> Scalar:
    """(A - B)/(A + B), as if it were a weighted tanh."""
    a, b = mean_ratio(x, m), _mean(x, [1 / r for r in x.ratios], m)
    return (a - b) / (a + b)


@claim("softmax_tv", name="tv_overlap_unscaled_ends", mutates=_OVERLAP)
def tv_overlap_unscaled_ends(x: View, m: Math) -> Scalar:
    """1 - B/A with explicit ends that do not lie around 1: a lower end above A counts more than its whole token."""
    return 1 - _mean(x, x.lower, m) / _mean(x, x.upper, m)


@claim("softmax_tv", name="tv_hinge_without_condition", mutates=_HINGE)
def tv_hinge_without_condition(x: View, m: Math) -> Scalar:
    """The hinge value for every k, without the condition E <= k."""
    kappas = [m.max(k, 1) for k in (x.kappas if "kappas" in x else [m.const(1), *x.ratios])]
    return m.min(1, *(hinge_value(k, mean_excess(x, k, m)) for k in kappas))


@claim("softmax_tv", name="tv_hinge_clipped_ratios", mutates=_HINGE)
def tv_hinge_clipped_ratios(x: View, m: Math) -> Scalar:
    """(k-1)/(k+1) where E <= k: ratios above k are clipped and their excess is forgotten."""
    kappas = [m.max(k, 1) for k in (x.kappas if "kappas" in x else [m.const(1), *x.ratios])]
    return m.min(1, *(m.where(mean_excess(x, k, m) <= k, _odds(k), 1) for k in kappas))


MUTANTS: tuple[Claim, ...] = (
    tv_dispersion_form,
    tv_eform_of_mean_radius,
    tv_tanh_of_mean_radius,
    tv_mean_of_tanh,
    tv_odds_radius_as_oscillation,
    tv_odds_upper_end_only,
    tv_half_lipschitz,
    tv_mean_weighted_odds,
    tv_mean_half_excess,
    tv_mean_without_condition,
    tv_mean_of_page_averages,
    tv_mean_of_previous_step,
    tv_mean_with_tokens_outside,
    tv_tail_one_factor,
    tv_overlap_difference_quotient,
    tv_overlap_unscaled_ends,
    tv_hinge_without_condition,
    tv_hinge_clipped_ratios,
)
