"""Planted wrong variants of the attention output bounds."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.bounds._thresholds import fractional_optimum, ratio_order, threshold_mean
from proofkv_verify.bounds.attention_l2_upper import diameter
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar

_L2, _LINF = "attention_l2_upper", "attention_linf_exact_upper"


def _tv(x: View, m: Math) -> Scalar:
    return fractional_optimum(x.weights, x.ratios, ratio_order(x), m)


def _held(x: View, m: Math) -> Scalar:
    return m.sum(p * nu for p, nu in zip(x.weights, x.value_radii, strict=True))


def _norm(vector: Sequence[Scalar], m: Math) -> Scalar:
    return m.sqrt(m.sum(c * c for c in vector))


def _centre(x: View, m: Math) -> list[Scalar]:
    axes = range(len(x.values_hat[0]))
    return [m.sum(p * v[c] for p, v in zip(x.weights, x.values_hat, strict=True)) for c in axes]


def _farthest(x: View, m: Math, centre: Sequence[Scalar]) -> Scalar:
    """The largest distance of a true value from `centre`."""
    rows = zip(x.values_hat, x.value_radii, strict=True)
    return m.max(*(_norm([a - b for a, b in zip(v, centre, strict=True)], m) + nu for v, nu in rows))


def _range(x: View, m: Math, c: int) -> Scalar:
    column = [v[c] for v in x.values_hat]
    return m.max(*column) - m.min(*column)


def _box_column(x: View, c: int) -> list[Scalar]:
    return [box[c] for box in x.value_box]


@claim("attention_l2", name="output_tv_is_the_error", mutates=_L2)
def output_tv_is_the_error(x: View, m: Math) -> Scalar:
    """TV itself is reported as the output error: values do not enter."""
    return _tv(x, m)


@claim("attention_l2", name="output_values_exact", mutates=_L2)
def output_values_exact(x: View, m: Math) -> Scalar:
    """TV times the diameter: the error of the values is left out."""
    return _tv(x, m) * diameter(x, m, inflated=True)


@claim("attention_l2", name="output_factor_two_dropped", mutates=_L2)
def output_factor_two_dropped(x: View, m: Math) -> Scalar:
    """sum p nu + TV max norm(v): the factor 2 of the total variation is dropped."""
    origin = [m.const(0) for _ in x.values_hat[0]]
    return _held(x, m) + _tv(x, m) * _farthest(x, m, origin)


@claim("attention_l2", name="output_centred_radius_once", mutates=_L2)
def output_centred_radius_once(x: View, m: Math) -> Scalar:
    """sum p nu + TV max norm(v - o): the radius about the output in place of the diameter."""
    return _held(x, m) + _tv(x, m) * _farthest(x, m, _centre(x, m))


@claim("attention_l2", name="output_mixed_split", mutates=_L2)
def output_mixed_split(x: View, m: Math) -> Scalar:
    """sum p nu + TV diam(compressed values): the cheap half of each split."""
    return _held(x, m) + _tv(x, m) * diameter(x, m, inflated=False)


@claim("attention_l2", name="output_mixed_split_radius", mutates=_L2)
def output_mixed_split_radius(x: View, m: Math) -> Scalar:
    """sum p nu + 2 TV max norm(compressed v): the mixed split with twice a radius."""
    return _held(x, m) + 2 * _tv(x, m) * m.max(*(_norm(v, m) for v in x.values_hat))


@claim("attention_l2", name="output_moved_weights_dropped", mutates=_L2)
def output_moved_weights_dropped(x: View, m: Math) -> Scalar:
    """(max over the box of sum q nu) without the term of the moved weights."""
    return threshold_mean(x.weights, (x.lower, x.upper), x.value_radii, m)


@claim("attention_l2", name="output_linf_as_l2", mutates=_L2)
def output_linf_as_l2(x: View, m: Math) -> Scalar:
    """The largest coordinate error is reported as the Euclidean error."""
    found = []
    for c, centre in enumerate(_centre(x, m)):
        for sign in (1, -1):
            scores = [sign * v[c] + nu for v, nu in zip(x.values_hat, x.value_radii, strict=True)]
            found.append(threshold_mean(x.weights, (x.lower, x.upper), scores, m) - sign * centre)
    return m.max(*found)


@claim("attention_linf", name="output_linf_one_sign", mutates=_LINF)
def output_linf_one_sign(x: View, m: Math) -> Scalar:
    """Only the positive directions are tried."""
    return m.max(*(_direction(x, m, c, 1) for c in range(len(x.values_hat[0]))))


@claim("attention_linf", name="output_linf_first_coordinate", mutates=_LINF)
def output_linf_first_coordinate(x: View, m: Math) -> Scalar:
    """Only the first coordinate is tried."""
    return m.max(_direction(x, m, 0, 1), _direction(x, m, 0, -1))


@claim("attention_linf", name="output_linf_values_not_joint", mutates=_LINF)
def output_linf_values_not_joint(x: View, m: Math) -> Scalar:
    """The optimum with compressed values plus sum p box: keys and values do not move together."""
    exact = x.extended(value_box=[[m.const(0) for _ in box] for box in x.value_box])
    found = []
    for c in range(len(x.values_hat[0])):
        held = m.sum(p * radius for p, radius in zip(x.weights, _box_column(x, c), strict=True))
        found += [_direction(exact, m, c, sign) + held for sign in (1, -1)]
    return m.max(*found)


@claim("attention_linf", name="output_linf_mixed_split", mutates=_LINF)
def output_linf_mixed_split(x: View, m: Math) -> Scalar:
    """sum p box + TV range(compressed values), coordinate by coordinate."""
    tv, found = _tv(x, m), []
    for c in range(len(x.values_hat[0])):
        held = m.sum(p * radius for p, radius in zip(x.weights, _box_column(x, c), strict=True))
        found.append(held + tv * _range(x, m, c))
    return m.max(*found)


@claim("attention_linf", name="output_linf_one_raised_token", mutates=_LINF)
def output_linf_one_raised_token(x: View, m: Math) -> Scalar:
    """Only one token at a time takes its upper weight ratio."""
    n, found = range(len(x.weights)), []
    for c, centre in enumerate(_centre(x, m)):
        for sign in (1, -1):
            scores = [sign * v[c] + box[c] for v, box in zip(x.values_hat, x.value_box, strict=True)]
            for k in n:
                tilts = [p * (x.upper[i] if i == k else x.lower[i]) for i, p in zip(n, x.weights, strict=True)]
                mean = m.sum(w * t for w, t in zip(tilts, scores, strict=True)) / m.sum(tilts)
                found.append(mean - sign * centre)
    return m.max(*found)


@claim("attention_linf", name="output_linf_order_without_box", mutates=_LINF)
def output_linf_order_without_box(x: View, m: Math) -> Scalar:
    """Tokens are raised by their compressed value, not by value plus box."""
    found = []
    for c, centre in enumerate(_centre(x, m)):
        for sign in (1, -1):
            order = [sign * v[c] for v in x.values_hat]
            scores = [sign * v[c] + box[c] for v, box in zip(x.values_hat, x.value_box, strict=True)]
            means = [_raised_mean(x, m, [t >= mine for t in order], scores) for mine in order]
            found.append(m.max(*means) - sign * centre)
    return m.max(*found)


def _raised_mean(x: View, m: Math, chosen: Sequence[Scalar], scores: Sequence[Scalar]) -> Scalar:
    rows = zip(x.weights, x.lower, x.upper, chosen, strict=True)
    tilts = [p * m.where(inside, high, low) for p, low, high, inside in rows]
    return m.sum(w * t for w, t in zip(tilts, scores, strict=True)) / m.sum(tilts)


def _direction(x: View, m: Math, c: int, sign: int) -> Scalar:
    scores = [sign * v[c] + box[c] for v, box in zip(x.values_hat, x.value_box, strict=True)]
    return threshold_mean(x.weights, (x.lower, x.upper), scores, m) - sign * _centre(x, m)[c]


MUTANTS: tuple[Claim, ...] = (
    output_tv_is_the_error,
    output_values_exact,
    output_factor_two_dropped,
    output_centred_radius_once,
    output_mixed_split,
    output_mixed_split_radius,
    output_moved_weights_dropped,
    output_linf_as_l2,
    output_linf_one_sign,
    output_linf_first_coordinate,
    output_linf_values_not_joint,
    output_linf_mixed_split,
    output_linf_one_raised_token,
    output_linf_order_without_box,
)
