"""Stages of the ellipsoid method: each rival gets its own radius, whichever stage decides it; and planted mistakes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import enclosure
from proofkv_verify.decode.adjoint import pull_back, screen
from proofkv_verify.decode.ellipsoid import support
from proofkv_verify.decode.enclosure import RIVALS_FIRST, directions, layer_bounds
from tests.decode.half import mutated
from tests.decode.harness import Step, attacks, rivals, tiny_step, violations
from tests.decode.test_ellipsoid import matrix

F64 = torch.float64
SHARES = (0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 1.03, 1.04, 1.2, 1.4, 1.6, 1.8, 2.0, 3.0)  # gap by last ellipsoid


@cache
def crowded() -> Step:
    """A step in which some rivals are left at each stage: the rows of their gaps are random, the gaps are chosen."""
    step = tiny_step(3, 4)
    bounds, _ = layer_bounds(step.model, step.nominal, step.sets)
    x, winner = step.nominal.final, step.nominal.token
    rows = matrix(3, len(SHARES), len(x))
    rows = rows - (rows @ x)[:, None] * x / (x @ x)
    gaps = support(bounds[-1].out, rows) * torch.tensor(SHARES, dtype=F64)
    head = step.model.head.clone()
    others = torch.tensor([j for j in range(len(head)) if j != winner])[torch.randperm(15, generator=seeded())]
    head[others] = head[winner] - rows - gaps[:, None] * x / (x @ x)
    nominal = replace(step.nominal, scores=head @ x)
    return replace(step, model=replace(step.model, head=head), nominal=nominal)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


@cache
def stages() -> Tensor:
    """The radii of every rival by the screen, by the last ellipsoid and by pulling back `[3, V]`."""
    step = crowded()
    bounds, _ = layer_bounds(step.model, step.nominal, step.sets)
    rows, _ = directions(step.model, step.nominal)
    return torch.stack([screen(bounds[-1], rows), support(bounds[-1].out, rows), pull_back(bounds, rows)])


def decided() -> Tensor:
    """How many stages each rival takes until its gap is larger than the least radius so far, 3 if none shows it."""
    _, gaps = directions(crowded().model, crowded().nominal)
    found = (gaps <= stages().cummin(0).values).sum(0)
    found[crowded().nominal.token] = -1
    return found


def stage_faults(found: ModuleType) -> list[str]:
    """Where an enclosure's radius is not the least of those stages that the rival went through."""
    step = crowded()
    got, least = found.enclose(step.model, step.nominal, step.sets), stages().cummin(0).values
    others = torch.arange(len(got.gaps)) != step.nominal.token
    wanted = least.gather(0, decided().clamp(0, 2)[None])[0]
    faults = []
    if not ((got.radii / wanted - 1).abs() < 1e-4)[others].all():
        faults.append("radius")
    if not got.certified:
        faults.append("certificate")
    return faults


def test_every_stage_decides_rivals_and_the_last_one_more_than_its_first_batch() -> None:
    counts = torch.bincount(decided() + 1, minlength=5).tolist()
    assert counts[1] >= 2
    assert counts[2] >= 1
    assert counts[3] > RIVALS_FIRST
    assert counts[4] == 0


def test_each_rival_gets_the_least_radius_of_its_stages() -> None:
    assert stage_faults(enclosure) == []


FINAL = "radii[left] = torch.minimum(radii[left], support(bounds[-1].out, rows[left]))"
PULL = "radii[picked] = torch.minimum(radii[picked], pull_back(bounds, rows[picked]))"
STAGE_MISTAKES = {
    "no rival is screened": ("radii = screen(bounds[-1], rows)", "radii = torch.zeros_like(gaps)"),
    "the screen is of the first layer": ("screen(bounds[-1], rows)", "screen(bounds[0], rows)"),
    "the screen takes the rows of other rivals": ("screen(bounds[-1], rows)", "screen(bounds[-1], rows.flip(0))"),
    "the last ellipsoid is the first layer's": ("bounds[-1].out, rows[left]", "bounds[0].out, rows[left]"),
    "the last ellipsoid takes the rows of other rivals": (FINAL, FINAL.replace("rows[left]", "rows[: len(left)]")),
    "the last ellipsoid's radii go to other rivals": (FINAL, FINAL.replace("radii[left] =", "radii[left.flip(0)] =")),
    "rows are pulled back for other rivals": (PULL, PULL.replace("rows[picked]", "rows[left[: len(picked)]]")),
    "the radii that were pulled back go to other rivals": (
        PULL,
        PULL.replace("radii[picked] =", "radii[picked.flip(0)] ="),
    ),
    "only the first layers are pulled back": (PULL, PULL.replace("pull_back(bounds,", "pull_back(bounds[1:],")),
    "rivals after the first batch are dropped": ("(RIVALS_FIRST, len(left))):", "(len(left), len(left))):"),
    "rivals after the first batch count as none": (PULL, PULL + "\n            radii[left[RIVALS_FIRST:]] = 0"),
    "the first batch decides for all": (PULL, PULL + "\n            radii[left[end:]] = radii[picked].min()"),
    "a rival is left out": ("order = rivals_by_gap(gaps, trace.token)", "order = rivals_by_gap(gaps, trace.token)[1:]"),
}


@pytest.mark.parametrize("name", sorted(STAGE_MISTAKES))
def test_a_mistake_in_the_stages_is_noticed(name: str) -> None:
    assert stage_faults(mutated(enclosure, *STAGE_MISTAKES[name])) != []


def layer_faults(found: ModuleType) -> list[str]:
    """What attacks break of the bounds of all layers, and halves that start from another ellipsoid than the last's."""
    step = tiny_step(1, 8)
    bounds, reason = found.layer_bounds(step.model, step.nominal, step.sets)
    assert reason == ""
    traces = [step.true, *attacks(step, step.sets, rivals(step), 2)]
    before = [torch.zeros_like(bounds[0].out), *(x for b in bounds for x in (b.attention.out, b.out))]
    given = [x for b in bounds for x in (b.attention.norm.p, b.mlp.norm.p)]
    apart = [f"half {at}" for at, (x, y) in enumerate(zip(before, given, strict=False)) if not torch.equal(x, y)]
    return apart + [text for trace in traces for text in violations(step, bounds, trace)]


LAYER_MISTAKES = {
    "a layer starts from a point": ("found[-1].out if found else p", "p"),
    "the error behind the MLP is the one before it": ("found[-1].out if found", "found[-1].attention.out if found"),
    "the error before the MLP is the one before attention": (
        "mlp_half(maps, attention.out,",
        "mlp_half(maps, attention.norm.p,",
    ),
}


def test_every_half_starts_from_the_last_ones_ellipsoid() -> None:
    assert layer_faults(enclosure) == []


@pytest.mark.parametrize("name", sorted(LAYER_MISTAKES))
def test_a_mistake_between_layers_is_noticed(name: str) -> None:
    assert layer_faults(mutated(enclosure, *LAYER_MISTAKES[name])) != []
