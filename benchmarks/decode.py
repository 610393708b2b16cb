"""Certified decoding on the shipped models: what is certified at which width, what refinement reads, how tight it is.

    python -m benchmarks.decode                                        # all sections, about an hour of one core
    python -m benchmarks.decode --sections widths,time                 # some of them; the others keep their numbers
    python -m benchmarks.decode --sections widths --steps 8 --out ""   # a quick look that writes nothing

The table is written again after every row, to decode.md and decode.json beside this file.
"""

from __future__ import annotations

import argparse
import inspect
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch

from benchmarks.decode_proofs import planning, soundness, tightness
from benchmarks.decode_report import Report, opened_step
from benchmarks.decode_tails import attacks, policies, tails
from proofkv_verify.decode import interval
from proofkv_verify.decode.adjoint import first_order
from proofkv_verify.decode.composition import enclose_l2
from proofkv_verify.decode.enclosure import Enclosure, directions, enclose, rivals_by_gap
from proofkv_verify.decode.loop import Decider
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.methods import METHODS
from proofkv_verify.decode.model import MODELS, Model, Trace, advance, load_model
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WindowStep, window_steps

LADDERS = ((8, 16), (6, 16), (4, 16), (4, 8, 16), (4, 6, 8, 10, 12, 16))


WIDTHS = (6, 7, 8, 9, 10, 12, 15)


def widths(report: Report, models: dict[int, Model], steps: int) -> None:
    """Fraction of steps certified with no further read. "first order": steps whose 32 closest rivals' gaps exceed their
    first-order radii, which no certificate of this form can pass and which prove nothing. Radius and gap are those of
    the hardest rival at int8.
    """
    rows = [["model", "what", *(f"int{b}" for b in WIDTHS), "median radius / gap at int8"]]
    for layers, model in models.items():
        sure, ceiling = dict.fromkeys(WIDTHS, 0), dict.fromkeys(WIDTHS, 0)
        shares = []
        for step in window_steps(model, steps):
            for bits in WIDTHS:
                _, trace, sets = opened_step(model, step, Scheme((bits, 16)))
                found = enclose(model, trace, sets)
                report.count(found.certified, found.winner, step.trace.token)
                sure[bits] += found.certified
                ceiling[bits] += _first_order_passes(model, trace, sets)
                if bits == 8:
                    shares.append(float(found.radii[found.hardest] / found.gaps[found.hardest]))
        for what, counts in (("certified", sure), ("first order", ceiling)):
            last = f"{statistics.median(shares):.2f}" if what == "certified" else ""
            rows.append([f"{layers} layers", what, *(f"{counts[b] / steps:.3f}" for b in WIDTHS), last])
        report.add(rows)


def _first_order_passes(model: Model, trace: Trace, sets: list[Sets]) -> bool:
    rows, gaps = directions(model, trace)
    rivals = rivals_by_gap(gaps, trace.token)[:32]
    return bool((gaps[rivals] > first_order(all_maps(model.layers, trace, sets), rows[rivals])[0]).all())


def methods(report: Report, models: dict[int, Model], steps: int) -> None:
    """All methods on the same steps, 4 layers; the first-order radii are no proof and count as `gap > radius` only.
    What `interval` and `l2` need is found by scaling the radii of 15 bits, without float64's own rounding.
    """
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
        scaled = {"interval": _unrounded_interval, "l2": _unrounded}.get(name)
        needed = "-" if scaled is None else _needed(model, scaled, steps)
        proof = "no" if name == "first-order" else "yes"
        rows.append([name, *cells, needed, f"{statistics.median(radii):.3g}", proof])
        report.add(rows)


def _passes(found: Enclosure) -> bool:
    others = torch.arange(len(found.gaps)) != found.winner
    return bool((found.gaps > found.radii)[others].all())


def _needed(model: Model, method: Callable[..., Enclosure], steps: int) -> str:
    """Least width at which the method certifies every step, with the radii of 15 bits halved for each further bit.

    The outward steps for float64's rounding are left out: with them no width is enough, since they grow like the page
    errors.
    """
    opened = list(_at_15(model, steps))
    for bits in range(16, 81, 4):
        factor = 2.0 ** (15 - bits)
        if all(_passes(method(model, trace, [_scaled(s, factor) for s in sets])) for trace, sets in opened):
            return f"{bits - 3} to {bits}"
    return "more than 80"


def _unrounded(model: Model, trace: Trace, sets: list[Sets]) -> Enclosure:
    return enclose_l2(model, trace, sets, rounding=False)


