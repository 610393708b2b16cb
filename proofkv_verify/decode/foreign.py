"""Models from elsewhere behind the decoder's interface: SmolLM2-135M, and any Llama-type model of transformers.

The real-number model that a certificate speaks of is the one with exactly these weights; an engine that runs them in
float16 or bfloat16, or takes norms, angles and weights in float32 as transformers does, rounds and is another function.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from proofkv_verify.adapters.smollm2 import Model as GgufModel
from proofkv_verify.decode.config import ModelConfig, metadata_of
from proofkv_verify.decode.model import Model, build_model
from proofkv_verify.errors import InvalidInputError

_GGUF = {
    "gain_attention": "attn_norm", "gain_mlp": "ffn_norm", "wq": "attn_q", "wk": "attn_k", "wv": "attn_v",
    "wo": "attn_output", "w1": "ffn_gate", "w3": "ffn_up", "w2": "ffn_down",
}  # fmt: skip
_TRANSFORMERS = {
    "gain_attention": "input_layernorm", "gain_mlp": "post_attention_layernorm", "wq": "self_attn.q_proj",
    "wk": "self_attn.k_proj", "wv": "self_attn.v_proj", "wo": "self_attn.o_proj", "w1": "mlp.gate_proj",
    "w3": "mlp.up_proj", "w2": "mlp.down_proj",
}  # fmt: skip


def from_gguf(model: GgufModel) -> Model:
    """A model read by `adapters.smollm2`: its float32 weights, embedding and head tied where there is no head."""
    c = model.config
    config = ModelConfig(
        num_layers=c.num_layers, hidden_size=c.hidden_size, num_heads=c.num_heads, num_kv_heads=c.num_kv_heads,
        head_dim=c.head_dim, intermediate_size=model.weights["blk.0.ffn_up.weight"].shape[0], vocab_size=c.vocab_size,
        context=c.context_length, rope_theta=Fraction(c.rope_theta), rms_norm_eps=Fraction(c.rms_eps),
    )  # fmt: skip
    names = {
        f"layers.{i}.{ours}": f"blk.{i}.{theirs}.weight" for i in range(c.num_layers) for ours, theirs in _GGUF.items()
    }
    names |= {"embedding": "token_embd.weight", "gain_final": "output_norm.weight", "head": "output.weight"}
    return build_model(config, _renamed(model.weights, names, "token_embd.weight"), c.name)


def from_transformers(model: Any) -> Model:
    """A model from a transformers `LlamaForCausalLM` (or a Mistral without a sliding window).

    Args:
        model: the model; its configuration and `state_dict()` are read, nothing of it is run.

    Raises:
        InvalidInputError: anything that this architecture does not have: another model type or activation, a bias, a
            sliding window, scaled or partial rotary embeddings, quantized or missing weights.
    """
    return from_state(config_of(model.config), model.state_dict(), str(model.config._name_or_path or "transformers"))


def save_transformers(model: Any, path: Path) -> None:
    """Writes a transformers model as a model file for `decode --model FILE` and for the checker of its certificates.

    Args:
        model: as in `from_transformers`.
        path: the safetensors file to write; weights keep their dtype.

    Raises:
        InvalidInputError: as `from_transformers`.
    """
    config = config_of(model.config)
    tensors = state_tensors(config, model.state_dict())
    build_model(config, tensors, path.name)
    save_file({name: x.detach().contiguous().clone() for name, x in tensors.items()}, path, metadata_of(config))


def config_of(config: Any) -> ModelConfig:
    """The architecture that a transformers configuration describes.

    Raises:
        InvalidInputError: as `from_transformers`.
    """
    if config.model_type not in ("llama", "mistral"):
        raise InvalidInputError("model_type", "llama, or mistral without a sliding window", config.model_type)
    if config.hidden_act not in ("silu", "swish"):
        raise InvalidInputError("hidden_act", "silu", config.hidden_act)
    for name in ("attention_bias", "mlp_bias", "sliding_window", "quantization_config"):
        if (got := getattr(config, name, None)) not in (None, False):
            raise InvalidInputError(name, "none, as this architecture has none", got)
    if set(layers := getattr(config, "layer_types", None) or ()) - {"full_attention"}:
        raise InvalidInputError("layer_types", "full_attention in every layer", layers)
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    return ModelConfig(
        num_layers=config.num_hidden_layers, hidden_size=config.hidden_size, num_heads=heads,
        num_kv_heads=kv_heads or heads, head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        intermediate_size=config.intermediate_size, vocab_size=config.vocab_size,
        context=config.max_position_embeddings, rope_theta=_theta(config), rms_norm_eps=Fraction(config.rms_norm_eps),
    )  # fmt: skip


def _theta(config: Any) -> Fraction:
    """The base of plain rotary embeddings, as transformers 5 (`rope_parameters`) or 4 (`rope_theta`) states it."""
    rope = dict(getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {})
    theta = rope.pop("rope_theta", getattr(config, "rope_theta", None))
    plain = rope.pop("rope_type", rope.pop("type", "default")) == "default"
    if not plain or theta is None or rope.pop("partial_rotary_factor", 1.0) != 1.0 or rope:
        given = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
        raise InvalidInputError("rope_parameters", "plain rotary embeddings: rope_theta and type default", given)
    return Fraction(theta)


def from_state(config: ModelConfig, state: Mapping[str, Tensor], name: str) -> Model:
    """A model from the `state_dict` of a transformers Llama-type causal model (half-split RoPE, RMSNorm, SwiGLU).

    Args:
        config: its architecture.
        state: tensors under names such as `model.layers.0.self_attn.q_proj.weight`.
        name: for messages.

    Raises:
        InvalidInputError: a tensor is missing, or one is there that this architecture does not have (a bias, a q-norm).
    """
    return build_model(config, state_tensors(config, state), name)


def state_tensors(config: ModelConfig, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of such a state under this package's names.

    Raises:
        InvalidInputError: a tensor that this architecture does not have.
    """
    names = {
        f"layers.{i}.{ours}": f"model.layers.{i}.{theirs}.weight"
        for i in range(config.num_layers)
        for ours, theirs in _TRANSFORMERS.items()
    }
    names |= {"embedding": "model.embed_tokens.weight", "gain_final": "model.norm.weight", "head": "lm_head.weight"}
    if extra := sorted(set(state) - set(names.values())):
        raise InvalidInputError("model", "a Llama-type model without biases or further norms", f"a tensor {extra[0]}")
    return _renamed(state, names, "model.embed_tokens.weight")


def _renamed(state: Mapping[str, Tensor], names: Mapping[str, str], tied: str) -> dict[str, Tensor]:
    found = {ours: state[theirs] for ours, theirs in names.items() if theirs in state}
    if "head" not in found and tied in state:
        found["head"] = state[tied]
    return found
