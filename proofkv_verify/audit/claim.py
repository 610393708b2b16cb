"""What an audit claim is, and the loop that tries it on case after case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from proofkv_verify.audit.data import Case
from proofkv_verify.audit.result import ClaimResult
from proofkv_verify.audit.trial import RefusedError, SchemeError
from proofkv_verify.certificate import Counterexample
from proofkv_verify.check import replay
from proofkv_verify.schemes.base import Scheme
from proofkv_verify.verdict import Refuted, Status


@dataclass(frozen=True, slots=True)
class Finding:
    """What one case showed.

    Attributes:
        cases: how many numbers were judged.
        tightness: largest true value over claimed value, or None.
        violation: a counterexample, or None.
        undecided: why some number could not be judged, or "".
        vacuous: how many claimed numbers were infinite, and so said nothing.
    """

    cases: int
    tightness: float | None = None
    violation: Counterexample | None = None
    undecided: str = ""
    vacuous: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What a claim needs besides a case.

    Attributes:
        scheme: under audit.
        target: how reports call it.
        device: where the scheme and the fast bounds run.
        seed: of the run.
        source: digest of the user's file, or "".
        memo: evaluated cases by name, shared by claims.
    """

    scheme: Scheme
    target: str
    device: str
    seed: int
    source: str = ""
    memo: dict[str, Any] = field(default_factory=dict)


Examine = Callable[[Setting, Case], "Finding | None"]
"""Judges one case; None where the claim says nothing about it."""


@dataclass(frozen=True, slots=True)
class AuditClaim:
    """A universal statement about a scheme that every case tests.

    Attributes:
        bound: slug.
        statement: what is claimed, in words.
        examine: judges one case; None for a claim that `conclude` settles without cases.
        weight: share of the time budget, relative to the other claims.
        conclude: settles the claim over a finite domain.
        inputs: claims of one name here get the same random inputs; each its own by default.
    """

    bound: str
    statement: str
    examine: Examine | None
    weight: float = 1.0
    conclude: Callable[[Setting], ClaimResult] | None = None
    inputs: str = ""


@dataclass(slots=True)
class _Tally:
    cases: int = 0
    vacuous: int = 0
    tensors: int = 0
    refused: int = 0
    tightness: float | None = None
    violation: Counterexample | None = None
    undecided: str = ""
    engines: dict[str, int] | None = None
    cut: bool = False


ALWAYS_TRIED = 2
"""Cases of a claim that are tried whatever the budget: an adversarial one and a layer of the trace."""


def run_claim(claim: AuditClaim, setting: Setting, cases: Iterable[Case], budget_s: float) -> ClaimResult:
    """Tries a claim until a case refutes it, the cases are used up, or the time is."""
    if claim.conclude is not None:
        return claim.conclude(setting)
    assert claim.examine is not None
    start = time.monotonic()
    tally = _Tally(engines={})
    for case in _within_budget(cases, start + budget_s, tally):
        _try_case(claim.examine, setting, case, tally)
        if tally.violation is not None:
            break
    status, basis = _conclude(tally)
    seconds = time.monotonic() - start
    return ClaimResult(claim.bound, status, basis, tally.cases, seconds, tally.tightness, tally.violation)


def _within_budget(cases: Iterable[Case], deadline: float, tally: _Tally) -> Iterator[Case]:
    for index, case in enumerate(cases):
        if index >= ALWAYS_TRIED and time.monotonic() >= deadline:
            tally.cut = True
            return
        yield case


def _try_case(examine: Examine, setting: Setting, case: Case, tally: _Tally) -> None:
    try:
        finding = examine(setting, case)
    except RefusedError as error:
        tally.refused += 1
        if case.engine == "trace":
            tally.undecided = f"{case.name}: {error}"
        return
    except SchemeError as error:
        tally.undecided = f"{case.name}: {error}"
        return
    if finding is None:
        return
    tally.tensors += 1
    tally.cases += finding.cases
    tally.vacuous += finding.vacuous
    assert tally.engines is not None
    tally.engines[case.engine] = tally.engines.get(case.engine, 0) + 1
    tally.undecided = tally.undecided or finding.undecided
    if finding.tightness is not None:
        tally.tightness = max(finding.tightness, tally.tightness or 0.0)
    _take_violation(finding.violation, case, tally)


def _take_violation(found: Counterexample | None, case: Case, tally: _Tally) -> None:
    if found is None:
        return
    verdict = replay(found).verdict
    if isinstance(verdict, Refuted):
        tally.violation = found
        tally.tightness = _excess(found)
    else:
        tally.undecided = f"{case.name}: a violation in floats did not replay exactly ({verdict})"


def _excess(found: Counterexample) -> float | None:
    truth, claimed = found.truth.lower, found.claimed.upper
    return float(truth / claimed) if truth is not None and claimed is not None and claimed > 0 else None


def _conclude(tally: _Tally) -> tuple[Status, str]:
    if tally.violation is not None:
        return Status.REFUTED, tally.violation.note
    if tally.undecided:
        return Status.UNDECIDED, tally.undecided
    if tally.cases == 0:
        reason = f"the scheme refused all {tally.refused} inputs" if tally.refused else "no case applies"
        return Status.UNDECIDED, f"{reason} within the time budget" if tally.cut else reason
    return Status.SURVIVED, _searched(tally)


def _searched(tally: _Tally) -> str:
    parts = [f"{count} {engine}" for engine, count in (tally.engines or {}).items()]
    text = f"no violation in {tally.tensors} inputs ({', '.join(parts)})"
    if tally.vacuous:
        text += f"; {tally.vacuous:,} claimed numbers were infinite"
    if tally.refused:
        text += f"; {tally.refused} refused by the scheme"
    return text + ("; stopped by the time budget" if tally.cut else "")
