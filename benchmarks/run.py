"""All ratio benchmarks in one run: prints the tables and writes benchmarks/results.md."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import flint
import numpy as np
import torch

from benchmarks.attention import certificate_table
from benchmarks.heads import head_table, screening_table
from benchmarks.tightness import output_table, tv_table
from benchmarks.whole import whole_table

RESULTS = Path(__file__).parent / "results.md"
GPU = (
    "The fast paths have not been run on a CUDA device; `python -m benchmarks.gpu_check` runs their batteries and "
    "ratios on one.\n"
)


def main(arguments: Sequence[str] = ()) -> int:
    """Prints each table when it is done; `--no-write` leaves results.md alone."""
    torch.set_num_threads(1)
    text = [f"# Benchmarks\n\nWritten by `make bench`. CPU time of one thread. {machine()}\n\n{GPU}"]
    for make in (head_table, screening_table, certificate_table, tv_table, output_table, whole_table):
        text.append(make().markdown())
        print(text[-1], flush=True)
    if "--no-write" not in arguments:
        RESULTS.write_text("\n".join(text), encoding="utf-8")
    return 0


def machine() -> str:
    """What the numbers were measured on."""
    return (
        f"Python {platform.python_version()}, torch {torch.__version__} "
        f"({torch.backends.cpu.get_cpu_capability()}), numpy {np.__version__}, python-flint {flint.__version__}."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
