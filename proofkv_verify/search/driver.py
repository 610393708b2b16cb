"""Runs an engine on a claim, shrinks what it found, and lets nothing out that the checker does not replay."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from proofkv_verify.certificate import Counterexample
from proofkv_verify.check import check_claim, replay
from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.search.attack import search_attack
from proofkv_verify.search.batch import complexity
from proofkv_verify.search.forms import refuted
from proofkv_verify.search.fuzz import search_fuzz
from proofkv_verify.search.result import Clock, EngineError, Progress, SearchResult
from proofkv_verify.search.samplers import space_of
from proofkv_verify.search.shrink import shrink
from proofkv_verify.search.smt import search_smt
from proofkv_verify.verdict import Refuted

ENGINES = ("fuzz", "smt", "attack")
"""The engines by name."""

_SEARCHES = {"fuzz": search_fuzz, "smt": search_smt, "attack": search_attack}
_SHRINK_S = 5.0  # longest shrinking beyond the budget


def find_counterexample(
    claim: Claim,
    engine: str,
    *,
    budget_s: float,
    seed: int,
    progress: Progress | None = None,
    source: str = "",
) -> SearchResult:
    """Searches for exact data on which a claim fails, with one engine.

    Args:
        claim: the claim, about a kind that has a search space.
        engine: "fuzz", "smt" or "attack".
        budget_s: seconds for the search; shrinking a find may take up to five seconds more.
        seed: equal seeds make equal searches, up to where the clock ends them.
        progress: called now and then with (cases so far, seconds so far).
        source: digest of the claim's file, kept in the counterexample.

    Returns:
        A result whose counterexample, if there is one, was replayed by the checker. None found is not soundness.

    Raises:
        InvalidInputError: no such engine, a kind without a search space, or a claim that cannot be evaluated.
        EngineError: an engine's find does not replay (a fault of this package).
    """
    if engine not in _SEARCHES:
        raise InvalidInputError("engine", f"one of {', '.join(ENGINES)}", engine)
    space_of(claim.kind)
    clock = Clock(budget_s, progress)
    found = _SEARCHES[engine](claim, clock, seed)
    if found.instance is None:
        return SearchResult(engine, found.cases, clock.seconds(), None, found.tightness, found.note)
    found_after = clock.seconds()
    small = shrink(found.instance, lambda instance: refuted(claim, instance), Clock(_SHRINK_S))
    counterexample = make_counterexample(claim, small, engine, seed, source=source)
    return SearchResult(
        engine,
        found.cases,
        clock.seconds(),
        counterexample,
        found.tightness,
        found.note,
        shrunk_size=complexity(small)[2],
        found_after=found_after,
    )


def refute(
    claim: Claim,
    engines: Sequence[str] = ENGINES,
    budget_s: float = 30.0,
    seed: int = 0,
    progress: Progress | None = None,
    source: str = "",
) -> list[SearchResult]:
    """Runs engines one after the other, each with an equal share of the budget, until one finds a counterexample.

    Returns:
        The results of the engines that ran.

    Raises:
        InvalidInputError: as `find_counterexample`.
        EngineError: as `find_counterexample`.
    """
    results: list[SearchResult] = []
    for engine in engines:
        share = budget_s / len(engines)
        results.append(find_counterexample(claim, engine, budget_s=share, seed=seed, progress=progress, source=source))
        if results[-1].counterexample is not None:
            break
    return results


def make_counterexample(
    claim: Claim, instance: Instance, engine: str, seed: int, *, source: str = "", note: str = ""
) -> Counterexample:
    """A counterexample with the checker's enclosures, replayed both with the claim's function and without.

    Raises:
        EngineError: the checker does not refute the claim there.
    """
    judgement = check_claim(claim, instance)
    if not isinstance(judgement.verdict, Refuted) or judgement.claimed is None or judgement.truth is None:
        raise EngineError(f"{engine}: the find does not refute {claim.name}: {judgement.verdict}")
    found = Counterexample(
        claim.name, instance, judgement.claimed, judgement.truth, engine, seed, versions(), source, note
    )
    for with_claim in (claim, None):
        again = replay(found, with_claim).verdict
        if not isinstance(again, Refuted):
            raise EngineError(f"{engine}: the counterexample to {claim.name} does not replay: {again}")
    return found


def versions() -> dict[str, str]:
    """Versions of the packages that a search rests on."""
    names = ("proofkv-verify", "python-flint", "torch", "hypothesis", "z3-solver")
    return {name: version(name) for name in names}
