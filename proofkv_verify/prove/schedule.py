"""Which module is checked next, and by which worker: imports first, equal headers on one worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from proofkv_verify.prove.sources import Module, own_imports


class Schedule:
    """Hands out modules whose imports are finished; safe to share between threads."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._waiting = {name: set(own_imports(module, modules)) for name, module in modules.items()}
        self._running: dict[str, str] = {}
        self._changed = threading.Condition()

    def take(self, header: str) -> Module | None:
        """A ready module, one with the given header first; waits while none is ready, `None` when all are taken."""
        with self._changed:
            while self._waiting:
                ready = sorted(name for name, needs in self._waiting.items() if not needs)
                if ready:
                    return self._start(self._best(ready, header))
                self._changed.wait()
            return None

    def finish(self, module: Module) -> None:
        """The module is checked: what imports it may become ready."""
        with self._changed:
            self._running.pop(module.name, None)
            for needs in self._waiting.values():
                needs.discard(module.name)
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def _best(self, ready: list[str], header: str) -> str:
        busy = set(self._running.values())
        mine = (name for name in ready if self._modules[name].header == header)
        free = (name for name in ready if self._modules[name].header not in busy)
        return next(mine, None) or next(free, None) or ready[0]

    def _start(self, name: str) -> Module:
        module = self._modules[name]
        self._running[name] = module.header
        del self._waiting[name]
        self._changed.notify_all()
        return module


def run_all(modules: Mapping[str, Module], jobs: int, check: Callable[[int, Module], None]) -> None:
    """Call `check(worker, module)` for every module, imports first, by `jobs` workers; the first error stops all."""
    schedule = Schedule(modules)

    def work(worker: int) -> None:
        header = ""
        try:
            while (module := schedule.take(header)) is not None:
                check(worker, module)
                header = module.header
                schedule.finish(module)
        except BaseException:
            schedule.stop()
            raise

    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(work, worker) for worker in range(jobs)]:
            future.result()
