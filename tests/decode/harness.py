"""Steps of small models with attacks inside the sidecars' sets, and what an enclosure must contain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from proofkv_verify.decode.adjoint import LayerBound, pull_back, screen
from proofkv_verify.decode.attack import attack_gap, random_vertex, run_attacked
from proofkv_verify.decode.enclosure import layer_bounds
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import open_cache, plain_step
from proofkv_verify.decode.model import Cache, Model, Trace
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.shapes import split
from tests.decode.tiny import tiny_ids, tiny_model


@dataclass(frozen=True)
class Step:
    model: Model
    token: int
    opened: Opened
    caches: list[Cache]
    sets: list[Sets]
    nominal: Trace
    true: Trace


def make_step(model: Model, ids: list[int], scheme: Scheme) -> Step:
    full = FullCache.of_prompt(model, ids[:-1])
    opened = open_cache(full, scheme)
    nominal, sets, _ = plain_step(model, opened, ids[-1])
    caches = [opened.cache(i) for i in range(len(model.layers))]
    return Step(model, ids[-1], opened, caches, sets, nominal, full.step(ids[-1]))


def tiny_step(
    seed: int, bits: int = 8, layers: int = 2, tokens: int = 38, page_size: int = 8, group_size: int = 2
) -> Step:
    return make_step(tiny_model(layers, seed, group_size), tiny_ids(tokens, seed), Scheme((bits,), page_size))


def only(sets: list[Sets], kind: str) -> list[Sets]:
    """The sets of one sidecar alone, `norm`, `box` or `sigma`: the other two say no more than that one implies."""
    return [replace(known, **_implied(known, "key", kind), **_implied(known, "value", kind)) for known in sets]


def _implied(known: Sets, side: str, kind: str) -> dict[str, torch.Tensor]:
    norm, box, sigma = (getattr(known, f"{side}_{name}") for name in ("norm", "box", "sigma"))
    inside, width = sigma.shape[-1] * known.page_size, known.key_box.shape[-1]
    if kind == "box":
        norm = box.norm(dim=-1) if side == "key" else box * width**0.5
    if kind == "sigma":
        norm = torch.cat([sigma.repeat_interleave(known.page_size, -1), norm[:, inside:]], -1)
    if kind != "box":
        box = norm[..., None].expand(*norm.shape, width) if side == "key" else norm
    if kind != "sigma":
        sigma = split(norm[:, :inside], 1, (sigma.shape[-1], known.page_size)).norm(dim=-1)
    return {f"{side}_norm": norm, f"{side}_box": box, f"{side}_sigma": sigma}


def attacks(step: Step, sets: list[Sets], rivals: list[int], steps: int = 6, random: int = 2) -> Iterator[Trace]:
    """Traces on caches inside the sets: gradient attacks on each rival's gap, both signs, and random vertices."""
    winner = step.nominal.token
    for rival in rivals:
        for sign in (1, -1):
            row = (step.model.head[winner] - step.model.head[rival]) * sign
            yield attack_gap(step.model, step.token, step.caches, sets, row, steps).trace
    for seed in range(random):
        yield run_attacked(step.model, step.token, step.caches, random_vertex(step.caches, sets, seed))


def rivals(step: Step, count: int = 2) -> list[int]:
    order = step.nominal.scores.argsort(descending=True).tolist()
    return order[1 : 1 + count]


def depth(p: torch.Tensor, delta: torch.Tensor) -> float:
    """delta' P^-1 delta: at most 1 inside the ellipsoid."""
    return float(delta @ torch.linalg.solve(p, delta))


def violations(step: Step, bounds: list[LayerBound], trace: Trace) -> list[str]:
    """Every half layer's ellipsoid and every score gap that the trace leaves."""
    found = []
    after = [tr.x for tr in trace.layers[1:]] + [trace.final]
    nominal = [tr.x for tr in step.nominal.layers[1:]] + [step.nominal.final]
    for at, bound in enumerate(bounds):
        mid = trace.layers[at].mid - step.nominal.layers[at].mid
        if not depth(bound.attention.out, mid) <= 1:
            found.append(f"attention of layer {at}: {depth(bound.attention.out, mid)}")
        out = after[at] - nominal[at]
        if not depth(bound.out, out) <= 1:
            found.append(f"MLP of layer {at}: {depth(bound.out, out)}")
    if len(bounds) == len(step.model.layers):
        rows = step.model.head[step.nominal.token] - step.model.head
        moved = (rows @ (trace.final - step.nominal.final)).abs()
        for name, radii in (("radius", pull_back(bounds, rows)), ("screened radius", screen(bounds[-1], rows))):
            if not bool((moved <= radii).all()):
                found.append(f"{name}: moved {float(moved.max())}")
    return found


def search_violation(step: Step, sets: list[Sets] | None = None, steps: int = 6) -> list[str]:
    """What the attacks and the true cache break of the ellipsoid method's bounds on this step."""
    known = sets or step.sets
    bounds, _ = layer_bounds(step.model, step.nominal, known)
    traces = [step.true, *attacks(step, known, rivals(step), steps)]
    return [text for trace in traces for text in violations(step, bounds, trace)]
