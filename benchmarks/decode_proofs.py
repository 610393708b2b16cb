"""The sections of `decode.py` that attack, follow a tail, or compare a plan with its optimum."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import torch

from benchmarks.decode_report import Report, opened_step
from proofkv_verify.decode.adjoint import LayerBound, pull_back
from proofkv_verify.decode.attack import attack_gap, random_vertex, run_attacked
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.enclosure import enclose, layer_bounds
from proofkv_verify.decode.exact_plan import PlanProblem, minimum_plan
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import open_cache
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.planner import needs, plan
from proofkv_verify.decode.windows import WindowStep, window, window_steps


def tightness(report: Report, models: dict[int, Model], steps: int) -> None:
    """The best attack inside a set over the radius for the same set, hardest rival, 12 Frank-Wolfe steps."""
    rows = [["model", "width", "set", "best attack / radius: median", "10 %", "90 %", "steps with a bound"]]
    for layers, model in models.items():
        for bits in (8, 10):
            for kind in ("norm", "all"):
                ratios = [
                    r
                    for step in window_steps(model, steps)
                    if (r := _tight(report, model, step, bits, kind)) is not None
                ]
                if not ratios:
                    continue
                low, high = sorted(ratios)[len(ratios) // 10], sorted(ratios)[(9 * len(ratios)) // 10]
                name = {"norm": "token norms", "all": "all sidecars"}[kind]
                rows.append(
                    [
                        f"{layers} layers",
                        f"int{bits}",
                        name,
                        f"{statistics.median(ratios):.2f}",
                        f"{low:.2f}",
                        f"{high:.2f}",
                        f"{len(ratios)} of {steps}",
                    ]
                )
                report.add(f"Tightness, {steps} steps", rows)


def _tight(report: Report, model: Model, step: WindowStep, bits: int, kind: str) -> float | None:
    opened, trace, sets = opened_step(model, step, Scheme((bits, 16)))
    if kind == "norm":
        sets = [
            replace(
                s,
                key_box=s.key_norm[..., None].expand_as(s.key_box),
                value_box=s.value_norm,
                key_sigma=s.key_sigma * 1e3,
                value_sigma=s.value_sigma * 1e3,
            )
            for s in sets
        ]
    found = enclose(model, trace, sets)
    bounds, reason = layer_bounds(model, trace, sets)
    if reason:
        return None
    row = model.head[found.winner] - model.head[found.hardest]
    radius = float(pull_back(bounds, row[None])[0])
    caches = [opened.cache(i) for i in range(len(model.layers))]
    attack = attack_gap(model, step.token, caches, sets, row)
    moved = float(row @ trace.final) - attack.gap
    report.attacks += 1
    flipped = found.certified and attack.trace.token != found.winner
    report.broken += _outside(bounds, attack.trace) or flipped or moved > radius
    return moved / radius


def tails(report: Report, models: dict[int, Model], steps: int) -> None:
    """The joint tail over 32 teacher-forced tokens, without and with full-cache passes."""
    settings = [(4, 10, 32), (4, 9, 32), (4, 8, 32), (4, 8, 8), (4, 8, 4), (2, 8, 32), (2, 10, 32)]
    rows = [
        ["model", "width", "full-cache pass every", "certified", "per sequence", "first failure", "seconds a token"]
    ]
    count = max(1, steps // 12)
    for layers, bits, every in settings:
        if layers not in models:
            continue
        runs = [_tail(report, models[layers], index, bits, every) for index in range(count)]
        flat = [ok for run, _ in runs for ok in run]
        first = [next((i for i, ok in enumerate(run) if not ok), len(run)) for run, _ in runs]
        seconds = statistics.fmean(s for _, s in runs)
        rows.append([
            f"{layers} layers", f"int{bits}", "-" if every == 32 else str(every), f"{sum(flat) / len(flat):.2f}",
            " ".join(f"{sum(run) / len(run):.2f}" for run, _ in runs), " ".join(map(str, first)), f"{seconds:.2f}",
        ])  # fmt: skip
        report.add(f"Joint tail, 256 + 32 tokens, {count} sequences", rows)


def _tail(report: Report, model: Model, index: int, bits: int, every: int) -> tuple[list[bool], float]:
    """Steps certified over the greedy tokens of the full cache, which are fed whatever the certificates say."""
    ids = window(index)[:257]
    full = FullCache.of_prompt(model, ids[:256])
    opened, token, found, spent = open_cache(full, Scheme((bits, 16))), ids[256], [], 0.0
    for start in range(0, 32, every):
        tail = JointTail(model, every)
        for _ in range(start, min(start + every, 32)):
            began = time.process_time()
            decision, certified = tail.step(opened, token)
            spent += time.process_time() - began
            trace = full.step(token)
            found.append(certified)
            report.count(certified, decision.token, trace.token)
            token = trace.token
        opened.drop_uncertain()
        for _ in range(start, min(start + every, 32)):
            _append_exact(opened, full)
    return found, spent / 32


def _append_exact(opened: Opened, full: FullCache) -> None:
    at = opened.num_tokens
    keys = torch.stack([c.keys[:, at] for c in full.caches])
    opened.append(torch.stack([keys, torch.stack([c.values[:, at] for c in full.caches])]))


def policies(report: Report, models: dict[int, Model], steps: int) -> None:
    """Tokens per full-cache pass when passes come on failure only, and the honest competitor."""
    rows = [
        [
            "model",
            "policy",
            "ladder",
            "tokens",
            "certified",
            "passes on failure",
            "tokens per pass",
            "bytes to decide / full",
            "all bytes / full",
        ]
    ]
    for policy, levels in (
        ("joint", (10, 16)),
        ("joint", (9, 16)),
        ("joint:8", (8, 16)),
        ("radius", (10, 16)),
        ("exact:16", (4, 16)),
    ):
        model = models[4]
        runs = [
            CertifiedDecoder(model, Scheme(levels), policy).generate(window(i)[:256], 32)
            for i in range(max(1, steps // 24))
        ]
        total = [r.summary for r in runs]
        tokens, passes = sum(s.steps for s in total), sum(r.anchor_bits > 0 for run in runs for r in run.records)
        read, anchors, whole = (sum(getattr(s, k) for s in total) for k in ("bytes_read", "anchor_bytes", "full_bytes"))
        proved = sum(s.certified + s.refined for s in total) / tokens
        rows.append([
            "4 layers", policy, ":".join(map(str, levels)), str(tokens), f"{proved:.2f}",
            str(sum(s.anchored for s in total)),
            f"{tokens / passes:.1f}" if passes else "no pass", f"{read / whole:.2f}", f"{(read + anchors) / whole:.2f}",
        ])  # fmt: skip
        report.add("Tail policies, 32 tokens from 256", rows)


def soundness(report: Report, models: dict[int, Model], steps: int) -> None:
    """Many (step, width) pairs: no certified step may be false, no true or random state may leave an ellipsoid."""
    rows = [["model", "width", "steps", "certified", "false", "states tried in the sets", "outside an ellipsoid"]]
    positions = tuple(range(256, 392, 12))
    for layers, model in models.items():
        for bits in (8, 10, 12, 15):
            sure = false = tried = outside = 0
            for step in window_steps(model, steps * len(positions) // 4, positions):
                opened, trace, sets = opened_step(model, step, Scheme((bits, 16)))
                found = enclose(model, trace, sets)
                bounds, _ = layer_bounds(model, trace, sets)
                caches = [opened.cache(i) for i in range(layers)]
                states = [step.trace, run_attacked(model, step.token, caches, random_vertex(caches, sets, step.token))]
                sure += found.certified
                false += found.certified and any(state.token != found.winner for state in states)
                tried += len(states)
                outside += sum(_outside(bounds, state) for state in states)
            report.certified, report.false = report.certified + sure, report.false + false
            report.attacks, report.broken = report.attacks + tried, report.broken + outside
            count = steps * len(positions) // 4
            rows.append([f"{layers} layers", f"int{bits}", str(count), str(sure), str(false), str(tried), str(outside)])
            report.add("Soundness, exact tail", rows)


def _outside(bounds: list[LayerBound], state: Trace) -> bool:
    moved = [(b.attention.out, a.mid - b.maps.trace.mid) for a, b in zip(state.layers, bounds, strict=False)]
    return any(not float(delta @ torch.linalg.solve(p, delta)) <= 1 for p, delta in moved)


def planning(report: Report, models: dict[int, Model], steps: int) -> None:
    """The greedy plan against the exact minimum of the additive problem on the 10 units with the largest scores."""
    rows = [["model", "step", "greedy bits over 10 units", "minimum", "gap"]]
    model, ladder = models[4], (4, 6, 8, 10, 12, 16)
    for step in window_steps(model, steps):
        _, trace, sets = opened_step(model, step, Scheme(ladder))
        found = needs(model, trace, sets)
        top = found.scores.flatten().argsort(descending=True)[:10]
        parts = found.units.flatten(1)[:, top]
        allowed = parts.sum(1) * 0.25
        problem = PlanProblem(tuple(map(tuple, parts.tolist())), tuple(allowed.tolist()), (4,) * 10, ladder)
        greedy = _greedy(problem, (parts / allowed[:, None]).amax(0))
        best = minimum_plan(problem, 20.0)
        shown = "not found in 20 s" if best is None else str(sum(best))
        gap = "-" if best is None else f"{(sum(greedy) - sum(best)) / sum(best):.1%}"
        rows.append(["4 layers", f"window {step.window}", str(sum(greedy)), shown, gap])
    report.add("Greedy plan against the integer program (a quarter of the first order may stay)", rows)


def _greedy(problem: PlanProblem, scores: torch.Tensor) -> list[int]:
    """The threshold plan with the largest target that meets every rival's allowance."""
    for at in range(400):
        chosen = plan(scores, torch.tensor(problem.levels), problem.ladder, float(scores.sum()) * 0.97**at).tolist()
        if problem.feasible(chosen):
            return chosen
    return [16] * len(problem.levels)
