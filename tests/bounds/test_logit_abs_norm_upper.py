from fractions import Fraction

import pytest
from hypothesis import given

from proofkv_verify.ball import BallMath
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_not_below,
    bound_fraction,
    bound_value,
    true_fraction,
    with_fields,
    with_params,
)
from tests.bounds.logit_facts import (
    CASES,
    row,
    rows,
)
from tests.quality.test_mutants_logit import logit
from tests.reference.instances import FACT, SMALL, norm_above, vectors

SLUG = "logit_abs_norm_upper"


@FACT
@given(CASES)
def test_of_the_norm_and_box_bounds_the_norm_of_the_box_is_never_the_smaller(data: Instance) -> None:
    head = data.params["query_head"] // len(rows(data, "queries"))
    norms = list(row(data, "norm_radii"))
    norms[head] = norm_above(list(row(data, "box_radii")))
    around = with_fields(data, norm_radii=norms)
    assert_not_below(bound_value(SLUG, around), bound_value("logit_abs_box_upper", around))


@FACT
@given(vectors(3, SMALL), SMALL)
def test_along_the_query_the_truth_reaches_the_bound_up_to_the_rounding_of_norms(
    query: list[Fraction], size: Fraction
) -> None:
    error = [q * size for q in query]
    radius = norm_above(error)
    data = logit(
        queries=[query],
        key_error=error,
        box_radii=[abs(e) for e in error],
        norm_radii=[radius],
        band_radii=[radius],
    )
    assert_contains_truth(SLUG, data)
    assert_not_below(BallMath().const(true_fraction(data) + Fraction(1, 10**9)), bound_value(SLUG, data))


@pytest.mark.parametrize("query_head", range(6))
def test_the_bound_is_attained_in_the_kv_head_that_the_query_head_reads(query_head: int) -> None:
    norms, queries = [1, 5], [[3, 4], [6, 8], [-3, 4]]
    query, radius = queries[query_head % 3], norms[query_head // 3]
    unit = [Fraction(q, 10 if query_head % 3 == 1 else 5) for q in query]
    error = [u * radius for u in unit]
    data = logit(
        queries=queries,
        norm_radii=norms,
        params={"query_head": query_head},
        key_error=error,
        box_radii=[5, 5],
        band_radii=[5],
        softmax_scale="-1/8",
        rope_factor="3/2",
        key_hat=[2 * u for u in unit],
        key_norm=2,
        query_error=[u / 3 for u in unit],
        query_radius="1/3",
    )
    length = Fraction(10 if query_head % 3 == 1 else 5)
    by_hand = Fraction(9, 32) * (length * radius + Fraction(1, 3) * (2 + radius))
    assert true_fraction(data) == bound_fraction(SLUG, data) == by_hand
    assert_contains_truth(SLUG, data)


def test_a_key_that_is_known_exactly_still_feels_an_uncertain_query() -> None:
    data = logit(queries=[[0, 0]], norm_radii=[0], query_radius="1/5", key_norm=5)
    assert bound_fraction(SLUG, data) == 1


def test_other_kv_heads_do_not_count() -> None:
    data = logit(queries=[[1, 0]], norm_radii=[1, 100])
    assert bound_fraction(SLUG, data) == 1
    assert bound_fraction(SLUG, with_params(data, query_head=1)) == 100


def test_the_hypotheses_are_named_in_order() -> None:
    names = ("planes_disjoint", "rotation_orthogonal", "key_error_norm", "query_error_norm", "key_norm")
    assert BOUNDS[SLUG].hypotheses == names
