"""CPU time of one thread, alternating between the things compared, the least of several rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def cpu_seconds(tasks: Mapping[str, Callable[[], object]], *, rounds: int = 7, least: float = 0.02) -> dict[str, float]:
    """Seconds per call of each task.

    Args:
        tasks: what to call, by name.
        rounds: how often each is measured; the tasks take turns, so that a busy machine disturbs all alike.
        least: each measurement repeats its task for at least about this many seconds.
    """
    repeats = {name: _repeats(task, least) for name, task in tasks.items()}
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            best[name] = min(best[name], _seconds(task, repeats[name]) / repeats[name])
    return best


def _repeats(task: Callable[[], object], least: float) -> int:
    task()
    once = max(_seconds(task, 1), 1e-6)
    return max(1, round(least / once))


def _seconds(task: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        task()
    return time.process_time() - start
