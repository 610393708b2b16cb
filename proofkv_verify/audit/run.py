"""Runs an audit: every claim of the plan that the ledger does not hold yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from proofkv_verify.adapters.trace import TraceFile, default_trace_path, open_trace
from proofkv_verify.audit.claim import AuditClaim, Setting, run_claim
from proofkv_verify.audit.data import ENGINES, Case, Shape, cases, seed_for, shape_for
from proofkv_verify.audit.ledger import Ledger
from proofkv_verify.audit.plan import make_plan, share
from proofkv_verify.audit.result import ClaimResult
from proofkv_verify.audit.witness import versions
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.base import Scheme

RANDOM_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Request:
    """What an audit is asked to do.

    Attributes:
        target: built-in name, `file.py:object` or entry point.
        trace: path of the trace, or "" for the embedded one.
        seed: every random choice follows from it.
        budget_s: wall time of all claims together; a claim whose share is used up says so.
        engines: which inputs: adversarial, trace, random.
        device: "cpu" or "cuda": where the scheme and the fast bounds run.
        claims: slugs of the claims to try; empty means all that apply.
    """

    target: str
    trace: str = ""
    seed: int = 0
    budget_s: float = 90.0
    engines: tuple[str, ...] = ENGINES
    device: str = "cpu"
    claims: tuple[str, ...] = ()


Progress = Callable[[int, int, str], None]
"""Called before each claim with (claims done, claims in all, slug)."""


def settings_of(request: Request, source: str) -> dict[str, Any]:
    """All that decides the results of an audit, as the first line of its ledger."""
    trace = _trace_path(request)
    digest = "sha256:" + sha256(trace.read_bytes()).hexdigest() if trace.is_file() else ""
    asked = {**asdict(request), "engines": list(request.engines), "claims": list(request.claims)}
    return {**asked, "trace_digest": digest, "source": source, "versions": versions()}


def request_of(settings: dict[str, Any]) -> Request:
    """The request that a ledger was started with."""
    named: dict[str, Any] = {}
    for name in Request.__dataclass_fields__:
        value = settings[name]
        named[name] = tuple(value) if isinstance(value, list) else value
    return Request(**named)


def check_same(ledger: Ledger, request: Request, source: str) -> None:
    """Refuses to continue a ledger whose scheme, trace or package versions have changed since.

    Raises:
        InvalidInputError: names what changed.
    """
    now = settings_of(request, source)
    for name, value in ledger.settings.items():
        if now.get(name) != value:
            raise InvalidInputError(f"resume: {name}", f"{value!r}, as in the ledger", repr(now.get(name)))


def run_audit(
    scheme: Scheme, request: Request, ledger: Ledger, source: str = "", progress: Progress | None = None
) -> list[ClaimResult]:
    """Tries the claims that the ledger lacks, records each, and returns all results in the order of the plan.

    Raises:
        InvalidInputError: a bad trace, engine or device, or a scheme that refuses an ordinary tensor.
    """
    setting = Setting(scheme, request.target, request.device, request.seed, source)
    trace = open_trace(_trace_path(request)) if "trace" in request.engines else None
    shape = shape_for(scheme.declaration.residual_window, trace.meta.head_dim if trace else 64)
    plan = _chosen(make_plan(setting, shape), request.claims)
    deadline = time.monotonic() + request.budget_s
    for index, claim in enumerate(plan):
        if claim.bound in ledger.results:
            continue
        if progress is not None:
            progress(index, len(plan), claim.bound)
        budget = share(plan, index, max(0.0, deadline - time.monotonic()))
        ledger.record(run_claim(claim, setting, _inputs(request, claim, shape, trace), budget))
    return [ledger.results[claim.bound] for claim in plan]


def _chosen(plan: list[AuditClaim], names: tuple[str, ...]) -> list[AuditClaim]:
    known = [claim.bound for claim in plan]
    for name in names:
        if name not in known:
            raise InvalidInputError("claim", f"one of {', '.join(known)}", name)
    return [claim for claim in plan if not names or claim.bound in names]


def _inputs(request: Request, claim: AuditClaim, shape: Shape, trace: TraceFile | None) -> Iterator[Case]:
    return cases(request.engines, shape, trace, seed_for(request.seed, claim.inputs or claim.bound), RANDOM_ROUNDS)


def _trace_path(request: Request) -> Path:
    return Path(request.trace) if request.trace else default_trace_path()
