"""The enclosure contains every attacked step: ellipsoids at each half layer and radii at the end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from proofkv_verify.decode.adjoint import first_order, pull_back
from proofkv_verify.decode.enclosure import directions, enclose, layer_bounds
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.methods import METHODS, method_named
from proofkv_verify.decode.row_sets import nuclear_upper
from proofkv_verify.decode.vertex import vertex_maximum
from proofkv_verify.errors import InvalidInputError
from tests.decode.harness import attacks, only, rivals, search_violation, tiny_step

F64 = torch.float64


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", [6, 8, 11])
def test_attacks_inside_the_sets_leave_no_ellipsoid_and_no_radius(seed: int, bits: int) -> None:
    assert search_violation(tiny_step(seed, bits)) == []


@pytest.mark.parametrize("kind", ["norm", "box", "sigma"])
@pytest.mark.parametrize("seed", range(2))
def test_attacks_inside_one_sidecar_alone_leave_no_bound(kind: str, seed: int) -> None:
    step = tiny_step(seed, 9)
    assert search_violation(step, only(step.sets, kind)) == []


@pytest.mark.parametrize("group_size", [1, 3])
def test_attacks_leave_no_bound_for_other_group_sizes(group_size: int) -> None:
    assert search_violation(tiny_step(5, 8, layers=3, group_size=group_size)) == []


def test_the_bound_is_attained_within_a_factor_of_two_for_small_errors() -> None:
    step = tiny_step(1, 12)
    sets = only(step.sets, "norm")
    bounds, _ = layer_bounds(step.model, step.nominal, sets)
    rival = rivals(step, 1)
    row = (step.model.head[step.nominal.token] - step.model.head[rival])[0]
    radius = float(pull_back(bounds, row[None])[0])
    moved = max(abs(float(row @ (t.final - step.nominal.final))) for t in attacks(step, sets, rival))
    assert radius / 2 <= moved <= radius


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("bits", [8, 14])
def test_every_method_that_is_a_proof_contains_the_attacked_gaps(name: str, bits: int) -> None:
    step = tiny_step(2, bits)
    found = method_named(name)(step.model, step.nominal, step.sets)
    assert found.proof == (name != "first-order")
    assert not (found.certified and not found.proof)
    if not found.proof:
        return
    for trace in [step.true, *attacks(step, step.sets, rivals(step))]:
        gaps = trace.scores[found.winner] - trace.scores
        assert (gaps >= found.gaps - found.radii).all()


def test_methods_are_ordered_by_tightness_on_a_small_error() -> None:
    step = tiny_step(3, 14)
    rival = rivals(step, 1)[0]
    radius = {name: float(method(step.model, step.nominal, step.sets).radii[rival]) for name, method in METHODS.items()}
    assert radius["first-order"] <= radius["ellipsoid"] < radius["l2"]
    assert radius["ellipsoid"] < radius["interval"]


def test_the_first_order_alone_is_no_bound() -> None:
    """An attack at few bits passes the first-order radius, which is why that method never certifies."""
    step = tiny_step(2, 3)
    sets = only(step.sets, "norm")
    row = step.model.head[step.nominal.token] - step.model.head
    total, _ = first_order(all_maps(step.model.layers, step.nominal, sets), row)
    moved = torch.stack(
        [(row @ (t.final - step.nominal.final)).abs() for t in attacks(step, sets, rivals(step, 4), 12)]
    )
    assert bool((moved > total).any())
    assert not METHODS["first-order"](step.model, step.nominal, sets).certified


def test_a_divergent_step_says_why_and_is_not_certified() -> None:
    step = tiny_step(0, 1)
    found = enclose(step.model, step.nominal, step.sets)
    assert not found.certified
    assert "diverged" in found.reason
    assert found.radii.isinf().all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_sets_that_are_no_numbers_certify_nothing(bad: float) -> None:
    step = tiny_step(0, 12)
    broken = torch.full_like(step.sets[0].key_norm, bad)
    sets = [replace(step.sets[0], key_norm=broken, key_box=torch.full_like(step.sets[0].key_box, bad)), *step.sets[1:]]
    for name, method in METHODS.items():
        assert not method(step.model, step.nominal, sets).certified, name


def test_exact_rows_leave_only_the_rounding() -> None:
    step = tiny_step(0, 16)
    found = enclose(step.model, step.nominal, step.sets)
    assert found.certified
    assert float(found.radii.max()) < 1e-7


def test_a_tie_is_never_certified() -> None:
    step = tiny_step(0, 16)
    head = step.model.head.clone()
    winner = step.nominal.token
    head[(winner + 1) % 16] = head[winner]
    model = replace(step.model, head=head)
    trace = replace(step.nominal, scores=head @ step.nominal.final)
    assert not enclose(model, trace, step.sets).certified
    assert not method_named("interval")(model, trace, step.sets).certified


def test_gaps_are_rounded_down_and_zero_at_the_winner() -> None:
    step = tiny_step(0)
    _, gaps = directions(step.model, step.nominal)
    winner = step.nominal.token
    assert gaps[winner] == 0
    others = torch.arange(16) != winner
    assert (gaps < step.nominal.scores[winner] - step.nominal.scores)[others].all()


def test_vertex_maximum_equals_brute_force_over_the_corners() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        logits, radius, gain = (torch.randn(6, generator=generator, dtype=F64) for _ in range(3))
        radius = radius.abs()
        corners = torch.cartesian_prod(*([torch.tensor([-1.0, 1.0], dtype=F64)] * 6))
        best = ((logits + corners * radius).softmax(-1) @ gain).max()
        found = vertex_maximum(logits, radius, gain)
        assert best <= found <= best + 1e-8 * gain.abs().max()


def test_nuclear_upper_is_the_nuclear_norm_for_two_heads_and_above_it_for_three() -> None:
    generator = torch.Generator().manual_seed(1)
    for heads, factor in ((1, 1.0), (2, 1.0), (3, 3**0.5)):
        left, right = (torch.randn(20, heads, size, generator=generator, dtype=F64) for size in (16, 8))
        exact = torch.linalg.matrix_norm(left.mT @ right, "nuc")
        upper = nuclear_upper(left, right)
        assert (upper >= exact * (1 - 1e-12)).all()
        assert (upper <= exact * factor * (1 + 1e-4)).all()


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="ellipsoid"):
        method_named("magic")
