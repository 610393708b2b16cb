"""Which module is checked next, and by which worker: imports first, then by the longest chain of importers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from proofkv_verify.prove.sources import Module, order_modules, own_imports


class Schedule:
    """Hands out modules whose imports are finished; safe to share between threads."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._waiting = {name: set(own_imports(module, modules)) for name, module in modules.items()}
        self._heights = heights(modules)
        self._changed = threading.Condition()

    def take(self, header: str) -> Module | None:
        """A ready module of the greatest height, of these one with the given header; waits while none is ready.

        `None` when all are taken.
        """
        with self._changed:
            while self._waiting:
                ready = sorted(name for name, needs in self._waiting.items() if not needs)
                if ready:
                    name = max(ready, key=lambda name: (self._heights[name], self._modules[name].header == header))
                    del self._waiting[name]
                    self._changed.notify_all()
                    return self._modules[name]
                self._changed.wait()
            return None

    def finish(self, module: Module) -> None:
        """The module is checked: what imports it may become ready."""
        with self._changed:
            for needs in self._waiting.values():
                needs.discard(module.name)
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()


def heights(modules: Mapping[str, Module]) -> dict[str, int]:
    """For each module the length of the longest chain of modules that import it."""
    found: dict[str, int] = dict.fromkeys(modules, 0)
    for module in reversed(order_modules(modules)):
        for name in own_imports(module, modules):
            found[name] = max(found[name], found[module.name] + 1)
    return found


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
