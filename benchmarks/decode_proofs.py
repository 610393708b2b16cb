"""The sections of `decode.py` that attack a step's sets or compare a plan with its optimum."""

from __future__ import annotations

import statistics
from dataclasses import replace

import torch

from benchmarks.decode_report import Report, opened_step
from proofkv_verify.decode.adjoint import LayerBound, pull_back
from proofkv_verify.decode.attack import attack_gap, random_vertex, run_attacked
from proofkv_verify.decode.enclosure import enclose, layer_bounds
from proofkv_verify.decode.exact_plan import PlanProblem, minimum_plan
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.page_plan import first_layer_charges, page_problems, plan_gap
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.planner import needs, plan
from proofkv_verify.decode.windows import WindowStep, window_steps


def tightness(report: Report, models: dict[int, Model], steps: int) -> None:
    """The best of 12 Frank-Wolfe steps inside a set over the radius for the same set, hardest rival. With all sidecars
    each step goes to a point of the intersection that a short ascent finds, which need not be the best one.
    """
    rows = [["model", "width", "set", "best attack / radius: median", "10 %", "90 %", "steps with a bound"]]
    for layers, model in models.items():
        for bits in (8, 10):
            for kind in ("token norms", "all sidecars"):
                found = [_tight(report, model, step, bits, kind) for step in window_steps(model, steps)]
                ratios = sorted(r for r in found if r is not None)
                if ratios:
                    low, high = ratios[len(ratios) // 10], ratios[(9 * len(ratios)) // 10]
                    cells = [f"{x:.2f}" for x in (statistics.median(ratios), low, high)]
                    rows.append([f"{layers} layers", f"int{bits}", kind, *cells, f"{len(ratios)} of {steps}"])
                    report.add(rows)


def _tight(report: Report, model: Model, step: WindowStep, bits: int, kind: str) -> float | None:
    opened, trace, sets = opened_step(model, step, Scheme((bits, 16)))
    if kind == "token norms":
        sets = [_norms_only(s) for s in sets]
    found = enclose(model, trace, sets)
    bounds, reason = layer_bounds(model, trace, sets)
    if reason:
        return None
    row = model.head[found.winner] - model.head[found.hardest]
    radius = float(pull_back(bounds, row[None])[0])
    caches = [opened.cache(i) for i in range(len(model.layers))]
    attack = attack_gap(model, step.token, caches, sets, row)
    moved = float(row @ trace.final) - attack.gap
    flipped = found.certified and attack.trace.token != found.winner
    report.attacked(1, int(_outside(bounds, attack.trace) or flipped or moved > radius))
    return moved / radius


def _norms_only(s: Sets) -> Sets:
    key_box = s.key_norm[..., None].expand_as(s.key_box)
    wide = {"key_sigma": s.key_sigma * 1e3, "value_sigma": s.value_sigma * 1e3}
    return replace(s, key_box=key_box, value_box=s.value_norm, **wide)


def soundness(report: Report, models: dict[int, Model], steps: int) -> None:
    """No certified step may be false, and neither the true state nor a random vertex of the sets may leave the
    ellipsoid of any half layer; twelve positions from 256 to 388 in turn.
    """
    rows = [["model", "width", "steps", "certified", "false", "states tried in the sets", "outside an ellipsoid"]]
    for layers, model in models.items():
        for bits in (8, 10, 12, 15):
            sure = false = tried = outside = 0
            for step in window_steps(model, steps, tuple(range(256, 392, 12))):
                opened, trace, sets = opened_step(model, step, Scheme((bits, 16)))
                found = enclose(model, trace, sets)
                bounds, _ = layer_bounds(model, trace, sets)
                caches = [opened.cache(i) for i in range(layers)]
                states = [step.trace, run_attacked(model, step.token, caches, random_vertex(caches, sets, step.token))]
                report.count(found.certified, found.winner, step.trace.token)
                left = sum(_outside(bounds, s) or (found.certified and s.token != found.winner) for s in states)
                report.attacked(len(states), left)
                sure, tried, outside = sure + found.certified, tried + len(states), outside + left
                false += found.certified and step.trace.token != found.winner
            rows.append([f"{layers} layers", f"int{bits}", *map(str, (steps, sure, int(false), tried, outside))])
            report.add(rows)


def _outside(bounds: list[LayerBound], state: Trace) -> bool:
    moved = [(b.attention.out, a.mid - b.maps.trace.mid) for a, b in zip(state.layers, bounds, strict=False)]
    return any(not float(delta @ torch.linalg.solve(p, delta)) <= 1 for p, delta in moved)


def planning(report: Report, models: dict[int, Model], steps: int) -> None:
    """Greedy plans against exact minima. "first order": raise the 10 units with the largest scores (4:6:8:10:12:16)
    until a quarter of their first-order part is left in every rival's radius. "page-additive": per KV head of the first
    layer, open the fewest pages (4 bits to 16) so that half, a quarter or a tenth of the page charges is left. Bits are
    sums of levels over units above the base.
    """
    rows = [
        ["problem", "instances", "solved in 10 s", "greedy bits", "minimal bits", "greedy is minimal in", "worst gap"]
    ]
    model = models[4]
    pairs: dict[str, list[tuple[int, int]]] = {"first order": [], "page-additive": []}
    instances = dict.fromkeys(pairs, 0)
    for step in window_steps(model, steps):
        for name, found in (("first order", _first_order(model, step)), ("page-additive", _page_additive(model, step))):
            instances[name] += len(found)
            pairs[name] += [pair for pair in found if pair is not None]
    for name, solved in pairs.items():
        if not solved:
            rows.append([name, str(instances[name]), "0", *["-"] * 4])
            continue
        greedy, best = (sum(column) for column in zip(*solved, strict=True))
        worst = max((g - b) / max(b, 1) for g, b in solved)
        equal = sum(g == b for g, b in solved)
        rows.append([
            name, str(instances[name]), str(len(solved)), str(greedy), str(best), f"{equal} of {len(solved)}",
            f"{worst:.0%}",
        ])  # fmt: skip
    report.add(rows)


def _first_order(model: Model, step: WindowStep) -> list[tuple[int, int] | None]:
    ladder = (4, 6, 8, 10, 12, 16)
    _, trace, sets = opened_step(model, step, Scheme(ladder))
    found = needs(model, trace, sets)
    top = found.scores.flatten().argsort(descending=True)[:10]
    parts = found.units.flatten(1)[:, top]
    parts = (parts / parts.sum(1, keepdim=True) * 1000).ceil()  # z3 takes minutes with floats as exact rationals
    allowed = parts.sum(1) * 0.25
    problem = PlanProblem(tuple(map(tuple, parts.tolist())), tuple(allowed.tolist()), (4,) * 10, ladder)
    best = minimum_plan(problem, 10.0)
    return [None if best is None else (sum(_greedy(problem, (parts / allowed[:, None]).amax(0))) - 40, sum(best) - 40)]


def _greedy(problem: PlanProblem, scores: torch.Tensor) -> list[int]:
    """The threshold plan with the largest target that meets every rival's allowance."""
    for at in range(400):
        chosen = plan(scores, torch.tensor(problem.levels), problem.ladder, float(scores.sum()) * 0.97**at).tolist()
        if problem.feasible(chosen):
            return chosen
    return [16] * len(problem.levels)


def _page_additive(model: Model, step: WindowStep) -> list[tuple[int, int] | None]:
    _, trace, sets = opened_step(model, step, Scheme((4, 16)))
    charges = first_layer_charges(model, trace, sets[0])
    found: list[tuple[int, int] | None] = []
    for share in (0.5, 0.25, 0.1):
        for problem in page_problems(charges, model.config.group_size, 4, share):
            gap = plan_gap(problem, 10.0)
            found.append(None if gap is None else (gap.greedy, gap.minimum))
    return found
