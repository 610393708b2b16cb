import pytest

from proofkv_verify.kinds import Instance
from tests.quality.witnesses import assert_witness_kills, instance, mutants_of


def element(**changes: object) -> Instance:
    """An int8 element with scale 1, exact dequantization, value 3/10 at code 0; `changes` replace fields."""
    fields: dict[str, object] = {
        "divisor": 1,
        "scale": 1,
        "offset_in": 0,
        "offset_out": 0,
        "code": 0,
        "code_min": -127,
        "code_max": 127,
        "value_low": -127,
        "value_high": 127,
        "roundoff": 0,
        "value": "3/10",
        "restored": 0,
    }
    return instance("quantizer_step", **{**fields, **changes})


# amax 128.0542 gives the scale 1.0083008; fp16 stores 1.0078125, and 126.4999 units come back short by .5609
STORED_IN_FP16 = element(
    divisor="10083008/10000000",
    scale="10078125/10000000",
    code=126,
    value_low=-129,
    value_high=129,
    value="127550/1000",
    restored="12698437500/100000000",
)
WITNESSES = {
    "step_from_unrounded_scale": STORED_IN_FP16,
    "step_from_stored_scale_only": STORED_IN_FP16,
    "step_without_saturation": element(code=127, value_high=500, value=500, restored=127),
    "step_without_zero_point_mismatch": element(
        divisor="1/10", scale="1/10", offset_out="1/10", code=12, value="123/100", restored="13/10"
    ),
    "step_without_dequantization_roundoff": element(
        code=100, roundoff="1/256", value="199/2", restored="25625/256", value_low=0
    ),
    "step_quarter": element(value="1/2"),
    "step_relative_roundoff_of_step": element(code=100, roundoff="1/256", value="199/2", restored="25625/256"),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_witness_kills_mutant_and_keeps_bound(name: str) -> None:
    assert_witness_kills(name, WITNESSES[name])


def test_every_mutant_of_the_step_bound_has_a_witness() -> None:
    assert set(WITNESSES) == mutants_of(("quantizer_step_upper",))
