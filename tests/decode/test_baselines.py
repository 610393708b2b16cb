"""Interval arithmetic, attacks and totals: what the baselines and the reports rest on."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from proofkv_verify.decode import attack, page_radius
from proofkv_verify.decode.attack import push_inside, random_vertex
from proofkv_verify.decode.composition import enclose_l2, norm_lipschitz
from proofkv_verify.decode.interval import linear, rms, silu, softmax
from proofkv_verify.decode.record import StepRecord, summarise
from proofkv_verify.decode.shapes import split
from tests.decode.half import mutated
from tests.decode.harness import tiny_step
from tests.decode.test_ellipsoid import matrix
from tests.decode.test_row_sets import PAGED

F64 = torch.float64


def box(seed: int, size: int = 6, radius: float = 0.4) -> tuple[torch.Tensor, torch.Tensor]:
    centre, width = matrix(seed, size), matrix(seed + 1, size).abs() * radius
    return centre - width, centre + width


def inside(x: tuple[torch.Tensor, torch.Tensor], count: int = 400) -> torch.Tensor:
    """Corners and random points of a box."""
    t = torch.rand(count, len(x[0]), generator=torch.Generator().manual_seed(9), dtype=F64)
    t[: count // 2] = t[: count // 2].round()
    return x[0] + t * (x[1] - x[0])


def holds(found: tuple[torch.Tensor, torch.Tensor], values: torch.Tensor) -> bool:
    return bool(((values >= found[0]) & (values <= found[1])).all())


@pytest.mark.parametrize("seed", [1, 5, 9])
def test_interval_operations_contain_every_point_of_the_box(seed: int) -> None:
    x, w = box(seed), matrix(seed + 2, 4, 6)
    points = inside(x)
    assert holds(linear(w, x), points @ w.T)
    assert holds(rms(x, 1e-5), points / (points.square().mean(-1, keepdim=True) + 1e-5).sqrt())
    assert holds(silu(x), torch.nn.functional.silu(points))
    assert holds(softmax(x), points.softmax(-1))


def test_interval_silu_knows_that_silu_is_not_monotone() -> None:
    low, high = silu((torch.tensor([-3.0], dtype=F64), torch.tensor([0.0], dtype=F64)))
    assert low < -0.27846
    assert high >= 0


def test_interval_softmax_of_unbounded_scores_is_the_whole_range() -> None:
    wide = torch.full((3,), 1e4, dtype=F64)
    low, high = softmax((-wide, wide))
    assert not low.any()
    assert (high == 1).all()


def test_norm_lipschitz_bounds_rmsnorm_in_the_ball() -> None:
    x = matrix(3, 6)
    rho = float((x @ x / 6 + 1e-5).sqrt())
    for error in (0.01, 0.5, 3.0, 100.0):
        step = matrix(4, 500, 6)
        step = step / step.norm(dim=1, keepdim=True) * error
        moved = (x + step) / ((x + step).square().mean(-1, keepdim=True) + 1e-5).sqrt() - x / rho
        assert moved.norm(dim=1).max() <= norm_lipschitz(x, rho, error, 1e-5)


def test_l2_without_rounding_is_labelled_as_no_proof() -> None:
    step = tiny_step(0, 14)
    found = enclose_l2(step.model, step.nominal, step.sets, rounding=False)
    assert not found.proof
    assert not found.certified


def test_attacks_stay_inside_every_sidecar() -> None:
    step = tiny_step(1, 6)
    for cache, known, pushed in zip(step.caches, step.sets, random_vertex(step.caches, step.sets, 3), strict=True):
        wild = [matrix(7, *cache.keys.shape) * 100, matrix(8, *cache.values.shape) * 100]
        for keys, values in (pushed, push_inside(wild[0], wild[1], known)):
            assert (keys.abs() <= known.key_box).all()
            assert (keys.norm(dim=-1) <= known.key_norm).all()
            assert (values.abs() <= known.value_box[..., None]).all()
            assert (values.norm(dim=-1) <= known.value_norm).all()
            for error, sigma in ((keys, known.key_sigma), (values, known.value_sigma)):
                pages = split(error[:, : sigma.shape[-1] * known.page_size], 1, (sigma.shape[-1], known.page_size))
                assert (torch.linalg.matrix_norm(pages, 2) <= sigma).all()
            assert keys.any()


def share_met(module: ModuleType) -> float:
    """What the attack's points reach of the bounds over the sets that they lie in."""
    met = bound = 0.0
    for x in PAGED[:18]:
        forms = x.coefficient.mT @ x.vectors
        found = torch.stack([(g * module._farthest(g, *x.known, x.size)).sum(-1) for g in forms])
        met, bound = met + float(x.paged(found).sum()), bound + float(x.bound(page_radius)[0].sum())
    return met / bound


def test_an_attack_climbs_to_nine_tenths_of_the_bound_and_without_the_climb_it_does_not() -> None:
    assert share_met(attack) > 0.9
    assert share_met(mutated(attack, "for k in range(_ASCENT):", "for _ in range(0):")) < 0.87


def record(outcome: str, **change: object) -> StepRecord:
    given: dict[str, object] = {
        "position": 0, "token": 1, "outcome": outcome, "margin": 1.0, "radius": 0.5, "rounds": 0, "units_opened": 2,
        "bits": 8.0, "payload_bits": 80, "sidecar_bits": 16, "anchor_bits": 160, "elements": 10, "seconds": 2.0,
        "forward_seconds": 0.5,
    }  # fmt: skip
    return StepRecord(**(given | change))  # type: ignore[arg-type]


def test_totals_are_counted_by_hand() -> None:
    found = summarise(
        [record("certified"), record("drafted", anchor_bits=0, forward_seconds=0.0), record("full", bits=16.0)]
    )
    assert (found.steps, found.certified, found.full, found.drafted) == (3, 1, 1, 1)
    assert found.bytes_read == 3 * 96 / 8
    assert (found.anchor_bytes, found.full_bytes) == (2 * 160 / 8, 3 * 160 / 8)
    assert found.time_ratio == 4.0
    assert found.tokens_per_pass == 1.5
    assert found.mean_bits == pytest.approx(32 / 3)


def test_totals_of_no_step_are_zero() -> None:
    found = summarise([])
    assert (found.steps, found.mean_bits, found.time_ratio) == (0, 0.0, 0.0)
    assert found.tokens_per_pass == float("inf")


def test_split_replaces_one_axis() -> None:
    x = torch.arange(24).reshape(2, 12)
    assert torch.equal(split(x, 1, (3, -1)), x.reshape(2, 3, 4))
    assert split(torch.zeros(2, 0), -1, (0, 5)).shape == (2, 0, 5)