def _unrounded_interval(model: Model, trace: Trace, sets: list[Sets]) -> Enclosure:
    with patch.multiple(interval, _WIDEN=0.0, _RMS_WIDEN=0.0, _WEIGHT_WIDEN=0.0, _WEIGHT_FLOOR=0.0):
        return interval.enclose_interval(model, trace, sets)


def _at_15(model: Model, steps: int) -> Iterator[tuple[Trace, list[Sets]]]:
    for step in window_steps(model, min(steps, 4)):
        _, trace, sets = opened_step(model, step, Scheme((15, 16)))
        yield trace, sets


def _scaled(sets: Sets, factor: float) -> Sets:
    names = ("key_norm", "value_norm", "key_box", "value_box", "key_sigma", "value_sigma")
    return replace(sets, **{name: getattr(sets, name) * factor for name in names})


def ladders(report: Report, models: dict[int, Model], steps: int) -> None:
    """What is read until every step is certified. "bits (level)": mean level at the decision, 16 for a unit read in
    full; "bits read": what was read before the 16 bits too; with sidecars: norms, spectral norms, scales and zeros as
    well.
    """
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
            report.add(rows)


def _ladder(report: Report, model: Model, step: WindowStep, scheme: Scheme) -> tuple[float, ...]:
    opened = step.opened(scheme)
    decision = Decider(model).decide(opened, step.token)
    assert decision is not None
    report.count(decision.outcome != "full", decision.token, step.trace.token)
    size = opened.pages.rows.numel()
    raised = float((opened.levels > scheme.levels[0]).double().mean())
    read = opened.payload_bits / size
    return (
        float(decision.rounds == 0), float(decision.rounds), raised, float(opened.levels.double().mean()), read,
        read + opened.sidecar_bits / size, float(decision.outcome == "full"),
    )  # fmt: skip


def times(report: Report, models: dict[int, Model], steps: int) -> None:
    """Process time of one thread: a certificate over the plain float64 step, by method, depth and context, median over
    steps at int8, each the best of three runs beside the best of ten plain steps.
    """
    rows = [["model", "context", "plain ms", *METHODS, "Jacobians alone"]]
    for layers, model in models.items():
        for context in (128, 256, 384):
            found = [_ratios(model, step, context) for step in window_steps(model, steps, (context,))]
            median = [statistics.median(column) for column in zip(*found, strict=True)]
            rows.append(
                [f"{layers} layers", str(context), f"{median[0] * 1e3:.2f}", *(f"{x:.0f}x" for x in median[1:])]
            )
            report.add(rows)


def _ratios(model: Model, step: WindowStep, context: int) -> list[float]:
    opened, trace, sets = opened_step(model, step, Scheme((8, 16)))
    caches = [opened.cache(i) for i in range(len(model.layers))]
    plain = _cpu(partial(advance, model, step.token, context, caches), 10)
    calls = [partial(method, model, trace, sets) for method in METHODS.values()]
    return [plain, *(_cpu(call, 3) / plain for call in (*calls, partial(all_maps, model.layers, trace, sets)))]


def _cpu(call: Callable[[], object], repeat: int) -> float:
    """Smallest process time of a few runs."""
    call()
    best = math.inf
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


SECTIONS: dict[str, tuple[Callable[[Report, dict[int, Model], int], None], int]] = {
    "widths": (widths, 96), "methods": (methods, 8), "ladders": (ladders, 48), "tightness": (tightness, 16),
    "tails": (tails, 4), "attacks": (attacks, 5), "policies": (policies, 4), "time": (times, 8),
    "soundness": (soundness, 192), "planning": (planning, 8),
}  # fmt: skip


def main() -> None:
    """Runs the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=str(Path(__file__).with_suffix(".md")), help="Markdown file; empty: none")
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--steps", type=int, help="steps (tails, attacks, policies: sequences) of every section")
    parser.add_argument("--layers", default=",".join(name.split("-")[-1] for name in MODELS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    models = {int(n): load_model(f"byte-llama-{n}") for n in args.layers.split(",")}
    notes = {name: inspect.cleandoc(call.__doc__ or "") for name, (call, _) in SECTIONS.items()}
    report = Report(Path(args.out) if args.out else None, notes)
    for name in args.sections.split(","):
        call, usual = SECTIONS[name]
        report.begin(name)
        call(report, models, args.steps or usual)
    print(report.markdown())


if __name__ == "__main__":
    main()
