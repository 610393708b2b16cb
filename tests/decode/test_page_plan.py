"""The page-additive bound holds for every set of opened pages; its integer program finds the brute-force minimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode.attack import random_vertex
from proofkv_verify.decode.exact_plan import PlanProblem, minimum_plan
from proofkv_verify.decode.page_plan import first_layer_charges, greedy_cover, page_charges, page_problems, plan_gap
from proofkv_verify.decode.planner import brute_force
from tests.decode.harness import Step, tiny_step

F64 = torch.float64


@dataclass(frozen=True)
class Head:
    """One head: compressed and true scores and values, the radii between them, the page of each row."""

    scores: Tensor
    values: Tensor
    true_scores: Tensor
    true_values: Tensor
    page: Tensor

    @property
    def radii(self) -> Tensor:
        return (self.true_scores - self.scores).abs()

    @property
    def value_radii(self) -> Tensor:
        return (self.true_values - self.values).norm(dim=-1)


def tensors(*rows: list[float]) -> list[Tensor]:
    return [torch.tensor(row, dtype=F64) for row in rows]


def output(scores: Tensor, values: Tensor) -> Tensor:
    return scores.softmax(-1) @ values


def error(head: Head, opened: tuple[bool, ...]) -> Tensor:
    """|o - o_F|."""
    exact = torch.tensor(opened)[head.page]
    mixed = torch.where(exact, head.true_scores, head.scores)
    values = torch.where(exact[:, None], head.true_values, head.values)
    return (output(head.true_scores, head.true_values) - output(mixed, values)).norm()


def violated(charge: Callable[..., Tensor], head: Head) -> bool:
    """Some set of opened pages leaves an error above the charges of the closed ones."""
    found = charge(head.scores, head.radii, head.values, head.value_radii, head.page)
    sets = product([False, True], repeat=len(found))
    return any(bool(error(head, f) > (found * ~torch.tensor(f)).sum()) for f in sets)


def random_head(seed: int) -> Head:
    """A few rows with one dominant score now and then, errors of all sizes, values often 0."""
    g = torch.Generator().manual_seed(seed)
    pages = int(torch.randint(1, 5, (1,), generator=g))
    page = torch.arange(pages).repeat_interleave(int(torch.randint(1, 4, (1,), generator=g)))
    n, d = len(page), 3
    scores = torch.randn(n, generator=g, dtype=F64) * 8 * torch.rand(1, generator=g, dtype=F64)
    values = torch.randn(n, d, generator=g, dtype=F64) * (torch.rand(n, 1, generator=g) < 0.6)
    moved = torch.randn(n, generator=g, dtype=F64).sign() * 6 * torch.rand(n, generator=g, dtype=F64) ** 3
    lost = torch.randn(n, d, generator=g, dtype=F64) * torch.rand(n, 1, generator=g, dtype=F64) ** 2
    return Head(scores, values, scores + moved, values + lost, page)


@pytest.mark.parametrize("seed", range(60))
def test_no_set_of_opened_pages_leaves_more_than_the_charges(seed: int) -> None:
    assert not violated(page_charges, random_head(seed))


def step_heads(step: Step) -> Iterator[tuple[int, Head]]:
    """The first layer's heads on the true cache and on random vertices of the sets."""
    scale, n = step.model.config.head_dim**-0.5, step.opened.num_tokens
    pages = step.sets[0].key_sigma.shape[-1]
    page = (torch.arange(n + 1) // step.sets[0].page_size).clamp_max(pages)
    tr, true = step.nominal.layers[0], step.true.layers[0]
    rows = [(true.keys, true.values)]
    for seed in range(3):
        keys, values = random_vertex(step.caches, step.sets, seed)[0]
        pad = torch.nn.functional.pad
        rows.append((tr.keys + pad(keys, (0, 0, 0, 1)), tr.values + pad(values, (0, 0, 0, 1))))
    for keys, values in rows:
        for h, g in enumerate(step.model.heads_to_kv.tolist()):
            q = tr.q[h]
            yield h, Head(tr.keys[g] @ q * scale, tr.values[g], keys[g] @ q * scale, values[g], page)


@pytest.mark.parametrize(("seed", "bits"), [(0, 3), (1, 4), (2, 8), (3, 2)])
def test_the_first_layers_charges_hold_for_every_set_on_caches_inside_the_sidecars(seed: int, bits: int) -> None:
    step = tiny_step(seed, bits)
    charges = first_layer_charges(step.model, step.nominal, step.sets[0])
    for h, head in step_heads(step):
        for opened in product([False, True], repeat=charges.shape[1]):
            closed = (charges[h] * ~torch.tensor(opened)).sum()
            assert error(head, (*opened, True)) <= closed


def test_opened_pages_and_exact_rows_have_no_charge() -> None:
    step = tiny_step(0, 4)
    step.opened.refine(torch.full_like(step.opened.levels, 16))
    assert not first_layer_charges(step.model, step.nominal, step.opened.sets(0)).any()


def test_a_score_that_can_move_without_end_charges_the_whole_spread() -> None:
    scores, radii, values, lost = tensors([0, 0], [1e6, 0], [[0.0], [2.0]], [0, 0])
    found = page_charges(scores, radii, values, lost, torch.tensor([0, 1]))
    assert found[0] == pytest.approx(2.0)
    assert found[1] == 0


def by_hand(
    head: Head, *, largest_share: bool = True, add_radii: bool = True, of_page: Callable[[Tensor], Tensor] = torch.max
) -> Tensor:
    """The charges written out page by page, with the places where a wrong variant differs."""
    weights, pages = head.scores.softmax(-1), head.page.unique().tolist()
    c = [float(of_page(head.radii[head.page == p])) for p in pages]
    eta = [float(head.value_radii[head.page == p].max()) for p in pages]
    mass = [float(weights[head.page == p].sum()) for p in pages]
    found = []
    for p in pages:
        others = sum(m * math.exp(-c[at]) for at, m in enumerate(mass) if at != p)
        top = mass[p] * math.exp(c[p]) / (mass[p] * math.exp(c[p]) + others)
        spread = max(
            float((head.values[t] - head.values[s]).norm()) + add_radii * (eta[p] + eta[int(head.page[s])])
            for t in (head.page == p).nonzero()[:, 0]
            for s in range(len(head.page))
        )
        found.append((top if largest_share else mass[p]) * ((1 - math.exp(-c[p])) * spread + eta[p]))
    return torch.tensor(found, dtype=F64)


@pytest.mark.parametrize("seed", range(12))
def test_the_charges_are_those_of_the_formula_written_out(seed: int) -> None:
    head = random_head(seed)
    found = page_charges(head.scores, head.radii, head.values, head.value_radii, head.page)
    assert found.tolist() == pytest.approx(by_hand(head).tolist(), rel=1e-8)
    assert (found >= by_hand(head)).all()


SMALL_SHARE = Head(*tensors([0, 6], [[1.0], [0.0]], [8, 6], [[1.0], [0.0]]), torch.tensor([0, 1]))
BOTH_VALUES = Head(*tensors([0, 0], [[0.0], [0.0]], [1, -1], [[1.0], [-1.0]]), torch.tensor([0, 1]))
ONE_OF_FOUR = Head(
    *tensors(
        [0, -9, -9, -9, 3],
        [[1.0], [1.0], [1.0], [1.0], [0.0]],
        [4, -9, -9, -9, 3],
        [[1.0], [1.0], [1.0], [1.0], [0.0]],
    ),
    torch.tensor([0, 0, 0, 0, 1]),
)


@pytest.mark.parametrize(
    ("mistake", "witness"),
    [
        ({"largest_share": False}, SMALL_SHARE),
        ({"add_radii": False}, BOTH_VALUES),
        ({"of_page": torch.mean}, ONE_OF_FOUR),
    ],
    ids=["the compressed share", "the spread without radii", "the mean radius of a page"],
)
def test_a_wrong_charge_is_noticed(mistake: dict[str, Any], witness: Head) -> None:
    def fault(**given: Any) -> bool:
        charges = by_hand(witness, **given)
        sets = product([False, True], repeat=len(charges))
        return any(bool(error(witness, f) > (charges * ~torch.tensor(f)).sum()) for f in sets)

    assert not fault()
    assert fault(**mistake)


# The integer program


def layer_problems(seed: int, bits: int, share: float) -> list[PlanProblem]:
    step = tiny_step(seed, bits, tokens=48, page_size=4)
    charges = first_layer_charges(step.model, step.nominal, step.sets[0])
    return page_problems(charges, step.model.config.group_size, bits, share)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_minimum_over_the_charges_is_the_brute_force_minimum(seed: int, share: float) -> None:
    for problem in layer_problems(seed, 4, share):
        assert 8 <= len(problem.levels) <= 12
        found, best = minimum_plan(problem), brute_force((4, 16), problem.levels, problem.feasible)
        assert found is not None
        assert best is not None
        assert problem.feasible(found)
        assert sum(found) == sum(best)
        gap = plan_gap(problem)
        assert gap is not None
        assert gap.minimum == sum(best) - 4 * len(best)
        assert gap.greedy >= gap.minimum
        assert problem.feasible(greedy_cover(problem))


def test_the_greedy_plan_is_not_the_minimum() -> None:
    """Two pages that serve one head each, and a third that greedy prefers because it serves both a little."""
    problem = PlanProblem(((6.0, 0.0, 5.0), (0.0, 6.0, 5.0)), (5.0, 5.0), (4, 4, 4), (4, 16))
    assert greedy_cover(problem) == (16, 16, 16)
    assert minimum_plan(problem) == (16, 16, 4)
    gap = plan_gap(problem)
    assert gap is not None
    assert (gap.greedy, gap.minimum) == (36, 24)


def test_a_share_above_one_opens_nothing_and_of_zero_opens_every_page_that_has_a_charge() -> None:
    for problem in layer_problems(2, 5, 1.01):
        assert greedy_cover(problem) == minimum_plan(problem) == problem.levels
    for problem in layer_problems(2, 5, 0.0):
        assert set(greedy_cover(problem)) == {16}
        assert minimum_plan(problem) == greedy_cover(problem)


def test_a_cache_that_is_read_in_full_has_nothing_to_plan() -> None:
    (problem,) = page_problems(torch.zeros(2, 3, dtype=F64), 2, 16, 0.5)
    assert minimum_plan(problem) == greedy_cover(problem) == (16, 16, 16)
