"""The certificate of one step as data: a JSON document and a safetensors file beside it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from proofkv_verify.decode.enclosure import layer_bounds
from proofkv_verify.decode.invariant import exact_rows
from proofkv_verify.decode.loop import Decision
from proofkv_verify.decode.model import Model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import KEYS, VALUES
from proofkv_verify.errors import InvalidInputError

SCHEMA = "proofkv-verify/decode-step/1"


@dataclass(frozen=True, slots=True)
class StepCertificate:
    """One certified step: the document, and the tensors that it names by digest."""

    document: dict[str, object]
    tensors: dict[str, Tensor]


def step_certificate(model: Model, opened: Opened, token: int, decision: Decision) -> StepCertificate:
    """The certificate of a step decided over exact generated rows.

    The pages are given as they were read: codes, scales, levels, token norms, and the rows of units at level 16 only.

    Raises:
        InvalidInputError: the step was not certified, or the tail was not exact.
    """
    if decision.outcome not in ("certified", "refined") or opened.uncertain:
        raise InvalidInputError("step", "one certified over an exact tail", decision.outcome)
    sets = [opened.sets(i) for i in range(len(model.layers))]
    bounds, _ = layer_bounds(model, decision.trace, sets)
    read = (opened.levels == 16)[..., None, None]
    zero, width = opened.pages.zero, opened.pages.width
    halves = {
        "zero_keys": zero[KEYS], "zero_values": zero[VALUES], "width_keys": width[KEYS], "width_values": width[VALUES],
        "norms": opened.token_norms(), "rows": torch.where(read, opened.pages.rows, 0.0), "tail": opened.tail,
    }  # fmt: skip
    tensors = {name: _half(name, x) for name, x in halves.items()} | {
        "codes": opened.codes.to(torch.int16), "levels": opened.levels.to(torch.uint8),
        "scores": decision.trace.scores, "gaps": decision.enclosure.gaps, "radii": decision.enclosure.radii,
        "sizes": torch.stack([torch.stack([b.attention.out.trace(), b.out.trace()]).sqrt() for b in bounds]),
    }  # fmt: skip
    document: dict[str, object] = {
        "schema": SCHEMA, "model": model.name, "model_digest": model.digest, "token": token,
        "position": opened.num_tokens, "winner": decision.token, "method": decision.enclosure.method,
        "ladder": list(opened.scheme.ladder), "page_size": opened.scheme.page_size,
    }  # fmt: skip
    return StepCertificate(document, {k: v.contiguous() for k, v in tensors.items()})


def _half(name: str, x: Tensor) -> Tensor:
    """The same numbers in float16, which is what scales, norms and rows are stored in."""
    half = x.to(torch.float16)
    if not torch.equal(half.to(x.dtype), x):
        raise InvalidInputError(name, "float16 numbers", "others")
    return half


def save_certificate(found: StepCertificate, path: Path) -> None:
    """Writes `path` (JSON) and the tensors beside it, with their digest and one of the document.

    Args:
        found: the certificate.
        path: a file name that ends in `.json`; the tensors go to the same name with `.safetensors`.
    """
    if path.suffix != ".json":
        raise InvalidInputError("certificate file", "a name that ends in .json", path.name)
    beside = path.with_suffix(".safetensors")
    save_file(found.tensors, beside)
    body = {**found.document, "tensors": hashlib.sha256(beside.read_bytes()).hexdigest()}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**body, "digest": hashlib.sha256(text.encode()).hexdigest()}, indent=1, sort_keys=True))


def save_rows(opened: Opened, path: Path) -> None:
    """Writes the full cache's rows as `keys` and `values` `[L, G, T, D]`, float16, which loses nothing.

    With them the checker holds the sidecars against what they bound.
    """
    keys, values = _half("rows", exact_rows(opened))
    save_file({"keys": keys.clone(), "values": values.clone()}, path)
