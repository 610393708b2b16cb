from fractions import Fraction

from hypothesis import given

from proofkv_verify.ball import BallMath
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_equal,
    bound_fraction,
    bound_value,
    corners,
    true_fraction,
    with_fields,
)
from tests.bounds.logit_facts import (
    CASES,
    row,
    rows,
    unrotated,
)
from tests.quality.test_mutants_logit import logit
from tests.reference.instances import FACT

SLUG = "logit_abs_box_upper"


@FACT
@given(CASES)
def test_with_an_exact_query_the_bound_is_the_maximum_over_the_corners_of_the_box(data: Instance) -> None:
    size = len(row(data, "box_radii"))
    sure = with_fields(data, query_error=[0] * size, query_radius=0)
    found = [true_fraction(with_fields(sure, key_error=corner)) for corner in corners(row(data, "box_radii"))]
    assert bound_fraction(SLUG, sure) == max(found)


@FACT
@given(CASES)
def test_a_turn_of_the_query_by_the_planes_undoes_the_rotation(data: Instance) -> None:
    turned = [list(query) for query in rows(data, "queries")]
    for (i, j), c, s in zip(data.params["planes"], row(data, "cos"), row(data, "sin"), strict=True):
        for query in turned:
            query[i], query[j] = c * query[i] - s * query[j], s * query[i] + c * query[j]
    assert_equal(bound_value(SLUG, with_fields(data, queries=turned)), bound_value(SLUG, unrotated(data)))


def test_with_both_errors_the_bound_is_attained_when_all_directions_agree() -> None:
    data = logit(
        queries=[[3, 4]],
        box_radii=[3, 4],
        key_error=[3, 4],
        key_hat=[6, 8],
        key_norm=10,
        query_radius=5,
        query_error=[3, 4],
        norm_radii=[5],
        band_radii=[5],
    )
    assert true_fraction(data) == bound_fraction(SLUG, data) == 25 + 5 * (10 + 5)
    assert_contains_truth(SLUG, data)


def test_stored_before_a_turn_by_the_angle_of_3_4_5_the_radii_meet_the_query_turned_back() -> None:
    data = logit(
        params={"planes": [[0, 1]]}, cos=["3/5"], sin=["4/5"], box_radii=["1/10", "1/10"], key_error=["1/10", "-1/10"]
    )
    # R^T (1, 0) = (3/5, -4/5); the query left as it is would give 1/10
    assert true_fraction(data) == bound_fraction(SLUG, data) == Fraction(14, 100)


def test_a_zero_box_with_an_exact_query_gives_an_exact_zero() -> None:
    assert bound_value(SLUG, logit(box_radii=[0, 0])).exact == 0
    assert bound_value(SLUG, logit(softmax_scale=0, query_radius=1, query_error=[1, 0])).exact == 0


def test_an_irrational_norm_is_rounded_up_at_every_precision() -> None:
    data = logit(query_radius=1, box_radii=[1, 1])  # 1 + sqrt(2)
    value = bound_value(SLUG, data, 64)
    assert value.exact is None
    assert (value - 1 > BallMath().const(Fraction(141421356, 10**8))).value
    assert (value - 1 < BallMath().const(Fraction(141421357, 10**8))).value


def test_the_hypotheses_are_named_in_order() -> None:
    names = ("planes_disjoint", "rotation_orthogonal", "key_error_in_box", "query_error_norm", "key_norm")
    assert BOUNDS[SLUG].hypotheses == names
