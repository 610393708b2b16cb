"""Planted wrong variants of the logit bounds."""

from __future__ import annotations

from proofkv_verify.bounds.logit_abs_band_upper import BOUND as BAND
from proofkv_verify.bounds.logit_abs_box_upper import BOUND as BOX
from proofkv_verify.bounds.logit_abs_box_upper import head_query, logit_factor, turned_back
from proofkv_verify.bounds.logit_abs_norm_upper import BOUND as NORM
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


def _norm(values: list[Scalar], m: Math) -> Scalar:
    return m.sqrt(m.sum(v * v for v in values))


def _radius(x: View) -> Scalar:
    return x.norm_radii[x.query_head // len(x.queries)]


def _norm_form(x: View, m: Math, factor: Scalar, query_norm: Scalar, radius: Scalar) -> Scalar:
    return factor * (query_norm * radius + x.query_radius * (x.key_norm + radius))


@claim("logit_abs", name="logit_scale_one_over_d", mutates=NORM.name)
def logit_scale_one_over_d(x: View, m: Math) -> Scalar:
    """The factor 1/d in place of 1/sqrt(d): the softmax scale applied twice."""
    factor = x.softmax_scale * x.softmax_scale * x.rope_factor * x.rope_factor
    return _norm_form(x, m, factor, _norm(head_query(x), m), _radius(x))


@claim("logit_abs", name="logit_rope_factor_dropped", mutates=NORM.name)
def logit_rope_factor_dropped(x: View, m: Math) -> Scalar:
    """The attention factor of long-context RoPE left out."""
    return _norm_form(x, m, m.abs(x.softmax_scale), _norm(head_query(x), m), _radius(x))


@claim("logit_abs", name="logit_rope_factor_once", mutates=NORM.name)
def logit_rope_factor_once(x: View, m: Math) -> Scalar:
    """The attention factor counted for one side only."""
    return _norm_form(x, m, m.abs(x.softmax_scale) * x.rope_factor, _norm(head_query(x), m), _radius(x))


@claim("logit_abs", name="logit_query_error_dropped", mutates=NORM.name)
def logit_query_error_dropped(x: View, m: Math) -> Scalar:
    """Only |q| eps + rho |k_hat|: the product of both errors is left out."""
    return logit_factor(x, m) * (_norm(head_query(x), m) * _radius(x) + x.query_radius * x.key_norm)


@claim("logit_abs", name="logit_query_error_as_second_key_error", mutates=NORM.name)
def logit_query_error_as_second_key_error(x: View, m: Math) -> Scalar:
    """The query's own quantization covered by doubling the key term."""
    return logit_factor(x, m) * 2 * _norm(head_query(x), m) * _radius(x)


@claim("logit_abs", name="logit_refined_page_zero", mutates=NORM.name)
def logit_refined_page_zero(x: View, m: Math) -> Scalar:
    """A key that is known exactly counts as radius 0 although the query is uncertain."""
    return m.where(_radius(x) <= 0, 0, NORM(x, m))


@claim("logit_abs", name="logit_group_mean_query", mutates=NORM.name)
def logit_group_mean_query(x: View, m: Math) -> Scalar:
    """The mean query norm of the heads that share the KV head."""
    mean = m.sum(_norm(q, m) for q in x.queries) / len(x.queries)
    return _norm_form(x, m, logit_factor(x, m), mean, _radius(x))


@claim("logit_abs", name="logit_kv_heads_tiled", mutates=NORM.name)
def logit_kv_heads_tiled(x: View, m: Math) -> Scalar:
    """KV heads taken as h mod n_kv in place of floor(h / G)."""
    radius = x.norm_radii[x.query_head % len(x.norm_radii)]
    return _norm_form(x, m, logit_factor(x, m), _norm(head_query(x), m), radius)


@claim("logit_abs", name="logit_box_without_rotation", mutates=BOX.name)
def logit_box_without_rotation(x: View, m: Math) -> Scalar:
    """Channel radii before RoPE against the query after RoPE."""
    box = m.sum(m.abs(q) * r for q, r in zip(head_query(x), x.box_radii, strict=True))
    return logit_factor(x, m) * (box + x.query_radius * (x.key_norm + _norm(x.box_radii, m)))


@claim("logit_abs", name="logit_box_turned_forward", mutates=BOX.name)
def logit_box_turned_forward(x: View, m: Math) -> Scalar:
    """The query turned by the angle itself, not back by it, before it meets the box."""
    forward = list(head_query(x))
    for (i, j), c, s in zip(x.planes, x.cos, x.sin, strict=True):
        a, b = forward[i], forward[j]
        forward[i], forward[j] = c * a - s * b, s * a + c * b
    box = m.sum(m.abs(q) * r for q, r in zip(forward, x.box_radii, strict=True))
    return logit_factor(x, m) * (box + x.query_radius * (x.key_norm + _norm(x.box_radii, m)))


@claim("logit_abs", name="logit_box_signed_sum", mutates=BOX.name)
def logit_box_signed_sum(x: View, m: Math) -> Scalar:
    """|sum q_c r_c| in place of sum |q_c| r_c."""
    box = m.abs(m.sum(q * r for q, r in zip(turned_back(head_query(x), x), x.box_radii, strict=True)))
    return logit_factor(x, m) * (box + x.query_radius * (x.key_norm + _norm(x.box_radii, m)))


def _pair_norms(x: View, m: Math, pairs: list[tuple[int, int]]) -> Scalar:
    query = head_query(x)
    return m.sum(
        m.sqrt(query[i] * query[i] + query[j] * query[j])
        * m.sqrt(x.box_radii[i] * x.box_radii[i] + x.box_radii[j] * x.box_radii[j])
        for i, j in pairs
    )


@claim("logit_abs", name="logit_bands_wrong_pairing", mutates=BAND.name)
def logit_bands_wrong_pairing(x: View, m: Math) -> Scalar:
    """Neighbouring channels taken as the rotation planes whatever the model's pairing is."""
    size = len(head_query(x))
    pairs = [(i, i + 1) for i in range(0, size - 1, 2)]
    rest = m.sum(m.abs(head_query(x)[i]) * x.box_radii[i] for i in range(2 * len(pairs), size))
    spread = x.query_radius * (x.key_norm + _norm(x.box_radii, m))
    return logit_factor(x, m) * (_pair_norms(x, m, pairs) + rest + spread)


@claim("logit_abs", name="logit_bands_rotary_only", mutates=BAND.name)
def logit_bands_rotary_only(x: View, m: Math) -> Scalar:
    """Coordinates that are not rotated are left out of the bands."""
    spread = x.query_radius * (x.key_norm + _norm(x.box_radii, m))
    return logit_factor(x, m) * (_pair_norms(x, m, [(i, j) for i, j in x.planes]) + spread)


@claim("logit_abs", name="logit_bands_largest_only", mutates=BAND.name)
def logit_bands_largest_only(x: View, m: Math) -> Scalar:
    """The largest band term in place of the sum over bands."""
    query = head_query(x)
    terms = [_norm([query[i] for i in band], m) * r for band, r in zip(x.bands, x.band_radii, strict=True)]
    spread = x.query_radius * (x.key_norm + _norm(x.band_radii, m))
    return logit_factor(x, m) * (m.max(0, *terms) + spread)


MUTANTS: tuple[Claim, ...] = (
    logit_scale_one_over_d,
    logit_rope_factor_dropped,
    logit_rope_factor_once,
    logit_query_error_dropped,
    logit_query_error_as_second_key_error,
    logit_refined_page_zero,
    logit_group_mean_query,
    logit_kv_heads_tiled,
    logit_box_without_rotation,
    logit_box_turned_forward,
    logit_box_signed_sum,
    logit_bands_wrong_pairing,
    logit_bands_rotary_only,
    logit_bands_largest_only,
)
