"""Certified decoding on the shipped models: what is certified at which width, what refinement reads, how tight it is.

    python benchmarks/decode.py --out benchmarks/decode.md            # all sections, about 15 CPU minutes
    python benchmarks/decode.py --sections widths,time --steps 8      # some of them, fewer steps

Steps are teacher-forced on held-out text, four positions (256, 300, 340, 380) of each window, exact tail, page 16. They
are correlated: take +-7 points as the noise of a fraction over 48 steps. The table is written again after each section.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from proofkv_verify.decode.adjoint import pull_back
from proofkv_verify.decode.attack import attack_gap
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.enclosure import Enclosure, enclose, layer_bounds, rivals_by_gap
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import Decider, open_cache, plain_step
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.methods import METHODS
from proofkv_verify.decode.model import MODELS, Model, Trace, advance, load_model
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WindowStep, window, window_steps

LADDERS = ((8, 16), (6, 16), (4, 16), (4, 8, 16), (4, 6, 8, 10, 12, 16))
Row = list[str]


@dataclass
class Report:
    """Sections of the table; soundness counters over all of them."""

    path: Path | None
    sections: dict[str, list[Row]] = field(default_factory=dict)
    certified: int = 0
    false: int = 0
    attacks: int = 0
    broken: int = 0

    def add(self, title: str, rows: list[Row]) -> None:
        """Takes a section, or a longer version of it, and writes the whole table again."""
        self.sections[title] = rows
        if self.path is not None:
            parts = [line for name, found in self.sections.items() for line in _markdown(name, found)]
            counts = (
                f"False certificates: {self.false} of {self.certified} certified steps. "
                f"Attacks inside the sets: {self.attacks}, of which {self.broken} left a bound."
            )
            self.path.write_text("\n".join(["# Certified decoding: measured", "", counts, "", *parts]))

    def count(self, certified: bool, winner: int, true: int) -> None:
        """Counts a certified step and whether it was false."""
        self.certified += certified
        self.false += certified and winner != true


def _markdown(title: str, rows: list[Row]) -> list[str]:
    head, *body = rows
    table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
    return [f"## {title}", "", *table, ""]


def opened_step(model: Model, step: WindowStep, scheme: Scheme) -> tuple[Opened, Trace, list[Sets]]:
    """The prefix in pages, the nominal step and its sets."""
    opened = step.opened(scheme)
    trace, sets, _ = plain_step(model, opened, step.token)
    return opened, trace, sets


def widths(report: Report, models: dict[int, Model], steps: int) -> None:
    """Fraction of steps certified without a further read."""
    rows = [["model", *(f"int{b}" for b in (6, 7, 8, 9, 10, 12, 15)), "median radius at int8", "median margin"]]
    for layers, model in models.items():
        cells, radii, margins = [], [], []
        for bits in (6, 7, 8, 9, 10, 12, 15):
            sure = 0
            for step in window_steps(model, steps):
                _, trace, sets = opened_step(model, step, Scheme((bits, 16)))
                found = enclose(model, trace, sets)
                report.count(found.certified, found.winner, step.trace.token)
                sure += found.certified
                if bits == 8:
                    radii.append(float(found.radii[found.hardest]))
                    margins.append(float(found.gaps[rivals_by_gap(found.gaps, found.winner)[0]]))
            cells.append(f"{sure / steps:.2f}")
        rows.append(
            [f"{layers} layers", *cells, f"{statistics.median(radii):.3f}", f"{statistics.median(margins):.3f}"]
        )
        report.add(f"Certified without a further read, {steps} steps", rows)


def methods(report: Report, models: dict[int, Model], steps: int) -> None:
    """All methods on the same steps; the first-order radii are no proof and count as `gap > radius` only."""
    model = models[4]
    shown = (8, 10, 12, 15)
    rows = [["method", *(f"int{b}" for b in shown), "bits it needs for every step", "radius at int12, median", "proof"]]
    for name, method in METHODS.items():
        cells, radii = [], []
        for bits in shown:
            passed = 0
            for step in window_steps(model, steps):
                _, trace, sets = opened_step(model, step, Scheme((bits, 16)))
                found = method(model, trace, sets)
                report.count(found.certified, found.winner, step.trace.token)
                passed += _passes(found)
                if bits == 12:
                    radii.append(float(found.radii[found.hardest]))
            cells.append(f"{passed / steps:.2f}")
        needed = _needed(model, method, steps) if name in ("interval", "l2") else "-"
        proof = "no" if name == "first-order" else "yes"
        rows.append([name, *cells, needed, f"{statistics.median(radii):.3g}", proof])
        report.add(f"Methods, 4 layers, the same {steps} steps", rows)


def _passes(found: Enclosure) -> bool:
    others = torch.arange(len(found.gaps)) != found.winner
    return bool((found.gaps > found.radii)[others].all())


def _needed(model: Model, method: Callable[..., Enclosure], steps: int) -> str:
    """Least width at which the method certifies every step, with the radii of 15 bits halved for each further bit."""
    for bits in range(16, 61, 4):
        factor = 2.0 ** (15 - bits)
        if all(
            _passes(method(model, trace, [_scaled(s, factor) for s in sets])) for trace, sets in _at_15(model, steps)
        ):
            return f"<= {bits}"
    return "> 60"


def _at_15(model: Model, steps: int) -> Iterator[tuple[Trace, list[Sets]]]:
    for step in window_steps(model, min(steps, 4)):
        _, trace, sets = opened_step(model, step, Scheme((15, 16)))
        yield trace, sets


def _scaled(sets: Sets, factor: float) -> Sets:
    names = ("key_norm", "value_norm", "key_box", "value_box", "key_sigma", "value_sigma")
    return replace(sets, **{name: getattr(sets, name) * factor for name in names})


def ladders(report: Report, models: dict[int, Model], steps: int) -> None:
    """What is read until every step is certified or everything is open."""
    head = [
        "model",
        "ladder",
        "no read",
        "rounds",
        "units raised",
        "bits (level)",
        "90 %",
        "bits read",
        "with sidecars",
        "full",
    ]
    rows = [head]
    for layers, model in models.items():
        for levels in LADDERS:
            runs = [_ladder(report, model, step, Scheme(levels)) for step in window_steps(model, steps)]
            mean = [statistics.fmean(values) for values in zip(*runs, strict=True)]
            high = sorted(r[3] for r in runs)[int(0.9 * len(runs))]
            rows.append([
                f"{layers} layers", ":".join(map(str, levels)), f"{mean[0]:.2f}", f"{mean[1]:.1f}", f"{mean[2]:.1%}",
                f"{mean[3]:.2f}", f"{high:.2f}", f"{mean[4]:.2f}", f"{mean[5]:.2f}", f"{mean[6]:.2f}",
            ])  # fmt: skip
            report.add(f"Refinement until certified, {steps} steps", rows)


def _ladder(report: Report, model: Model, step: WindowStep, scheme: Scheme) -> tuple[float, ...]:
    opened = step.opened(scheme)
    decision = Decider(model).decide(opened, step.token)
    assert decision is not None
    report.count(decision.outcome != "full", decision.token, step.trace.token)
    size = opened.pages.rows.numel()
    return (
        float(decision.rounds == 0), float(decision.rounds), float((opened.levels > scheme.levels[0]).double().mean()),
        float(opened.levels.double().mean()), opened.payload_bits / size, (opened.payload_bits + opened.sidecar_bits)
        / size,
        float(decision.outcome == "full"),
    )  # fmt: skip


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
    outside = any(
        not float((a.mid - b.maps.trace.mid) @ torch.linalg.solve(b.attention.out, a.mid - b.maps.trace.mid)) <= 1
        for a, b in zip(attack.trace.layers, bounds, strict=True)
    )
    flipped = found.certified and attack.trace.token != found.winner
    report.broken += outside or flipped or moved > radius
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


def times(report: Report, models: dict[int, Model], steps: int) -> None:
    """CPU time of one thread: certificate over the plain float64 forward pass, by method, depth and context."""
    rows = [["model", "context", "plain ms", *(f"{name}" for name in METHODS), "Jacobians only"]]
    for layers, model in models.items():
        for context in (128, 256, 384):
            step = next(window_steps(model, 1, (context,)))
            opened, trace, sets = opened_step(model, step, Scheme((10, 16)))
            caches = [opened.cache(i) for i in range(layers)]
            plain = _cpu(partial(advance, model, step.token, context, caches), 10)
            given = (model, trace, sets)
            cells = [f"{_cpu(partial(method, *given), 5) / plain:.0f}x" for method in METHODS.values()]
            jacobians = _cpu(partial(all_maps, model.layers, trace, sets), 5) / plain
            rows.append([f"{layers} layers", str(context), f"{plain * 1e3:.2f}", *cells, f"{jacobians:.0f}x"])
            report.add("Time over a plain step, process time of one thread", rows)


def _cpu(call: Callable[[], object], repeat: int) -> float:
    """Smallest process time of a few runs."""
    call()
    best = math.inf
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


SECTIONS: dict[str, Callable[[Report, dict[int, Model], int], None]] = {
    "widths": widths, "methods": methods, "ladders": ladders, "tightness": tightness, "tails": tails,
    "policies": policies, "time": times,
}  # fmt: skip
DIVISORS = {"methods": 6, "ladders": 2, "tightness": 4}


def main() -> None:
    """Runs the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--layers", default=",".join(name.split("-")[-1] for name in MODELS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    models = {int(n): load_model(f"byte-llama-{n}") for n in args.layers.split(",")}
    report = Report(args.out)
    for name in args.sections.split(","):
        SECTIONS[name](report, models, max(1, args.steps // DIVISORS.get(name, 1)))
    print("\n".join(line for title, rows in report.sections.items() for line in _markdown(title, rows)))
    print(
        f"false certificates: {report.false} of {report.certified}; attacks: {report.attacks}, broken: {report.broken}"
    )
    if args.json:
        args.json.write_text(json.dumps(report.sections, indent=1))


if __name__ == "__main__":
    main()
