"""`replay` and `check`: exact evaluation of what others claim to have found; imports the checker core only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Counterexample, from_json
from proofkv_verify.check import Judgement, check_certificate, replay
from proofkv_verify.claims import Claim
from proofkv_verify.commands.check_step import check_step_command
from proofkv_verify.commands.console import OK, UNDECIDED, human, read_text, verdict_code, worst, write_json
from proofkv_verify.commands.show import checked, interval_text, replayed, verdict_text
from proofkv_verify.errors import CertificateFormatError, InvalidInputError, SolverUnavailableError
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.reference.step_document import is_step
from proofkv_verify.search.load import load_claim

REPORTS = ("proofkv-verify/audit/1", "proofkv-verify/refute/1")


def replay_command(text: str, json_path: str | None, claim_target: str | None = None) -> int:
    """Replays the counterexamples of a document and says which stand; runs no user file that is not named here."""
    cases = list(counterexamples(text))
    given = None if claim_target is None else load_claim(claim_target)
    out = human(json_path)
    rows, codes = [], []
    for found in cases:
        claim, remark = (
            function_of(found) if given is None else (given[0], _given_remark(claim_target, given[1], found))
        )
        judgement = replay(found, claim)
        for line in replayed(found, judgement):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        out.print(f"         {remark}\n", markup=False, highlight=False, soft_wrap=True)
        rows.append({"claim": found.claim, **judgement_row(judgement)})
        codes.append(verdict_code(judgement.verdict))
    if not cases:
        out.print("no counterexample in this report: nothing was refuted")
    write_json(json_path, {"schema": "proofkv-verify/replay/1", "cases": rows})
    return worst(codes)


def check_command(
    path: Path, json_path: str | None, *, second: bool, model: str | None = None, full: Path | None = None
) -> int:
    """Judges one certificate, of a bound (on request with mpmath as well) or of a decoding step."""
    text = read_text(path)
    if is_step(text):
        if second:
            raise InvalidInputError("--second-opinion", "the certificate of a bound", "one of a decoding step")
        return check_step_command(path, text, model, full, json_path)
    if model is not None or full is not None:
        raise InvalidInputError("--model and --full", "the certificate of a decoding step", "another document")
    document = from_json(text)
    if not isinstance(document, Certificate):
        raise CertificateFormatError("document", "a certificate (replay takes counterexamples)", "a counterexample")
    judgement = check_certificate(document)
    out = human(json_path)
    for line in checked(document, judgement):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    row: dict[str, Any] = {"bound": document.bound, **judgement_row(judgement)}
    code = verdict_code(judgement.verdict)
    if second:
        agrees, sentence = _second_opinion(document)
        row["second_opinion"] = {"agrees": agrees, "text": sentence}
        word = {True: "agrees", False: "CONTRADICTS the checker", None: "cannot tell"}[agrees]
        out.print(f"mpmath   {word}: {sentence}", markup=False, highlight=False, soft_wrap=True)
        code = UNDECIDED if agrees is False or (agrees is None and code == OK) else code
    write_json(json_path, {"schema": "proofkv-verify/check/1", **row})
    return code


def counterexamples(text: str) -> Iterator[Counterexample]:
    """The counterexample of a document, or all those of an audit or refute report.

    Raises:
        CertificateFormatError: neither.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict) and body.get("schema") in REPORTS:
        found = [row.get("counterexample") for row in body.get("claims", [body])]
        documents = [from_json(json.dumps(entry)) for entry in found if entry is not None]
    else:
        documents = [from_json(text)]
    for document in documents:
        if not isinstance(document, Counterexample):
            raise CertificateFormatError("document", "a counterexample (check takes certificates)", "a certificate")
        yield document


def function_of(found: Counterexample) -> tuple[Claim | None, str]:
    """The claim's function where it is built in, and how the claimed number was obtained.

    A user's file named in the document is not run: the document may come from anybody.
    """
    known = BOUNDS.get(found.claim) or MUTANTS.get(found.claim)
    if known is not None:
        return known, "the claimed number was evaluated again with the claim's function"
    if ".py:" not in found.claim or found.claim.startswith("audit:"):
        return None, "the claimed number is the recorded one"
    return None, f"the claimed number is the recorded one (--claim {found.claim} evaluates it again)"


def _given_remark(target: str | None, digest: str, found: Counterexample) -> str:
    changed = "" if digest == found.source else ", which is not the file that the counterexample was found on"
    return f"the claimed number was evaluated again with {target}{changed}"


def judgement_row(judgement: Judgement) -> dict[str, Any]:
    """A judgement as JSON: verdict and the enclosures it rests on, as text."""
    ends = {"claimed": judgement.claimed, "truth": judgement.truth}
    shown = {name: None if interval is None else interval_text(interval) for name, interval in ends.items()}
    return {"verdict": type(judgement.verdict).__name__, "text": verdict_text(judgement.verdict), **shown}


def _second_opinion(document: Certificate) -> tuple[bool | None, str]:
    try:
        from proofkv_verify.second_opinion import second_opinion
    except ImportError as error:
        raise SolverUnavailableError(f"--second-opinion needs mpmath (pip install 'mpmath<1.4'): {error}") from None
    opinion = second_opinion(document)
    return opinion.agrees, opinion.text
