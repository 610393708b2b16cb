"""Reads a model file into the ball model, with the standard library alone."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.model import Model, Sizes, build
from proofkv_verify.reference.tensors import TensorFile, read_tensors

FORMAT = "proofkv-verify/model/1"
_SIZES = (
    "num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_size", "intermediate_size", "vocab_size",
)  # fmt: skip


def read_model(path: Path, digest: str | None = None) -> Model:
    """The model of a file, exactly.

    Args:
        path: the model file.
        digest: SHA-256 that the file must have, or None for any.

    Raises:
        InvalidInputError: another file, no model file, another architecture, a tensor missing or of another shape.
    """
    file = read_tensors(path)
    if digest is not None and file.digest != digest:
        raise InvalidInputError(f"model {path.name}", f"the file that was decoded, SHA-256 {digest}", file.digest)
    config = _config(file, path)
    for name, shape in _shapes(config).items():
        found = file.tensors[name].shape if name in file.tensors else None
        if found != shape:
            raise InvalidInputError(f"{path}: tensor {name}", f"shape {list(shape)}", list(found) if found else "none")
        if not all(map(math.isfinite, file.tensors[name].values)):
            raise InvalidInputError(f"{path}: tensor {name}", "finite numbers", "a NaN or an infinity")
    sizes = Sizes(
        config["num_layers"], config["num_heads"], config["num_kv_heads"], config["head_dim"],
        Fraction(config["rope_theta"]), Fraction(config["rms_norm_eps"]),
    )  # fmt: skip
    return build(sizes, {name: file.tensors[name].rows() for name in _shapes(config)})


def _config(file: TensorFile, path: Path) -> dict[str, Any]:
    if file.metadata.get("format") != FORMAT:
        raise InvalidInputError(str(path), f"metadata format {FORMAT}", file.metadata.get("format"))
    try:
        config = dict(json.loads(file.metadata["config"]))
        theta, eps = Fraction(config["rope_theta"]), Fraction(config["rms_norm_eps"])
        whole = all(type(config[name]) is int and config[name] > 0 for name in _SIZES)
        fits = whole and config["num_heads"] % config["num_kv_heads"] == 0 and config["head_dim"] % 2 == 0
        if config["architecture"] == "llama" and fits and theta > 0 and eps >= 0:
            return config
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InvalidInputError(str(path), "a complete config in the metadata", repr(error)) from error
    raise InvalidInputError(str(path), "a Llama-style architecture whose sizes fit", file.metadata["config"])


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q, kv = config["num_heads"] * config["head_dim"], config["num_kv_heads"] * config["head_dim"]
    layer: dict[str, tuple[int, ...]] = {
        "gain_attention": (d,), "gain_mlp": (d,), "wq": (q, d), "wk": (kv, d), "wv": (kv, d), "wo": (d, q),
        "w1": (f, d), "w3": (f, d), "w2": (d, f),
    }  # fmt: skip
    found: dict[str, tuple[int, ...]] = {"embedding": (v, d), "gain_final": (d,), "head": (v, d)}
    for index in range(config["num_layers"]):
        found |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return found
