"""Certified decoding on the shipped models: what is certified at which width, what refinement reads, how tight it is.

    python -m benchmarks.decode --out benchmarks/decode.md            # all sections, about 30 CPU minutes
    python -m benchmarks.decode --sections widths,time --steps 8      # some of them, fewer steps

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
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.decode_proofs import planning, policies, soundness, tails, tightness
from benchmarks.decode_report import Report, markdown, opened_step
from proofkv_verify.decode.composition import enclose_l2
from proofkv_verify.decode.enclosure import Enclosure, enclose, rivals_by_gap
from proofkv_verify.decode.loop import Decider
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.methods import METHODS
from proofkv_verify.decode.model import MODELS, Model, Trace, advance, load_model
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WindowStep, window_steps

LADDERS = ((8, 16), (6, 16), (4, 16), (4, 8, 16), (4, 6, 8, 10, 12, 16))


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
        needed = {"interval": _needed(model, method, steps), "l2": _needed(model, _unrounded, steps)}.get(name, "-")
        proof = "no" if name == "first-order" else "yes"
        rows.append([name, *cells, needed, f"{statistics.median(radii):.3g}", proof])
        report.add(f"Methods, 4 layers, the same {steps} steps", rows)


def _passes(found: Enclosure) -> bool:
    others = torch.arange(len(found.gaps)) != found.winner
    return bool((found.gaps > found.radii)[others].all())


def _needed(model: Model, method: Callable[..., Enclosure], steps: int) -> str:
    """Least width at which the method certifies every step, with the radii of 15 bits halved for each further bit.

    For `l2` the rounding of float64 is left out: with it no width is enough, since it grows like the page errors.
    """
    for bits in range(16, 81, 4):
        factor = 2.0 ** (15 - bits)
        if all(
            _passes(method(model, trace, [_scaled(s, factor) for s in sets])) for trace, sets in _at_15(model, steps)
        ):
            return f"{bits - 3} to {bits}"
    return "none: float64's rounding alone is too much for it"


def _unrounded(model: Model, trace: Trace, sets: list[Sets]) -> Enclosure:
    return enclose_l2(model, trace, sets, rounding=False)


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
    "policies": policies, "time": times, "soundness": soundness, "planning": planning,
}  # fmt: skip
DIVISORS = {"methods": 6, "ladders": 2, "tightness": 4, "planning": 8}


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
    print("\n".join(line for title, rows in report.sections.items() for line in markdown(title, rows)))
    print(
        f"false certificates: {report.false} of {report.certified}; attacks: {report.attacks}, broken: {report.broken}"
    )
    if args.json:
        args.json.write_text(json.dumps(report.sections, indent=1))


if __name__ == "__main__":
    main()
