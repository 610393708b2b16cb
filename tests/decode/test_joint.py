"""The joint tail: its ellipsoids contain the true and the attacked tail at every token and layer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from proofkv_verify.decode.attack import push_inside
from proofkv_verify.decode.ellipsoid import combine
from proofkv_verify.decode.enclosure import enclose
from proofkv_verify.decode.full_cache import FullCache, row_of
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import Decider, open_cache, plain_step
from proofkv_verify.decode.model import Cache, Model, Trace, advance, build_model
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.tail import RadiusTail
from tests.decode.harness import depth
from tests.decode.tiny import tiny_config, tiny_ids, tiny_model, tiny_tensors

PROMPT = 32


class Watched(JointTail):
    """A joint tail that keeps the ellipsoid after each half layer of each token."""

    def __init__(self, model: Model, capacity: int = 32) -> None:
        super().__init__(model, capacity)
        self.seen: list[list[torch.Tensor]] = []

    def _marginals(self, graph, at):
        first, rest = super()._marginals(graph, at)
        if at == 0:
            self.seen.append([])
        self.seen[-1].append(combine([first, rest]))
        return first, rest


def tail_run(
    seed: int, bits: int, count: int
) -> tuple[Model, list[int], FullCache, Watched, list[Trace], list[torch.Tensor], list[bool]]:
    model, ids = tiny_model(2, seed), tiny_ids(PROMPT + count, seed)
    full = FullCache.of_prompt(model, ids[:PROMPT])
    opened = open_cache(full, Scheme((bits, 16), 8))
    tail, traces, radii, certified = Watched(model), [], [], []
    for token in ids[PROMPT:]:
        decision, ok = tail.step(opened, token)
        traces.append(decision.trace)
        radii.append(decision.enclosure.radii)
        certified.append(ok)
    return model, ids, full, tail, traces, radii, certified


def violations(
    tail: Watched, nominal: Sequence[Trace], attacked: Sequence[Trace], radii: Sequence[torch.Tensor]
) -> list[str]:
    found = []
    for t, (a, b) in enumerate(zip(nominal, attacked, strict=True)):
        moved = [x.mid - y.mid for x, y in zip(b.layers, a.layers, strict=True)]
        found += [f"token {t} layer {i}" for i, p in enumerate(tail.seen[t]) if not depth(p, moved[i]) <= 1]
        gaps = [(tr.scores[a.token] - tr.scores) for tr in (a, b)]
        if not bool(((gaps[1] - gaps[0]).abs() <= radii[t] + 1e-12).all()):
            found.append(f"radius of token {t}")
    return found


def rerun(model: Model, caches: list[Cache], ids: Sequence[int]) -> list[Trace]:
    """The tail over other prompt rows, each row stored as the full cache stores it."""
    full = FullCache(model, caches)
    return [full.step(token) for token in ids]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bits", [8, 11])
def test_the_true_tail_is_inside_every_ellipsoid_and_radius(seed: int, bits: int) -> None:
    model, ids, full, tail, traces, radii, _ = tail_run(seed, bits, 6)
    assert violations(tail, traces, rerun(model, full.caches, ids[PROMPT:]), radii) == []


def attacked_prompt(
    model: Model, ids: list[int], full: FullCache, bits: int, row: torch.Tensor, steps: int
) -> list[Cache]:
    """Prompt rows inside the sets that lower row . x of the last tail token, by gradient through the whole tail."""
    opened = open_cache(full, Scheme((bits, 16), 8))
    base, sets = [opened.cache(i) for i in range(2)], [opened.sets(i) for i in range(2)]
    errors = [(torch.zeros_like(c.keys), torch.zeros_like(c.values)) for c in base]
    for _ in range(steps):
        leaves = [(k.clone().requires_grad_(), v.clone().requires_grad_()) for k, v in errors]
        caches = [Cache(c.keys + k, c.values + v) for c, (k, v) in zip(base, leaves, strict=True)]
        for at, token in enumerate(ids[PROMPT:]):
            trace = advance(model, token, PROMPT + at, caches)
            caches = [c.extended(t.keys[:, -1:], t.values[:, -1:]) for c, t in zip(caches, trace.layers, strict=True)]
        (row @ trace.final).backward()
        errors = []
        for (k, v), known in zip(leaves, sets, strict=True):
            best = [
                -n[..., None] * g.grad / g.grad.norm(dim=-1, keepdim=True).clamp_min(1e-300)
                for g, n in ((k, known.key_norm), (v, known.value_norm))
            ]
            errors.append(push_inside(best[0], best[1], known))
    return [Cache(c.keys + k, c.values + v) for c, (k, v) in zip(base, errors, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_attacks_through_the_whole_tail_leave_no_ellipsoid_and_no_radius(seed: int) -> None:
    model, ids, full, tail, traces, radii, _ = tail_run(seed, 9, 5)
    winner = traces[-1].token
    for rival in traces[-1].scores.argsort(descending=True)[1:3].tolist():
        for sign in (1, -1):
            row = (model.head[winner] - model.head[rival]) * sign
            caches = attacked_prompt(model, ids, full, 9, row, 3)
            assert violations(tail, traces, rerun(model, caches, ids[PROMPT:]), radii) == []


def test_joint_radii_stay_below_independent_radii_deep_in_the_tail() -> None:
    model, ids = tiny_model(2, 1), tiny_ids(PROMPT + 12, 1)
    full = FullCache.of_prompt(model, ids[:PROMPT])
    joint_cache, radius_cache = (open_cache(full, Scheme((11, 16), 8)) for _ in range(2))
    joint, radius = JointTail(model), RadiusTail(Decider(model))
    for token in ids[PROMPT:]:
        decision, _ = joint.step(joint_cache, token)
        independent = radius.certify(radius_cache, token)
        if independent is None:
            break
    assert independent is None or bool((decision.enclosure.radii <= independent.enclosure.radii * 1.3).all())


def test_a_diverged_tail_certifies_nothing_more() -> None:
    model, ids = tiny_model(2, 0), tiny_ids(PROMPT + 3, 0)
    opened = open_cache(FullCache.of_prompt(model, ids[:PROMPT]), Scheme((1, 16), 8))
    tail = JointTail(model)
    assert [tail.step(opened, token)[1] for token in ids[PROMPT:]] == [False] * 3
    assert tail.broken
    assert opened.uncertain == 0


def test_a_full_tail_certifies_nothing_more() -> None:
    model, ids = tiny_model(2, 0), tiny_ids(PROMPT + 3, 0)
    opened = open_cache(FullCache.of_prompt(model, ids[:PROMPT]), Scheme((14, 16), 8))
    tail = JointTail(model, capacity=2)
    found = [tail.step(opened, token) for token in ids[PROMPT:]]
    assert not found[2][1]
    assert "full" in found[2][0].enclosure.reason


def test_reading_generated_rows_back_as_exact_gives_a_false_certificate() -> None:
    """The trap: rows computed from 1-bit pages count as exact once the pages are opened, and the proof lies.

    The policies of this package give such a row a radius, or recompute it by a full-cache pass.
    """
    config = tiny_config(2)
    model, ids = build_model(config, tiny_tensors(config, 13, 1.6), "tiny"), tiny_ids(34, 13)
    full = FullCache.of_prompt(model, ids[:16])
    opened = open_cache(full, Scheme((1, 16), 8))
    for token in ids[16:-1]:
        trace, _, _ = plain_step(model, opened, token)
        opened.append_uncertain(row_of(trace), torch.zeros(2, 2, 2, dtype=torch.float64))
        full.step(token)
    opened.refine(torch.full_like(opened.levels, 16))
    trace, sets, _ = plain_step(model, opened, ids[-1])
    found, true = enclose(model, trace, sets), full.step(ids[-1])
    assert found.certified
    assert found.winner != true.token
