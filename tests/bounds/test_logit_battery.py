"""What each of the three bounds on the change of a logit must do."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.kinds import Instance
from tests.bounds.battery import assert_equal, bound_value
from tests.bounds.logit_facts import (
    CASES,
    PARTS,
    SCALES,
    STEPS,
    assert_blind_to_order,
    assert_homogeneous,
    assert_monotone,
    assert_sign_blind,
    assert_sound_and_stable,
    assert_unread,
    unrotated,
)
from tests.reference.instances import FACT

READS = {
    "logit_abs_band_upper": "band_radii",
    "logit_abs_box_upper": "box_radii",
    "logit_abs_norm_upper": "norm_radii",
}
SLUGS = sorted(slug for slug, bound in BOUNDS.items() if bound.kind == "logit_abs")


@pytest.mark.parametrize("slug", SLUGS)
@FACT
@given(data=CASES)
def test_logit_bound_contains_the_true_change_at_two_precisions_and_in_mpmath(slug: str, data: Instance) -> None:
    assert_sound_and_stable(slug, data)


@pytest.mark.parametrize("slug", SLUGS)
@FACT
@given(data=CASES, name=PARTS, by=STEPS)
def test_logit_bound_grows_with_each_radius(slug: str, data: Instance, name: str, by: Fraction) -> None:
    assert_monotone(slug, data, name, by)


@pytest.mark.parametrize("slug", SLUGS)
@FACT
@given(data=CASES, factor=SCALES, order=st.permutations(range(4)))
def test_scale_factor_sign_and_order_act_as_they_should(
    slug: str, data: Instance, factor: Fraction, order: list[int]
) -> None:
    assert_homogeneous(slug, data, factor)
    assert_sign_blind(slug, data)
    assert_blind_to_order(slug, data, order)


@pytest.mark.parametrize("slug", SLUGS)
@FACT
@given(data=CASES)
def test_logit_bound_reads_its_own_radii_alone(slug: str, data: Instance) -> None:
    assert_unread(slug, data, *(name for name in READS.values() if name != READS[slug]))


@pytest.mark.parametrize("slug", ["logit_abs_band_upper", "logit_abs_norm_upper"])
@FACT
@given(data=CASES)
def test_no_rotation_changes_a_bound_on_euclidean_norms(slug: str, data: Instance) -> None:
    assert_equal(bound_value(slug, unrotated(data)), bound_value(slug, data))
