"""Modules are checked after their imports, by any number of workers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from proofkv_verify.prove.schedule import heights, run_all
from proofkv_verify.prove.sources import Module, parse_module


def make(name: str, *imports: str) -> Module:
    header = "module\n\n" + "".join(f"import {i}\n" for i in imports)
    return parse_module(name, Path("x.lean"), header)


MODULES = {
    module.name: module
    for module in (make("A"), make("B", "A"), make("C", "A"), make("D", "B", "C"), make("E"), make("F", "E", "D"))
}


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_every_module_is_checked_once_and_after_its_imports(jobs: int) -> None:
    order: list[str] = []
    lock = threading.Lock()

    def check(worker: int, module: Module) -> None:
        with lock:
            assert all(name in order for name in module.imports)
            order.append(module.name)

    run_all(MODULES, jobs, check)
    assert sorted(order) == sorted(MODULES)


def test_two_workers_check_independent_modules_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)

    def check(worker: int, module: Module) -> None:
        if module.name in ("A", "E"):
            together.wait()

    run_all(MODULES, 2, check)
    assert together.n_waiting == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_worker_ends_the_run(jobs: int) -> None:
    def check(worker: int, module: Module) -> None:
        raise RuntimeError(module.name)

    with pytest.raises(RuntimeError):
        run_all(MODULES, jobs, check)


def test_the_longest_chain_of_importers_goes_first() -> None:
    assert heights(MODULES) == {"A": 3, "B": 2, "C": 2, "D": 1, "E": 1, "F": 0}
    order: list[str] = []
    run_all(MODULES, 1, lambda worker, module: order.append(module.name))
    assert order == ["A", "B", "C", "D", "E", "F"]


def test_of_equal_heights_the_header_of_the_module_before_is_taken_again() -> None:
    modules = {m.name: m for m in (make("A", "X"), make("B", "Y"), make("C", "X"), make("D", "Y"))}
    order: list[str] = []
    run_all(modules, 1, lambda worker, module: order.append(module.name))
    assert order == ["A", "C", "B", "D"]
