"""Planted mistakes in the joint tail: each is noticed by a check that the right code passes.

Attacks on prompt rows do not notice them: the paths through the tail are real and small. So the graph is compared with
automatic differentiation, remainders are planted where one must be carried on, and rows are exact but for one source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as nnf

from proofkv_verify.decode import tail_graph
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import Decision, open_cache
from proofkv_verify.decode.model import Cache, Model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.tail_graph import Pulled, TailGraph
from tests.decode.test_joint import PROMPT, Watched, rerun, violations
from tests.decode.tiny import tiny_ids, tiny_model

F64 = torch.float64
COUNT = 3


def start(bits: int, seed: int = 1, count: int = COUNT) -> tuple[Model, list[int], FullCache, Opened]:
    model, ids = tiny_model(2, seed), tiny_ids(PROMPT + count, seed)
    full = FullCache.of_prompt(model, ids[:PROMPT])
    return model, ids, full, open_cache(full, Scheme((bits, 16) if bits < 16 else (16,), 8))


def forward(model: Model, tail: list[int], caches: list[Cache], bumps: dict[tuple[int, int, str], Tensor]) -> Tensor:
    """The last residual of the last tail token, written again, with a vector added at every place of the graph."""
    eps, size = float(model.config.rms_norm_eps), model.config.head_dim
    for t, token in enumerate(tail):
        x, position = model.embedding[token], PROMPT + t
        angle = model.frequencies * position
        turned = torch.zeros(size, size, dtype=F64)
        for j in range(size // 2):
            c, s = angle[j].cos(), angle[j].sin()
            turned[j, j] = turned[j + size // 2, j + size // 2] = c
            turned[j, j + size // 2], turned[j + size // 2, j] = -s, s
        for at, layer in enumerate(model.layers):
            h = x / (x.square().mean() + eps).sqrt() + bumps[t, at, "normal"]
            q, k = (torch.einsum("ij,gjd,d->gi", turned, w, h) for w in (layer.wq, layer.wk))
            caches[at] = caches[at].extended(k[:, None], (layer.wv @ h)[:, None])
            heads = []
            for i in range(len(q)):
                g = i // (len(q) // len(k))
                p = (caches[at].keys[g] @ q[i] * size**-0.5).softmax(-1)
                heads.append(layer.wo[i] @ (p @ caches[at].values[g]))
            mid = x + sum(heads) + bumps[t, at, "mid"]
            h2 = mid / (mid.square().mean() + eps).sqrt()
            x = mid + layer.w2 @ (nnf.silu(layer.w1 @ h2) * (layer.w3 @ h2)) + bumps[t, at, "end"]
    return x


def graph_faults(method: str = "", wrong: Callable[..., Any] | None = None) -> list[str]:
    """Where the graph's pull of one direction differs from automatic differentiation through the whole tail."""
    model, ids, _, opened = start(8)
    with pytest.MonkeyPatch.context() as patch:
        if wrong is not None:
            patch.setattr(TailGraph, method, wrong)
        tail = JointTail(model)
        base = [opened.cache(i) for i in range(2)]
        for token in ids[PROMPT:]:
            tail.step(opened, token)
        assert tail.graph is not None
        row = torch.randn(model.config.hidden_size, generator=torch.Generator().manual_seed(2), dtype=F64)
        pulled = list(tail.graph.pull(row[None], 1, from_mid=False))
    places = [(t, at, kind) for t in range(COUNT) for at in range(2) for kind in ("normal", "mid", "end")]
    bumps = {place: torch.zeros(len(row), dtype=F64, requires_grad=True) for place in places}
    caches = [Cache(c.keys.clone().requires_grad_(), c.values.clone().requires_grad_()) for c in base]
    (row @ forward(model, ids[PROMPT:], list(caches), bumps)).backward()
    return [text for part in pulled for text in _differences(part, caches[part.layer], bumps)]


