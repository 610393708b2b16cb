from typing import Any

import pytest
from hypothesis import given

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from tests.bounds.battery import (
    assert_contains_truth,
    assert_equal,
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
    unrotated,
)
from tests.quality.test_mutants_logit import logit
from tests.reference.instances import FACT, norm_above

SLUG = "logit_abs_band_upper"


@FACT
@given(CASES)
def test_one_band_of_everything_is_the_norm_bound(data: Instance) -> None:
    radius = norm_above(list(row(data, "band_radii")))
    size = len(rows(data, "queries")[0])
    norms = [radius] * len(row(data, "norm_radii"))
    whole = with_params(with_fields(data, band_radii=[radius], norm_radii=norms), bands=[list(range(size))])
    assert_equal(bound_value(SLUG, whole), bound_value("logit_abs_norm_upper", whole))
    # Cauchy-Schwarz across the bands: cutting into bands never costs anything
    assert_not_below(bound_value(SLUG, whole), bound_value(SLUG, data))


@FACT
@given(CASES)
def test_bands_of_one_coordinate_without_rotation_are_the_box_bound(data: Instance) -> None:
    size = len(rows(data, "queries")[0])
    apart = with_params(
        with_fields(unrotated(data), band_radii=row(data, "box_radii")), bands=[[i] for i in range(size)]
    )
    assert_equal(bound_value(SLUG, apart), bound_value("logit_abs_box_upper", apart))


@FACT
@given(CASES)
def test_joining_two_bands_never_lowers_the_bound(data: Instance) -> None:
    bands, radii = data.params["bands"], row(data, "band_radii")
    if len(bands) < 2:
        return
    joined = with_params(data, bands=[[*bands[0], *bands[1]], *bands[2:]])
    joined = with_fields(joined, band_radii=[norm_above(list(radii[:2])), *radii[2:]])
    assert_not_below(bound_value(SLUG, joined), bound_value(SLUG, data))


def test_the_bound_is_attained_in_two_bands_at_once() -> None:
    data = logit(
        queries=[[3, 4, 5, 12]],
        params={"planes": [[0, 1], [2, 3]], "bands": [[0, 1], [2, 3]]},
        cos=["3/5", 0],
        sin=["4/5", 1],
        box_radii=[20] * 4,
        norm_radii=[20],
        band_radii=[5, 13],
        # each band of the error is the query's band turned back, so that the rotated error is parallel to it
        key_error=[5, 0, 12, -5],
    )
    assert true_fraction(data) == bound_fraction(SLUG, data) == 25 + 169
    assert_contains_truth(SLUG, data)


def test_with_an_uncertain_query_the_bound_is_attained_when_all_bands_agree() -> None:
    data = logit(
        queries=[[2, 2, 1]],
        params={"bands": [[0], [1], [2]]},
        box_radii=[2, 2, 1],
        norm_radii=[3],
        band_radii=[2, 2, 1],
        key_error=[2, 2, 1],
        key_hat=[4, 4, 2],
        key_norm=6,
        query_error=["2/3", "2/3", "1/3"],
        query_radius=1,
    )
    assert true_fraction(data) == bound_fraction(SLUG, data) == 9 + (6 + 3)


@pytest.mark.parametrize(
    "params",
    [
        {"bands": [[0]]},  # coordinate 1 is in no band
        {"bands": [[0], [0, 1]]},
        {"bands": [[0], [1]], "planes": [[0, 1]]},  # a rotation mixes the two bands
    ],
)
def test_bands_that_rotations_do_not_leave_in_place_are_bad_input(params: dict[str, Any]) -> None:
    turn = {"cos": [0], "sin": [1]} if "planes" in params else {}
    with pytest.raises(InvalidInputError) as raised:
        bound_value(SLUG, logit(params=params, band_radii=[1] * len(params["bands"]), **turn))
    assert raised.value.name == "bands"


def test_a_plane_cut_by_a_band_would_have_understated() -> None:
    error = logit(queries=[[0, 1]], params={"planes": [[0, 1]]}, cos=[0], sin=[1], key_error=[1, 0], band_radii=[1])
    assert true_fraction(error) == bound_fraction(SLUG, error) == 1
    cut = with_fields(with_params(error, bands=[[0], [1]], planes=[]), band_radii=[1, 0], cos=[], sin=[])
    assert bound_fraction(SLUG, cut) == 0


def test_the_hypotheses_are_named_in_order() -> None:
    names = ("bands_partition_coordinates", "bands_are_unions_of_planes", "rotation_orthogonal")
    assert BOUNDS[SLUG].hypotheses == (*names, "key_error_bands", "query_error_norm", "key_norm")
