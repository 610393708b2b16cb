"""What architecture a decoder model has, and the file format that carries it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from proofkv_verify.errors import InvalidInputError

MODEL_FORMAT = "proofkv-verify/model/1"
_SIZES = (
    "num_layers", "hidden_size", "num_heads", "num_kv_heads", "head_dim", "intermediate_size", "vocab_size", "context",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes and constants of a Llama-style model: RMSNorm, half-split RoPE, grouped attention, SwiGLU, no biases.

    Attributes:
        num_layers, hidden_size, num_heads, num_kv_heads, head_dim, intermediate_size, vocab_size: the usual sizes.
        context: largest number of positions that the model was trained for.
        rope_theta: base of the rotary frequencies.
        rms_norm_eps: constant inside the root of every RMSNorm.
    """

    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    context: int
    rope_theta: Fraction
    rms_norm_eps: Fraction

    def __post_init__(self) -> None:
        for name in _SIZES:
            if getattr(self, name) < 1:
                raise InvalidInputError(name, "a positive number", getattr(self, name))
        if self.num_heads % self.num_kv_heads:
            raise InvalidInputError("num_heads", f"a multiple of num_kv_heads = {self.num_kv_heads}", self.num_heads)
        if self.head_dim % 2:
            raise InvalidInputError("head_dim", "an even number, for half-split RoPE", self.head_dim)
        if self.rope_theta <= 0 or self.rms_norm_eps < 0:
            raise InvalidInputError(
                "rope_theta and rms_norm_eps", "positive constants", (self.rope_theta, self.rms_norm_eps)
            )

    @property
    def group_size(self) -> int:
        """Query heads that share one KV head."""
        return self.num_heads // self.num_kv_heads

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor that a model file must hold."""
        d, kv, q, ff = (
            self.hidden_size,
            self.num_kv_heads * self.head_dim,
            self.num_heads * self.head_dim,
            self.intermediate_size,
        )
        layer = {
            "gain_attention": (d,), "gain_mlp": (d,), "wq": (q, d), "wk": (kv, d), "wv": (kv, d), "wo": (d, q),
            "w1": (ff, d), "w3": (ff, d), "w2": (d, ff),
        }  # fmt: skip
        found: dict[str, tuple[int, ...]] = {
            "embedding": (self.vocab_size, d), "gain_final": (d,), "head": (self.vocab_size, d),
        }  # fmt: skip
        for index in range(self.num_layers):
            found.update({f"layers.{index}.{name}": shape for name, shape in layer.items()})
        return found


def parse_config(metadata: Mapping[str, str] | None) -> ModelConfig:
    """The architecture that the metadata of a model file states.

    Raises:
        InvalidInputError: no model file of this format, or another architecture.
    """
    if not metadata or metadata.get("format") != MODEL_FORMAT:
        raise InvalidInputError("model file", f"metadata format {MODEL_FORMAT}", (metadata or {}).get("format"))
    try:
        raw: dict[str, Any] = json.loads(metadata["config"])
        if raw["architecture"] != "llama":
            raise InvalidInputError("architecture", "llama", raw["architecture"])
        sizes = {name: int(raw[name]) for name in _SIZES}
        return ModelConfig(**sizes, rope_theta=Fraction(raw["rope_theta"]), rms_norm_eps=Fraction(raw["rms_norm_eps"]))
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInputError("model file", "a complete config in the metadata", repr(error)) from error


def metadata_of(config: ModelConfig) -> dict[str, str]:
    """The metadata of a model file, from which `parse_config` reads the same architecture."""
    constants = {name: str(getattr(config, name)) for name in ("rope_theta", "rms_norm_eps")}
    sizes = {name: getattr(config, name) for name in _SIZES}
    return {"format": MODEL_FORMAT, "config": json.dumps({"architecture": "llama", **sizes, **constants})}