def _differences(part: Pulled, cache: Cache, bumps: dict[tuple[int, int, str], Tensor]) -> Iterator[str]:
    found = {"normal": part.normal[:, 0]}
    for kind, value in (("mid", part.mid), ("end", part.end)):
        assert value is not None
        found[kind] = torch.cat([torch.zeros(part.first, value.shape[-1], dtype=F64), value[:, 0]])
    for kind, rows in found.items():
        exact = torch.stack([_grad(bumps[t, part.layer, kind]) for t in range(COUNT)])
        if not bool((rows - exact).abs().max() < 1e-12):
            yield f"{kind} of layer {part.layer}"
    keys, values = _grad(cache.keys), _grad(cache.values)
    if not bool((part.values[:, :PROMPT, 0] - values).abs().max() < 1e-12):
        yield f"values of layer {part.layer}"
    if not bool((part.keys[:, :PROMPT, 0].norm(dim=-1) - keys.norm(dim=-1)).abs().max() < 1e-12):
        yield f"keys of layer {part.layer}"


def _grad(x: Tensor) -> Tensor:
    return torch.zeros_like(x) if x.grad is None else x.grad


def test_the_pull_through_the_tail_is_automatic_differentiation() -> None:
    assert graph_faults() == []


def no_path_through_tail_rows(graph: TailGraph, layer: int, first: int, end: Tensor | None, mid: Tensor) -> Pulled:
    right = RIGHT_ATTENTION(graph, layer, first, end, mid)
    normal = torch.zeros_like(right.normal)
    normal[first:] = mid @ graph.attention_out[layer, first : graph.tokens]
    return replace(right, normal=normal)


def one_rotation_for_all(graph: TailGraph, layer: int, maps: Any) -> None:
    RIGHT_PUT(graph, layer, maps)
    graph.wk[layer, : graph.tokens] = maps.trace.wk


def divided_by_the_group(graph: TailGraph, layer: int, first: int, end: Tensor | None, mid: Tensor) -> Pulled:
    right = RIGHT_ATTENTION(graph, layer, first, end, mid)
    return replace(right, keys=right.keys / graph.model.config.group_size, heads=right.heads / 2)


def residual_left_out(graph: TailGraph, rows: Tensor, layer: int, *, from_mid: bool) -> Iterator[Pulled]:
    kept = graph.norm
    for part in RIGHT_PULL(graph, rows, layer, from_mid=from_mid):
        yield part
        part.mid.mul_(0)
    graph.norm = kept


RIGHT_ATTENTION, RIGHT_PUT, RIGHT_PULL = TailGraph._attention, TailGraph.put_attention, TailGraph.pull
GRAPH_MUTANTS = {
    "tail rows do not move": ("_attention", no_path_through_tail_rows),
    "one RoPE rotation for all tokens": ("put_attention", one_rotation_for_all),
    "heads of a group are averaged": ("_attention", divided_by_the_group),
    "the residual path is left out": ("pull", residual_left_out),
}


@pytest.mark.parametrize("name", sorted(GRAPH_MUTANTS))
def test_a_mistake_in_the_graph_is_noticed(name: str) -> None:
    assert graph_faults(*GRAPH_MUTANTS[name])


def remainder_lost(kind: str, tail_class: type[JointTail] = JointTail) -> bool:
    """A large remainder planted at the first tail token does not reach the last one's sets."""
    model, ids, _, opened = start(11)
    tail = tail_class(model)
    for token in ids[PROMPT:-1]:
        tail.step(opened, token)
    half = tail.halves[0][0]
    eye = torch.eye(model.config.hidden_size, dtype=F64) * 1e-4
    assert half.mlp_rest is not None
    planted = {
        "nu": lambda: replace(half, norm_rest=eye),
        "attention": lambda: replace(half, attention=replace(half.attention, out=eye)),
        "mlp": lambda: replace(half, mlp_rest=eye),
    }[kind]()
    graph = tail.graph
    assert graph is not None
    tail.step(opened, ids[-1])
    _, before = tail._marginals(graph, 1)
    tail.halves[0][0] = planted
    _, after = tail._marginals(graph, 1)
    return not bool(after.trace() > before.trace() * 10)


