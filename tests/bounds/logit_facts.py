"""Facts that hold for each of the three logit bounds, and changes of an instance that leave them alone."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, precision
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_equal,
    assert_mpmath_overlaps,
    assert_not_below,
    assert_precisions_overlap,
    bound_value,
    grown,
    with_fields,
    with_params,
)
from tests.reference.instances import POSITIVE, logit_changes

M = BallMath()
CASES = logit_changes()
PARTS = st.sampled_from(["box_radii", "norm_radii", "band_radii", "query_radius", "key_norm"])
SCALES = st.sampled_from([Fraction(-3), Fraction(1, 7), Fraction(2)])
STEPS = POSITIVE


def assert_sound_and_stable(slug: str, data: Instance) -> None:
    """Contains the truth; two precisions and mpmath meet it."""
    assert_contains_truth(slug, data)
    assert_precisions_overlap(slug, data)
    assert_mpmath_overlaps(slug, data)


def assert_monotone(slug: str, data: Instance, name: str, by: Fraction) -> None:
    """No entry of a radius may grow and lower the bound."""
    before = bound_value(slug, data)
    for more in grown(data, name, by):
        assert_not_below(bound_value(slug, more), before)


def assert_homogeneous(slug: str, data: Instance, factor: Fraction) -> None:
    """The softmax scale enters as |scale|, the rope factor as its square."""
    before = bound_value(slug, data)
    scale, rope = data.fields["softmax_scale"], data.fields["rope_factor"]
    assert isinstance(scale, Fraction)
    assert isinstance(rope, Fraction)
    with precision(200):
        assert_equal(bound_value(slug, with_fields(data, softmax_scale=scale * factor)), before * abs(factor))
        assert_equal(bound_value(slug, with_fields(data, rope_factor=rope * factor)), before * factor * factor)


def assert_sign_blind(slug: str, data: Instance) -> None:
    """The negated queries give the same bound."""
    negated = [[-q for q in row] for row in rows(data, "queries")]
    assert_equal(bound_value(slug, with_fields(data, queries=negated)), bound_value(slug, data))


def assert_blind_to_order(slug: str, data: Instance, order: list[int]) -> None:
    """Coordinates renamed by a permutation, planes and bands with them, give the same bound."""
    size = len(rows(data, "queries")[0])
    places = [i for i in order if i < size]
    new = {old: at for at, old in enumerate(places)}
    fields: dict[str, Any] = {"queries": [[row[i] for i in places] for row in rows(data, "queries")]}
    for name in ("box_radii", "key_hat", "key_error", "query_error"):
        fields[name] = [row(data, name)[i] for i in places]
    lists = {name: [[new[i] for i in part] for part in data.params[name]] for name in ("planes", "bands")}
    assert_equal(bound_value(slug, with_params(with_fields(data, **fields), **lists)), bound_value(slug, data))


def assert_unread(slug: str, data: Instance, *names: str) -> None:
    """Fields that the bound does not use may hold anything."""
    zeroed = {name: [0] * len(row(data, name)) for name in names}
    assert_equal(bound_value(slug, with_fields(data, **zeroed)), bound_value(slug, data))


def rows(data: Instance, name: str) -> tuple[tuple[Fraction, ...], ...]:
    """A field with two axes."""
    return data.fields[name]  # type: ignore[return-value]


def row(data: Instance, name: str) -> tuple[Fraction, ...]:
    """A field with one axis."""
    return data.fields[name]  # type: ignore[return-value]


def unrotated(data: Instance) -> Instance:
    """The same data with every rotation taken away."""
    return with_params(with_fields(data, cos=[], sin=[]), planes=[])
