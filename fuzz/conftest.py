"""One fixture for all targets, and the option that sets how long each of them searches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.driver import ENGINES, find_counterexample

DEFAULT_S = 6.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-budget",
        default="1x",
        help=f"seconds of search for each target, or a multiple of the default {DEFAULT_S:g} s such as 10x",
    )
    parser.addoption("--fuzz-seed", default=0, type=int, help="seed of every search")


def seconds(text: str) -> float:
    """The budget that the option states.

    Raises:
        pytest.UsageError: neither a positive number of seconds nor a multiple.
    """
    multiple = text.endswith("x")
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise pytest.UsageError(f"--fuzz-budget: expected seconds or a multiple like 10x, got {text}")
    return number * DEFAULT_S if multiple else number


@pytest.fixture(autouse=True)
def one_thread():
    """Targets run side by side: more threads would only slow them down."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def survives(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Searches the built-in bound with every engine, each with a third of the budget; a counterexample fails."""
    budget, seed = seconds(request.config.getoption("--fuzz-budget")), request.config.getoption("--fuzz-seed")

    def search(slug: str) -> None:
        for engine in ENGINES:
            result = find_counterexample(BOUNDS[slug], engine, budget_s=budget / len(ENGINES), seed=seed)
            assert result.counterexample is None, f"{engine}: {result.counterexample}"
            assert result.cases > 0 or "not applicable" in result.note or "unknown" in result.note, result

    return search


@pytest.fixture
def search_has_power(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """The same budget kills every mutant of the bound: a search that cannot is no evidence."""
    budget, seed = seconds(request.config.getoption("--fuzz-budget")), request.config.getoption("--fuzz-seed")

    def kill(slug: str) -> None:
        mutants = [mutant for mutant in MUTANTS.values() if mutant.mutates == slug]
        assert mutants, f"{slug} has no mutant"
        for mutant in mutants:
            results = (find_counterexample(mutant, engine, budget_s=budget, seed=seed) for engine in ("fuzz", "attack"))
            assert any(result.counterexample is not None for result in results), f"{mutant.name} survived"

    return kill