class NuForgotten(JointTail):
    """The remainder of an earlier token's RMSNorm does not reach its keys and values."""

    def _sources(self, pulled: Pulled) -> list[tuple[Tensor, Tensor]]:
        (normal, rest), *others = super()._sources(pulled)
        own = normal.clone()
        own[:-1] = 0
        return [(own, rest), *others]


class EarlierHalvesForgotten(JointTail):
    """Only the newest token's attention and MLP remainders count."""

    def _sources(self, pulled: Pulled) -> list[tuple[Tensor, Tensor]]:
        nu, *others = super()._sources(pulled)
        return [nu, *((rows[-1:], parts[-1:]) for rows, parts in others)]


@pytest.mark.parametrize("kind", ["nu", "attention", "mlp"])
def test_a_remainder_of_an_earlier_token_reaches_the_newest(kind: str) -> None:
    assert not remainder_lost(kind)


def test_forgetting_the_remainder_of_an_earlier_norm_is_noticed() -> None:
    assert remainder_lost("nu", NuForgotten)


@pytest.mark.parametrize("kind", ["attention", "mlp"])
def test_forgetting_the_remainders_of_earlier_halves_is_noticed(kind: str) -> None:
    assert remainder_lost(kind, EarlierHalvesForgotten)


class RoundingForgotten(Watched):
    """Storing a tail row in float16 is no error."""

    def _radii(self, graph: TailGraph, layer: int) -> tuple[Tensor, Tensor]:
        keys, values = (x.clone() for x in super()._radii(graph, layer))
        keys[:, graph.base :], values[:, graph.base :] = 0, 0
        return keys, values


def exact_pages_violated(tail_class: type[Watched]) -> bool:
    """With every page read in full, the tail still differs from the full cache's by the rounding of its rows."""
    model, ids, full, opened = start(16, count=5)
    tail, traces, radii = tail_class(model), [], []
    for token in ids[PROMPT:]:
        decision, _ = tail.step(opened, token)
        traces.append(decision.trace)
        radii.append(decision.enclosure.radii)
    return violations(tail, traces, rerun(model, full.caches, ids[PROMPT:]), radii) != []


def test_storing_a_tail_row_is_an_error_of_its_own() -> None:
    assert not exact_pages_violated(Watched)
    assert exact_pages_violated(RoundingForgotten)


def certifies_after_divergence(tail_class: type[JointTail]) -> bool:
    """Some token is certified after one whose bounds diverged, before any full-cache pass."""
    model, ids, _, opened = start(1)
    tail = tail_class(model)
    found = [tail.step(opened, token) for token in ids[PROMPT:]]
    assert found[0][0].enclosure.reason
    return any(certified for _, certified in found)


class Clamped(JointTail):
    """A bound that is not finite counts as none."""

    def step(self, opened: Opened, token: int) -> tuple[Decision, bool]:
        decision, _ = super().step(opened, token)
        radii = decision.enclosure.radii.nan_to_num(0.0, 0.0)
        others = torch.arange(len(radii)) != decision.token
        return decision, bool((decision.enclosure.gaps > radii)[others].all())


class Unpoisoned(JointTail):
    """A diverged token's row counts as exact and the next token starts anew."""

    def step(self, opened: Opened, token: int) -> tuple[Decision, bool]:
        found = super().step(opened, token)
        if self.broken:
            self.graph, self.halves, self.broken = None, [], False
            opened.refine(torch.full_like(opened.levels, 16))
        return found


@pytest.mark.parametrize("wrong", [Clamped, Unpoisoned])
def test_a_diverged_token_poisons_the_tail(wrong: type[JointTail]) -> None:
    assert not certifies_after_divergence(JointTail)
    assert certifies_after_divergence(wrong)


def test_the_basis_of_a_groups_queries_keeps_lengths() -> None:
    generator = torch.Generator().manual_seed(4)
    for heads in (2, 7):
        q, m = (torch.randn(3, n, k, generator=generator, dtype=F64) for n, k in ((heads, 4), (5, heads)))
        assert ((m @ tail_graph._short_basis(q)).norm(dim=-1) - (m @ q).norm(dim=-1)).abs().max() < 1e-13
