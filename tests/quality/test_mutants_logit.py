import pytest

from proofkv_verify.kinds import Instance
from tests.quality.witnesses import assert_witness_kills, instance, mutants_of

ZERO2 = [0, 0]


def logit(
    *,
    params: dict[str, object] | None = None,
    queries: object = (("1", "0"),),
    key_error: object = (0, 0),
    **changes: object,
) -> Instance:
    """No rotation, exact query, unit radii, scale 1; `changes` replace fields."""
    size = len(queries[0])  # type: ignore[index, arg-type]
    fields: dict[str, object] = {
        "queries": queries,
        "softmax_scale": 1,
        "rope_factor": 1,
        "cos": [],
        "sin": [],
        "box_radii": [1] * size,
        "norm_radii": [1],
        "band_radii": [1],
        "query_radius": 0,
        "key_norm": 0,
        "key_hat": [0] * size,
        "key_error": key_error,
        "query_error": [0] * size,
    }
    bands = {"bands": [list(range(size))]}
    return instance("logit_abs", {**bands, **(params or {})}, **{**fields, **changes})


QUARTER_TURN = {"cos": [0], "sin": [1]}
WITNESSES = {
    "logit_scale_one_over_d": logit(softmax_scale="1/8", key_error=[1, 0]),
    "logit_rope_factor_dropped": logit(rope_factor="11386/10000", key_error=[1, 0]),
    "logit_rope_factor_once": logit(rope_factor="11386/10000", key_error=[1, 0]),
    "logit_query_error_dropped": logit(queries=[[0, 0]], query_radius=1, query_error=[0, 1], key_error=[0, 1]),
    "logit_query_error_as_second_key_error": logit(
        query_radius=1, query_error=[1, 0], key_hat=[5, 0], key_norm=5, norm_radii=["1/10"], box_radii=["1/10", 0]
    ),
    "logit_refined_page_zero": logit(
        queries=[[0, 0]],
        query_radius="1/5",
        query_error=["1/5", 0],
        key_hat=[5, 0],
        key_norm=5,
        norm_radii=[0],
        box_radii=[0, 0],
        band_radii=[0],
    ),
    "logit_group_mean_query": logit(queries=[[3, 0], [1, 0]], key_error=[1, 0]),
    "logit_kv_heads_tiled": logit(
        queries=[[1, 0], [1, 0]], norm_radii=["1/100", 1], params={"query_head": 2}, key_error=[1, 0]
    ),
    "logit_box_without_rotation": logit(
        params={"planes": [[0, 1]]}, cos=["3/5"], sin=["4/5"], box_radii=["1/10", "1/10"], key_error=["1/10", "-1/10"]
    ),
    "logit_box_turned_forward": logit(
        queries=[["3/5", "4/5"]],
        params={"planes": [[0, 1]]},
        cos=["3/5"],
        sin=["4/5"],
        box_radii=["1/10", "0"],
        key_error=["1/10", 0],
    ),
    "logit_box_signed_sum": logit(queries=[[1, -1]], key_error=["1/2", "-1/2"], box_radii=["1/2", "1/2"]),
    "logit_bands_wrong_pairing": logit(
        queries=[[0, 0, 1, 0]],
        params={"planes": [[0, 2], [1, 3]], "bands": [[0, 2], [1, 3]]},
        cos=[0, 1],
        sin=[1, 0],
        box_radii=["1/10", 0, 0, 0],
        band_radii=["1/10", 0],
        key_error=["1/10", 0, 0, 0],
    ),
    "logit_bands_rotary_only": logit(
        queries=[[1, 0, 2]],
        params={"planes": [[0, 1]], "bands": [[0, 1], [2]]},
        cos=[1],
        sin=[0],
        box_radii=["1/10", 0, "3/10"],
        band_radii=["1/10", "3/10"],
        key_error=["1/10", 0, "3/10"],
    ),
    "logit_bands_largest_only": logit(
        queries=[[1, 1]],
        params={"bands": [[0], [1]]},
        box_radii=["1/2", "1/2"],
        band_radii=["1/2", "1/2"],
        key_error=["1/2", "1/2"],
    ),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_witness_kills_mutant_and_keeps_bound(name: str) -> None:
    assert_witness_kills(name, WITNESSES[name])


def test_every_mutant_of_the_logit_bounds_has_a_witness() -> None:
    assert set(WITNESSES) == mutants_of(("logit_abs_box_upper", "logit_abs_band_upper", "logit_abs_norm_upper"))
