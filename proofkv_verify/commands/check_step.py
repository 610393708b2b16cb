"""`check` on the certificate of a decoding step; python-flint and the standard library are enough."""

from __future__ import annotations

import json
from pathlib import Path

from proofkv_verify.commands.console import human, verdict_code, write_json
from proofkv_verify.commands.show import verdict_text
from proofkv_verify.decode.defaults import MODELS
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.step_check import check_step

SCHEMA = "proofkv-verify/check-step/1"


def check_step_command(path: Path, text: str, model: str | None, full: Path | None, json_path: str | None) -> int:
    """Derives a step's certificate again and says what was derived and what was taken on trust.

    Args:
        path: the JSON document, whose tensors lie beside it.
        text: what it holds.
        model: name of a shipped model or a model file; the shipped one that the certificate names without it.
        full: safetensors file with the full cache's `keys` and `values` `[L, G, T, D]`, to check the sidecars too.
        json_path: file for the report, "-" for standard output.
    """
    report = check_step(path, _model(model, text), full)
    out = human(json_path)
    lines = [("verdict", verdict_text(report.verdict))]
    lines += [("derived", what) for what in report.derived] + [("trusted", what) for what in report.trusted]
    for name, what in lines:
        out.print(f"{name:<8} {what}", markup=False, highlight=False, soft_wrap=True)
    row = {"verdict": type(report.verdict).__name__, "text": verdict_text(report.verdict)}
    write_json(json_path, {"schema": SCHEMA, **row, "derived": report.derived, "trusted": report.trusted})
    return verdict_code(report.verdict)


def _model(name: str | None, text: str) -> Path:
    """The model file; a certificate may name a shipped model, but no file."""
    if name is not None:
        return MODELS.get(name, Path(name))
    named = str(json.loads(text).get("model"))
    if named not in MODELS:
        raise InvalidInputError("--model", f"the file of the model {named!r}, which is not shipped", "nothing")
    return MODELS[named]
