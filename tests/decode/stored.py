"""Models and certificates on disk, and how a forger would alter them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors.torch import load_file, save_file

from proofkv_verify.decode.config import MODEL_FORMAT
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import Decider, open_cache
from proofkv_verify.decode.model import Model, load_model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.step_certificate import save_certificate, save_rows, step_certificate
from tests.decode.tiny import tiny_config, tiny_ids, tiny_tensors

IDS = tiny_ids(30, 1)
Change: TypeAlias = Callable[[dict[str, Any], dict[str, torch.Tensor]], None]


def write_model(path: Path, layers: int = 2, seed: int = 1) -> Path:
    config = tiny_config(layers)
    text = {name: getattr(config, name) for name in config.__slots__}
    text |= {"architecture": "llama", "rope_theta": "10000", "rms_norm_eps": "1/100000"}
    save_file(tiny_tensors(config, seed), path, {"format": MODEL_FORMAT, "config": json.dumps(text)})
    return path


def certified(
    path: Path, out: Path, levels: tuple[int, ...] = (4, 12, 16), ids: list[int] = IDS
) -> tuple[Model, Opened]:
    """Writes the certificate of the step after `ids` to `out` and the full rows to rows.safetensors beside it."""
    model = load_model(path)
    opened = open_cache(FullCache.of_prompt(model, ids[:-1]), Scheme(levels, 8))
    decision = Decider(model).decide(opened, ids[-1])
    assert decision is not None
    save_certificate(step_certificate(model, opened, ids[-1], decision), out)
    save_rows(opened, out.with_name("rows.safetensors"))
    return model, opened


def rewrite(out: Path, change: Change) -> None:
    """Alters a certificate and gives it honest digests again; tensors are in float64 where they were float16."""
    document = json.loads(out.read_text())
    stored = load_file(out.with_suffix(".safetensors"))
    tensors = {name: x.double() if x.dtype == torch.float16 else x for name, x in stored.items()}
    del document["digest"]
    change(document, tensors)
    save_file(tensors, out.with_suffix(".safetensors"))
    document["tensors"] = hashlib.sha256(out.with_suffix(".safetensors").read_bytes()).hexdigest()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    out.write_text(json.dumps({**document, "digest": hashlib.sha256(text.encode()).hexdigest()}))


def scaled(name: str, factor: float | torch.Tensor) -> Change:
    """Multiplies one tensor."""

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors[name] = tensors[name] * factor

    return change
