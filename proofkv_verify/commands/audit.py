"""`audit`: runs or continues an audit, keeps its ledger, and writes its reports."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import Any

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from proofkv_verify.audit.ledger import Ledger, create_ledger, open_ledger
from proofkv_verify.audit.report import html, table
from proofkv_verify.audit.result import ClaimResult, exit_code, report_json
from proofkv_verify.audit.run import Request, check_same, request_of, run_audit, settings_of
from proofkv_verify.commands.console import INTERRUPTED, errors, human, write_json, write_text
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.base import Scheme
from proofkv_verify.schemes.registry import resolve_scheme


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results and the ledger go.

    Attributes:
        json_path: JSON report, "-" for standard output, or None.
        html_path: HTML report or None.
        ledger: directory of a new ledger, or "" for one in the user's state directory.
        resume: directory of the ledger to continue, or "".
        model: model whose trace is recorded first, or "".
    """

    json_path: str | None = None
    html_path: str | None = None
    ledger: str = ""
    resume: str = ""
    model: str = ""


def run_command(request: Request, outputs: Outputs, *, target_given: bool) -> int:
    """Runs an audit and reports it; returns the exit code."""
    check_device(request.device)
    torch.set_num_threads(1)  # its threads spin: on a busy machine two of them were eight times slower than one
    request, ledger, scheme, source = _start(request, outputs, target_given=target_given)
    with _progress() as progress:
        task = progress.add_task("audit", total=None)

        def step(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, description=name)

        try:
            results = run_audit(scheme, request, ledger, source, step)
        except KeyboardInterrupt:
            progress.stop()
            where = ledger.path.parent
            text = f"interrupted; {len(ledger.results)} claims are recorded. Continue with: --resume {where}"
            errors().print(text, style="yellow", markup=False, soft_wrap=True)
            return INTERRUPTED
        progress.update(task, completed=len(results), total=len(results), description="done")
    _report(request, outputs, ledger, results)
    if not (outputs.ledger or outputs.resume):
        rmtree(ledger.path.parent, ignore_errors=True)  # a finished run has nothing to resume
    return exit_code(results)


def check_device(device: str) -> None:
    """Refuses a device that is unknown or not there.

    Raises:
        InvalidInputError: names it.
    """
    if device not in ("cpu", "cuda"):
        raise InvalidInputError("device", "cpu or cuda", device)
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("device", "cpu, or cuda where there is a CUDA device", "cuda, and there is none")


def source_digest(target: str) -> str:
    """The digest of the file of `file.py:object`, or "" for a scheme that is installed."""
    path = Path(target.rpartition(":")[0] or target)
    if path.suffix != ".py" or not path.is_file():
        return ""
    return "sha256:" + sha256(path.read_bytes()).hexdigest()


def _start(request: Request, outputs: Outputs, *, target_given: bool) -> tuple[Request, Ledger, Scheme, str]:
    if outputs.resume:
        if outputs.ledger or outputs.model:
            raise InvalidInputError("resume", "no --ledger and no --model beside it", "one of them")
        ledger = open_ledger(Path(outputs.resume))
        asked = request_of(dict(ledger.settings))
        if target_given and request.target != asked.target:
            raise InvalidInputError("target", f"{asked.target}, as in the ledger, or none", request.target)
        request = asked
        source = source_digest(request.target)
        check_same(ledger, request, source)
        return request, ledger, resolve_scheme(request.target), source
    scheme, source = resolve_scheme(request.target), source_digest(request.target)
    directory = Path(outputs.ledger) if outputs.ledger else _new_directory()
    if outputs.model:
        request = replace(request, trace=_recorded(outputs.model, request, directory))
    ledger = create_ledger(directory, settings_of(request, source))
    errors().print(f"ledger: {directory}", style="dim", markup=False, highlight=False, soft_wrap=True)
    return request, ledger, scheme, source


def _recorded(model: str, request: Request, directory: Path) -> str:
    from proofkv_verify.adapters.record import record_trace

    if request.trace:
        raise InvalidInputError("model", "no --trace beside it", model)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "trace.safetensors"
    record_trace(model, path)
    return str(path)


def _new_directory() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    for base in (Path(state), Path(gettempdir())):
        parent = base / "proofkv-verify"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            return Path(mkdtemp(prefix=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-", dir=parent))
        except OSError:
            continue
    raise InvalidInputError("ledger", "a state directory that can be written (or --ledger DIR)", state)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors(),
        transient=True,
    )


def _report(request: Request, outputs: Outputs, ledger: Ledger, results: list[ClaimResult]) -> None:
    versions: dict[str, str] = ledger.settings["versions"]
    human(outputs.json_path).print(table(request.target, results))
    write_json(outputs.json_path, report_json(request.target, versions, results))
    if outputs.html_path is not None:
        write_text(outputs.html_path, html(request.target, versions, results, _facts(request, ledger)))


def _facts(request: Request, ledger: Ledger) -> dict[str, Any]:
    return {
        "trace": request.trace or "embedded: SmolLM2-135M",
        "trace digest": ledger.settings["trace_digest"],
        "seed": request.seed,
        "budget": f"{request.budget_s:g} s",
        "inputs": ", ".join(request.engines),
        "device": request.device,
        "source digest": ledger.settings["source"] or "built in",
    }
