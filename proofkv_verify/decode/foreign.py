"""Models from elsewhere behind the decoder's interface: SmolLM2-135M, and the state of any Llama-type model.

The real-number model that a certificate speaks of is the one with exactly these weights; a float16 or bfloat16 engine
that runs them rounds every step and is another function.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from torch import Tensor

from proofkv_verify.adapters.smollm2 import Model as GgufModel
from proofkv_verify.decode.config import ModelConfig
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


def from_state(config: ModelConfig, state: Mapping[str, Tensor], name: str) -> Model:
    """A model from the `state_dict` of a transformers Llama-type causal model (half-split RoPE, RMSNorm, SwiGLU).

    Args:
        config: its architecture.
        state: tensors under names such as `model.layers.0.self_attn.q_proj.weight`.
        name: for messages.

    Raises:
        InvalidInputError: a tensor is missing, or one is there that this architecture does not have (a bias, a q-norm).
    """
    layers = range(config.num_layers)
    names = {
        f"layers.{i}.{ours}": f"model.layers.{i}.{theirs}.weight"
        for i in layers
        for ours, theirs in _TRANSFORMERS.items()
    }
    names |= {"embedding": "model.embed_tokens.weight", "gain_final": "model.norm.weight", "head": "lm_head.weight"}
    if extra := sorted(set(state) - set(names.values())):
        raise InvalidInputError("model", "a Llama-type model without biases or further norms", f"a tensor {extra[0]}")
    return build_model(config, _renamed(state, names, "model.embed_tokens.weight"), name)


def _renamed(state: Mapping[str, Tensor], names: Mapping[str, str], tied: str) -> dict[str, Tensor]:
    found = {ours: state[theirs] for ours, theirs in names.items() if theirs in state}
    if "head" not in found and tied in state:
        found["head"] = state[tied]
    return found
