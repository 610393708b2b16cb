"""Planted mistakes in sidecars and plans: each is noticed by a check that the right code passes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import opened as opened_module
from proofkv_verify.decode import pages as pages_module
from proofkv_verify.decode import planner as planner_module
from proofkv_verify.decode.loop import Decider
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Pages, Scheme, compress, decode, half_up
from proofkv_verify.decode.planner import brute_force, plan
from tests.decode.harness import tiny_step
from tests.decode.test_pages import assert_inside, rows

F64 = torch.float64


def containment_fails() -> bool:
    """A page's error leaves its sidecar at some level, or a refinement contradicts it."""
    paged, scheme = rows(), Scheme((5, 9, 16))
    try:
        found = Opened(pages_module.compress(paged, scheme), scheme, paged[:, :, :, 0, :0])
        for level in (5, 9):
            found.refine(torch.full_like(found.levels, level))
            assert_inside(found, paged)
    except (AssertionError, ValueError):
        return True
    return False


def mean_norms(given: Tensor, scheme: Scheme) -> Pages:
    found = compress(given, scheme)
    return replace(found, norms=found.norms.mean(-1, keepdim=True).expand_as(found.norms))


def finest_norms(given: Tensor, scheme: Scheme) -> Pages:
    found = compress(given, scheme)
    return replace(found, norms=found.norms[-1:].expand_as(found.norms))


PAGE_MUTANTS = {
    "mean_norm": (pages_module, "compress", mean_norms),
    "sidecar_to_nearest": (pages_module, "half_up", lambda x: x.half().double()),
    "sidecar_of_another_scale": (opened_module, "decode", lambda c, z, w, b: decode(c, z, w * (1 - 2.0**-9), b)),
    "sidecar_of_the_finest_level": (
        pages_module,
        "compress",
        finest_norms,
    ),
}


@pytest.mark.parametrize("name", sorted(PAGE_MUTANTS))
def test_a_mistake_in_the_sidecars_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not containment_fails()
    module, attribute, wrong = PAGE_MUTANTS[name]
    monkeypatch.setattr(module, attribute, wrong)
    assert containment_fails()


def test_round_to_nearest_can_fall_below_what_it_must_bound() -> None:
    x = torch.tensor([0.10005], dtype=F64)
    assert x.half().double() < x <= half_up(x)


def test_greedy_is_not_optimal() -> None:
    """The threshold rule raises units of one score together, where the best plan raises one of them."""
    scores = torch.tensor([1.0, 0.45, 0.45, 0.45], dtype=F64)
    levels, ladder, target = torch.full((4,), 4), (4, 8, 16), 1.4
    greedy = plan(scores, levels, ladder, target)

    def enough(chosen: tuple[int, ...]) -> bool:
        left = sum(0.0 if b == 16 else float(s) * 2.0 ** (4 - b) for s, b in zip(scores, chosen, strict=True))
        return left <= target

    best = brute_force(ladder, levels.tolist(), enough)
    assert best is not None
    assert enough(tuple(greedy.tolist()))
    assert sum(best) <= int(greedy.sum())
    worse = plan(torch.tensor([1.0, 1.0, 1.0], dtype=F64), torch.full((3,), 4), (4, 8, 16), 2.1)
    optimum = brute_force((4, 8, 16), [4, 4, 4], lambda c: sum(2.0 ** (4 - b) if b < 16 else 0.0 for b in c) <= 2.1)
    assert optimum is not None
    assert sum(optimum) < int(worse.sum())


def test_a_prediction_is_never_taken_for_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner may predict anything: the step is enclosed again after the read, and only that decides."""
    step = tiny_step(3, 4)
    monkeypatch.setattr(planner_module, "predict", lambda scores, levels, wanted: scores * 0)
    decision = Decider(step.model).decide(step.opened, step.token)
    assert decision is not None
    assert decision.outcome == "full" or decision.enclosure.certified
    assert decision.token == step.true.token
