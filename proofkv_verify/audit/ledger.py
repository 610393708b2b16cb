"""The ledger of an audit: one JSON line a finished claim, on disk before the next claim starts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofkv_verify.audit.result import ClaimResult, from_row, to_row
from proofkv_verify.errors import CertificateFormatError, InvalidInputError

SCHEMA = "proofkv-verify/ledger/1"
FILE_NAME = "ledger.jsonl"


@dataclass(frozen=True, slots=True)
class Ledger:
    """An open ledger: what the run was asked to do, and the claims that are finished.

    Attributes:
        path: the JSONL file.
        settings: target, seed, budget, trace and whatever else decides the results; the first line of the file.
        results: finished claims by slug, in the order of the file.
    """

    path: Path
    settings: Mapping[str, Any]
    results: dict[str, ClaimResult]

    def record(self, result: ClaimResult) -> None:
        """Appends a finished claim and waits until the disk holds it.

        Raises:
            InvalidInputError: the claim is recorded already.
        """
        if result.bound in self.results:
            raise InvalidInputError("claim", "a claim that is not in the ledger", result.bound)
        _append(self.path, to_row(result))
        self.results[result.bound] = result


def create_ledger(directory: Path, settings: Mapping[str, Any]) -> Ledger:
    """Starts a ledger in a directory, which is made if it is missing.

    Raises:
        InvalidInputError: the directory holds a ledger, or cannot be written.
    """
    path = directory / FILE_NAME
    if path.exists():
        raise InvalidInputError("ledger", "a directory without a ledger (resume continues one)", directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _append(path, {"schema": SCHEMA, **settings})
    except OSError as error:
        raise InvalidInputError("ledger", "a directory that can be written", error) from None
    return Ledger(path, dict(settings), {})


def open_ledger(directory: Path) -> Ledger:
    """Opens the ledger of a run that stopped; a line that a kill cut short is dropped, whole lines never are.

    Raises:
        InvalidInputError: no ledger there.
        CertificateFormatError: the ledger is of another version or damaged.
    """
    path = directory / FILE_NAME
    if not path.is_file():
        raise InvalidInputError("resume", f"a directory that holds {FILE_NAME}", directory)
    lines = _whole_lines(path)
    if not lines or lines[0].get("schema") != SCHEMA:
        raise CertificateFormatError("ledger", f"a first line of schema {SCHEMA}", "another or none")
    settings = {name: value for name, value in lines[0].items() if name != "schema"}
    results: dict[str, ClaimResult] = {}
    for row in lines[1:]:
        result = from_row(row)
        if result.bound in results:
            raise CertificateFormatError("ledger", "each claim once", result.bound)
        results[result.bound] = result
    return Ledger(path, settings, results)


def _append(path: Path, row: Mapping[str, Any]) -> None:
    data = (json.dumps(row) + "\n").encode()
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return [_parse(line) for line in whole.splitlines()]


def _parse(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise CertificateFormatError("ledger", "one JSON object a line", error) from None
    if not isinstance(row, dict):
        raise CertificateFormatError("ledger", "one JSON object a line", type(row).__name__)
    return row
