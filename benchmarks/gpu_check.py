"""The fast path on a CUDA device: every battery in four dtypes, then the price of a certificate; one table each.

Run `python -m benchmarks.gpu_check` in the root of a checkout. Exit codes: 0 no violation, 1 a violation, 2 no GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

import torch

from benchmarks.attention import certificate_table
from benchmarks.tables import Table
from tests.fast.device_battery import DTYPES, Outcome, batteries, exponentials


def main(device: str = "cuda") -> int:
    """Prints the tables; `device` is "cpu" only to try the script itself."""
    if device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device: nothing was checked", file=sys.stderr)
        return 2
    start = time.perf_counter()
    outcomes = [("-", outcome) for outcome in exponentials(device)]
    for dtype in DTYPES:
        outcomes += [(str(dtype).removeprefix("torch."), outcome) for outcome in batteries(device, dtype, random=3)]
    print(battery_table(outcomes, time.perf_counter() - start, device).markdown(), flush=True)
    timer = cuda_seconds if device == "cuda" else wall_seconds
    print(certificate_table(timer=timer, device=device).markdown())
    print(f"{time.perf_counter() - start:.0f} s in all")
    return 1 if any(outcome.violations for _, outcome in outcomes) else 0


def battery_table(outcomes: list[tuple[str, Outcome]], seconds: float, device: str) -> Table:
    """Cases and violations of every battery."""
    rows = [[o.battery, dtype, str(o.cases), str(o.violations)] for dtype, o in outcomes]
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    note = f"{name}, torch {torch.__version__}, {seconds:.0f} s. Each violation is a float below its exact formula."
    return Table("Fast path batteries", note, ["battery", "dtype", "cases", "violations"], rows)


def cuda_seconds(tasks: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Device time per call by CUDA events, the least of five rounds of ten calls."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(5):
        for name, task in tasks.items():
            task()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(10):
                task()
            end.record()
            torch.cuda.synchronize()
            best[name] = min(best[name], begin.elapsed_time(end) / 1e4)
    return best


def wall_seconds(tasks: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of one call each, for trying the script without a GPU."""
    found = {}
    for name, task in tasks.items():
        task()
        start = time.perf_counter()
        task()
        found[name] = time.perf_counter() - start
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
