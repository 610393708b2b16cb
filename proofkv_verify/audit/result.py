"""One row of an audit: what is claimed, what is known of it, on what basis, and the counterexample if there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofkv_verify.certificate import Counterexample, from_json, to_json
from proofkv_verify.errors import CertificateFormatError
from proofkv_verify.verdict import Status

SCHEMA = "proofkv-verify/audit/1"
_FIELDS = ("bound", "status", "basis", "cases", "seconds", "tightness", "counterexample")


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """What one audit claim came to.

    Attributes:
        bound: slug of the bound or property.
        status: proved, refuted, survived or undecided; survived never means sound.
        basis: why: what was exhausted, how many cases of which engines, or what was missing.
        cases: how many cases were judged.
        seconds: wall time.
        tightness: largest known true value over claimed value, or None where nothing was claimed.
        counterexample: replayed exact data on which the claim fails; present if and only if refuted.
    """

    bound: str
    status: Status
    basis: str
    cases: int
    seconds: float
    tightness: float | None = None
    counterexample: Counterexample | None = None


def to_row(result: ClaimResult) -> dict[str, Any]:
    """The result as the JSON object that reports and ledgers hold."""
    found = result.counterexample
    return {
        "bound": result.bound,
        "status": str(result.status),
        "basis": result.basis,
        "cases": result.cases,
        "seconds": round(result.seconds, 3),
        "tightness": result.tightness,
        "counterexample": None if found is None else json.loads(to_json(found)),
    }


def from_row(row: Mapping[str, Any]) -> ClaimResult:
    """Reads what `to_row` wrote.

    Raises:
        CertificateFormatError: a field is missing, unknown or of a wrong form.
    """
    if set(row) != set(_FIELDS):
        raise CertificateFormatError("claim", f"the fields {', '.join(_FIELDS)}", ", ".join(sorted(row)))
    if row["status"] not in list(Status):
        raise CertificateFormatError("status", "proved, refuted, survived or undecided", row["status"])
    return ClaimResult(
        bound=row["bound"],
        status=Status(row["status"]),
        basis=row["basis"],
        cases=row["cases"],
        seconds=row["seconds"],
        tightness=row["tightness"],
        counterexample=_read_counterexample(row["counterexample"]),
    )


def summary(results: Sequence[ClaimResult]) -> dict[str, int]:
    """How many claims ended with each status."""
    return {str(status): sum(r.status is status for r in results) for status in Status}


def exit_code(results: Sequence[ClaimResult]) -> int:
    """1 if a claim is refuted, else 3 if one is undecided, else 0."""
    found = {result.status for result in results}
    if Status.REFUTED in found:
        return 1
    return 3 if Status.UNDECIDED in found or not found else 0


def report_json(target: str, versions: Mapping[str, str], results: Sequence[ClaimResult]) -> dict[str, Any]:
    """The audit as one JSON document of schema `proofkv-verify/audit/1`."""
    return {
        "schema": SCHEMA,
        "target": target,
        "versions": dict(versions),
        "claims": [to_row(result) for result in results],
        "summary": summary(results),
    }


def _read_counterexample(value: Any) -> Counterexample | None:
    if value is None:
        return None
    document = from_json(json.dumps(value))
    if not isinstance(document, Counterexample):
        raise CertificateFormatError("counterexample", "a counterexample", "a certificate")
    return document
