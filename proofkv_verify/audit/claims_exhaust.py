"""Every fp16 and bf16 number through an elementwise scheme: a finite domain, so it is a proof or a refutation."""

from __future__ import annotations

import time
from fractions import Fraction

import torch

from proofkv_verify.audit.claim import AuditClaim, Setting
from proofkv_verify.audit.result import ClaimResult
from proofkv_verify.audit.trial import SchemeError, guarded
from proofkv_verify.audit.witness import counterexample
from proofkv_verify.certificate import Counterexample
from proofkv_verify.check import replay
from proofkv_verify.exact import NonFinite
from proofkv_verify.schemes.base import Scheme, Steps
from proofkv_verify.schemes.compare import Violation
from proofkv_verify.schemes.exhaust import Exhausted, exhaust_step
from proofkv_verify.verdict import Refuted, Status

SCALES = (2.0**-14, 3 * 2.0**-8, 1.0, 1.9921875)
"""Step sizes that fp32, fp16 and bf16 all hold: a tiny one, an ordinary one, 1, and one with all bits of bf16 set."""
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def exhaust_claims(scheme: Scheme) -> list[AuditClaim]:
    """The claim about all inputs, for a scheme that declares elementwise coding and offers its step."""
    if not scheme.declaration.elementwise or getattr(scheme, "step", None) is None:
        return []
    return [AuditClaim("quantizer_step_upper", "|x - x_hat| <= radius for every input", None, 1.0, conclude)]


def conclude(setting: Setting) -> ClaimResult:
    """Proved if no 16-bit input at any of the scales exceeds its radius; refuted by the first that does."""
    start = time.monotonic()
    scheme = setting.scheme
    assert isinstance(scheme, Steps)
    tried, vacuous = dict.fromkeys(DTYPES, 0), 0
    for scale in SCALES:
        for name, dtype in DTYPES.items():
            try:
                found = _exhaust(scheme, dtype, scale)
            except SchemeError as error:
                return _result(start, Status.UNDECIDED, f"step at scale {scale!r}: {error}", sum(tried.values()))
            tried[name] += found.inputs
            vacuous += found.vacuous
            if found.violation is not None:
                return _refuted(
                    setting, found.violation, f"step of {name} at scale {scale!r}", start, sum(tried.values())
                )
    counts = " and ".join(f"all {count // len(SCALES):,} {name}" for name, count in tried.items())
    scales = ", ".join(f"{scale:g}" for scale in SCALES)
    basis = f"exhausted {counts} inputs at each of the stored scales {scales}"
    return _result(start, Status.PROVED, basis + _vacuous_text(vacuous), sum(tried.values()))


def _exhaust(scheme: Steps, dtype: torch.dtype, scale: float) -> Exhausted:
    found: Exhausted = guarded("step", lambda: exhaust_step(scheme, dtype, scale))
    return found


def _vacuous_text(count: int) -> str:
    return f"; {count:,} of them got an infinite radius, of which nothing is claimed" if count else ""


def _refuted(setting: Setting, violation: Violation, where: str, start: float, cases: int) -> ClaimResult:
    found = _counterexample(setting, violation, where)
    verdict = replay(found).verdict
    if not isinstance(verdict, Refuted):
        return _result(start, Status.UNDECIDED, f"a violation did not replay exactly ({verdict})", cases)
    return _result(start, Status.REFUTED, found.note, cases, found)


def _counterexample(setting: Setting, violation: Violation, where: str) -> Counterexample:
    x, y, r = violation.original, violation.restored, violation.radius
    bound, left = "quantizer_step_upper", {"left": (x,)}
    for value, what in ((y, "came back as"), (r, "got the radius")):
        if isinstance(value, NonFinite):
            text = {"restored": {"nan": "nan"}.get(value.value, "inf")}
            note = f"{where}: {float(x)!r} {what} {value.value}"
            return counterexample(setting, bound, "non_finite", left, Fraction(0), "exhaustion", note, text)
    assert isinstance(y, Fraction)
    assert isinstance(r, Fraction)
    note = f"{where}: {float(x)!r} came back as {float(y)!r}, radius {float(r)!r}"
    return counterexample(setting, bound, "element_error", {**left, "right": (y,)}, r, "exhaustion", note)


def _result(start: float, status: Status, basis: str, cases: int, found: Counterexample | None = None) -> ClaimResult:
    return ClaimResult("quantizer_step_upper", status, basis, cases, time.monotonic() - start, None, found)
