"""The argmax margin (never above its formula) and the quantizer radius (never below), against the reference."""

import math
from fractions import Fraction

import pytest
import torch

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.exact import lift_float
from proofkv_verify.fast.argmax_margin_lower import argmax_margin_lower
from proofkv_verify.fast.quantizer_step_upper import quantizer_step_upper
from tests.fast.battery import assert_not_below, exact, reference_ends
from tests.fast.cases import DTYPE_IDS, DTYPES

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)


def margin_reference(scores, radii, candidate):
    fields = {
        "scores_hat": exact(scores),
        "radii": exact(radii),
        "rows": ((),) * scores.numel(),
        "hidden_hat": (),
        "hidden_radius": Fraction(0),
    }
    return reference_ends("argmax_margin_lower", "argmax", fields, {"candidate": candidate})


@each_dtype
def test_margin_is_not_above_its_formula_and_within_two_roundings(dtype):
    g = torch.Generator().manual_seed(0)
    for size in (1.0, 1e-30, 1e8):
        scores = torch.randn(8, 5, generator=g, dtype=torch.float64).to(dtype) * size
        radii = (torch.rand(8, 5, generator=g, dtype=torch.float64) * size / 10).to(dtype)
        best = scores.argmax(-1)
        found = argmax_margin_lower(scores, radii, best)
        for k in range(8):
            low, high = margin_reference(scores[k], radii[k], int(best[k]))
            claimed = Fraction(float(found[k]))
            assert claimed <= high, (k, claimed, high)
            assert claimed >= low - abs(low) * Fraction(1, 2**22) - Fraction(size) / 2**45


@pytest.mark.parametrize(("candidate", "expected"), [(0, 1.0), (1, 0.0)])
def test_an_exact_tie_is_won_by_the_lower_index_only(candidate, expected):
    assert argmax_margin_lower(torch.tensor([2.5, 2.5]), torch.zeros(2), candidate).item() == expected
    assert argmax_margin_lower(torch.tensor([2.5, 2.0]), torch.tensor([0.25, 0.25]), 0).item() == 1


def test_a_tie_that_rounding_makes_is_not_won():
    # 1 - (1 + 2^-60) rounds to 0 in float64, but the candidate loses.
    scores, radii = torch.tensor([1.0, 1.0], dtype=torch.float64), torch.tensor([2.0**-60, 0.0], dtype=torch.float64)
    assert argmax_margin_lower(scores, radii, 0).item() < 0


def test_every_rival_counts():
    scores = torch.zeros(1000)
    scores[3] = 2
    radii = torch.zeros(1000)
    assert argmax_margin_lower(scores, radii, 3).item() == 2
    radii[777] = 2.5
    assert argmax_margin_lower(scores, radii, 3).item() == -0.5


def test_unknown_scores_never_certify_and_a_single_row_always_wins():
    for scores, radii in [
        ([1.0, math.nan], [0.0, 0.0]),
        ([math.nan, 1.0], [0.0, 0.0]),
        ([1.0, 0.0], [0.0, -1.0]),
        ([1.0, 0.0], [math.inf, 0.0]),
        ([1.0, math.inf], [0.0, 0.0]),
        ([-math.inf, 0.0], [0.0, 0.0]),
        ([-math.inf, -math.inf], [0.0, 0.0]),
    ]:
        assert argmax_margin_lower(torch.tensor(scores), torch.tensor(radii), 0).item() == -math.inf, (scores, radii)
    assert argmax_margin_lower(torch.tensor([1.0, -math.inf]), torch.zeros(2), 0).item() >= 3e38
    assert argmax_margin_lower(torch.tensor([[3.0]]), torch.zeros(1, 1), 0).item() == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: argmax_margin_lower(torch.zeros(3), torch.zeros(3), 3), InvalidInputError),
        (lambda: argmax_margin_lower(torch.zeros(3), torch.zeros(3), torch.tensor(0.5)), InvalidInputError),
        (lambda: argmax_margin_lower(torch.zeros(3), torch.zeros(2), 0), ShapeError),
        (lambda: argmax_margin_lower(torch.zeros(0), torch.zeros(0), 0), ShapeError),
        (lambda: argmax_margin_lower(torch.zeros(2, 3), torch.zeros(3), torch.tensor([0, 1, 2])), ShapeError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def quantizer_case(seed):
    g = torch.Generator().manual_seed(seed)

    def number(size):
        return (torch.randn(1, generator=g, dtype=torch.float64) * size).float()

    code = torch.randint(-8, 8, (1,), generator=g)
    low = number(3)
    divisor = number(1).abs() + 1e-3
    scale = divisor.half().float() if seed % 2 else divisor
    return {"code": code, "divisor": divisor, "scale": scale, "value_low": low, "value_high": low + number(2).abs()} | (
        {"offset_in": number(1), "offset_out": number(1)} if seed % 3 == 0 else {}
    )


def test_quantizer_radius_is_not_below_its_formula_and_close_to_it():
    for seed in range(60):
        case, roundoff = quantizer_case(seed), 0.0 if seed % 4 else 2.0**-11
        claimed = float(quantizer_step_upper(**case, code_min=-7, code_max=7, roundoff=roundoff))
        if not -7 <= int(case["code"]) <= 7:
            assert claimed == math.inf
            continue
        fields = {name: exact(case[name])[0] for name in ("divisor", "scale", "value_low", "value_high")}
        fields |= {name: exact(case[name])[0] if name in case else Fraction(0) for name in ("offset_in", "offset_out")}
        fields |= {"code": Fraction(int(case["code"])), "code_min": Fraction(-7), "code_max": Fraction(7)}
        ends = reference_ends("quantizer_step_upper", "quantizer_step", fields | {"roundoff": lift_float(roundoff)})
        assert_not_below(claimed, ends, f"seed {seed}")
        assert Fraction(claimed) <= ends[1] * (1 + Fraction(1, 2**45))


def test_matching_scales_give_exactly_half_a_step():
    scale = torch.tensor([0.3, 1e-300], dtype=torch.float64)
    found = quantizer_step_upper(
        torch.tensor([3, -3]), scale, scale, code_min=-127, code_max=127, value_low=-scale, value_high=scale
    )
    assert torch.equal(found, scale / 2)


@pytest.mark.parametrize(
    "change",
    [
        {"divisor": torch.tensor(0.0)},
        {"scale": torch.tensor(-1.0)},
        {"value_high": torch.tensor(math.nan)},
        {"value_low": torch.tensor(3.0)},
        {"offset_in": torch.tensor(math.nan)},
        {"roundoff": -1.0},
        {"code": torch.tensor(9)},
    ],
)
def test_unusable_quantizer_data_gives_infinity(change):
    one = torch.tensor(1.0)
    case = {"code": torch.tensor(1), "divisor": one, "scale": one, "value_low": -one, "value_high": one}
    assert quantizer_step_upper(**case | change, code_min=-7, code_max=7).item() == math.inf
