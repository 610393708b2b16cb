"""Models of transformers through the adapter: the same forward pass, certified decoding, one error for what differs.

Whatever the dtype of a model, transformers takes RMSNorm and the angles of RoPE in float32 (and the softmax in one of
its attention functions), so forward passes are compared up to float32's rounding, which decides nothing about
soundness; a wrong base or constant is far outside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from proofkv_verify.ball import precision
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.foreign import config_of, from_state, from_transformers, save_transformers, state_tensors
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import Decider, open_cache
from proofkv_verify.decode.model import Cache, Model, Trace, advance, load_model
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.step_certificate import save_certificate, save_rows, step_certificate
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference import model as ball_model
from proofkv_verify.reference.model import Sizes, build
from proofkv_verify.reference.step_check import check_step
from proofkv_verify.verdict import Verified
from tests.decode.tiny import tiny_config, tiny_tensors

F64 = torch.float64
SIZES = {
    "vocab_size": 40, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 96, "rms_norm_eps": 1e-3,
}  # fmt: skip
ROPE = {"rope_theta": 500.0, "rope_type": "default"}
FLOAT32 = 2.0**-24
IDS = torch.randint(0, 40, (21,), generator=torch.Generator().manual_seed(5)).tolist()


def plain(**change: Any) -> SimpleNamespace:
    """The configuration of a Llama as transformers 5 holds it, without transformers."""
    base = {"model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
    return SimpleNamespace(**(base | SIZES | {"rope_parameters": dict(ROPE), "_name_or_path": ""} | change))


@pytest.fixture(scope="module")
def theirs() -> Any:
    """A seeded random Llama with grouped heads and gains far from 1, in float64 with float32 numbers."""
    transformers = pytest.importorskip("transformers", reason="needs transformers (make test-model)")
    torch.manual_seed(11)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, rope_parameters=dict(ROPE))).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape)
            weight.copy_(1 + 0.3 * noise if weight.ndim == 1 else noise * (1.0 if "embed" in name else 0.25))
    return model.double()


def logits(model: Any, ids: Sequence[int]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(torch.tensor([list(ids)])).logits[0, -1]
    return found


def unrounded_step(model: Model, ids: Sequence[int]) -> Trace:
    """Our step on the last token over rows that were never stored in float16."""
    caches = [Cache(torch.zeros(2, 0, 8, dtype=F64), torch.zeros(2, 0, 8, dtype=F64)) for _ in model.layers]
    for at, token in enumerate(ids):
        trace = advance(model, token, at, caches)
        caches = [c.extended(tr.keys[:, -1:], tr.values[:, -1:]) for c, tr in zip(caches, trace.layers, strict=True)]
    return trace


def ours(model: Model, ids: Sequence[int]) -> torch.Tensor:
    trace = unrounded_step(model, ids)
    return trace.scores / (trace.final.square().mean() + float(model.config.rms_norm_eps)).sqrt()


def distance(model: Model, theirs: Any) -> float:
    """The largest difference of the logits over the largest logit, in units of float32's roundoff."""
    found = logits(theirs, IDS)
    return float((ours(model, IDS) - found).abs().max() / found.abs().max() / FLOAT32)


def test_logits_agree_with_transformers_up_to_float32s_rounding(theirs: Any) -> None:
    assert distance(from_transformers(theirs), theirs) < 100


@pytest.mark.parametrize(
    "change", [{"rope_theta": Fraction(505)}, {"rms_norm_eps": Fraction(3, 2000)}], ids=["base", "constant"]
)
def test_another_base_or_constant_is_far_outside_that(theirs: Any, change: dict[str, Fraction]) -> None:
    config = dataclasses.replace(config_of(theirs.config), **change)
    assert distance(from_state(config, theirs.state_dict(), "other"), theirs) > 2000


def test_the_ball_model_and_ours_agree_up_to_float64s_rounding(theirs: Any) -> None:
    config = config_of(theirs.config)
    tensors = {name: x.tolist() for name, x in state_tensors(config, theirs.state_dict()).items()}
    rows = {name: x if isinstance(x[0], list) else [x] for name, x in tensors.items()}
    sizes = Sizes(2, 4, 2, 8, config.rope_theta, config.rms_norm_eps)
    trace = unrounded_step(from_transformers(theirs), IDS)
    keys = [[head.tolist() for head in tr.keys[:, :-1]] for tr in trace.layers]
    values = [[head.tolist() for head in tr.values[:, :-1]] for tr in trace.layers]
    with precision(192):
        steps = ball_model.advance(build(sizes, rows), IDS[-1], len(IDS) - 1, keys, values)
        exact = torch.tensor([float(s.mid()) for s in ball_model.scores(build(sizes, rows), steps[-1])], dtype=F64)
    assert (trace.scores - exact).abs().max() < 1000 * 2.0**-53 * exact.abs().max()


@pytest.mark.parametrize(("policy", "levels"), [("exact", (6, 10, 16)), ("exact:4", (4, 8)), ("joint", (13, 16))])
def test_certified_decoding_emits_the_greedy_tokens_of_transformers(
    theirs: Any, policy: str, levels: tuple[int, ...]
) -> None:
    ids = list(IDS)
    for _ in range(12):
        ids.append(int(logits(theirs, ids).argmax()))
    found = CertifiedDecoder(from_transformers(theirs), Scheme(levels, 8), policy).generate(IDS, 12)
    assert list(found.tokens) == ids[len(IDS) :]
    assert found.summary.certified + found.summary.refined > 0


def test_a_saved_model_gives_certificates_that_the_checker_verifies(theirs: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_transformers(theirs, path)
    model = load_model(path)
    assert torch.equal(model.head, from_transformers(theirs).head)
    opened = open_cache(FullCache.of_prompt(model, IDS[:-1]), Scheme((12, 16), 8))
    decision = Decider(model).decide(opened, IDS[-1])
    assert decision is not None
    save_certificate(step_certificate(model, opened, IDS[-1], decision), tmp_path / "step.json")
    save_rows(opened, tmp_path / "rows.safetensors")
    assert isinstance(check_step(tmp_path / "step.json", path, tmp_path / "rows.safetensors").verdict, Verified)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"attention_bias": True}, "attention_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"rope_parameters": {"rope_theta": 500.0, "rope_type": "linear", "factor": 2.0}}, "rope_parameters"),
        (
            {
                "rope_parameters": {
                    "rope_theta": 500.0, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
                }
            },
            "rope_parameters",
        ),
        (
            {
                "rope_parameters": {
                    "rope_theta": 500.0, "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32
                }
            },
            "rope_parameters",
        ),
    ],
    ids=["attention-bias", "mlp-bias", "gelu", "linear", "llama3", "yarn"],
)  # fmt: skip
def test_a_llama_that_differs_is_refused(theirs: Any, change: dict[str, Any], match: str) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(**(SIZES | {"rope_parameters": dict(ROPE)} | change))
    with pytest.raises(InvalidInputError, match=match) as error:
        from_transformers(transformers.LlamaForCausalLM(config))
    assert "\n" not in str(error.value)


def test_a_mistral_is_read_without_a_sliding_window_only(theirs: Any) -> None:
    transformers = pytest.importorskip("transformers")
    given = SIZES | {"rope_parameters": dict(ROPE)}
    torch.manual_seed(3)
    model = transformers.MistralForCausalLM(transformers.MistralConfig(**given, sliding_window=None)).double().eval()
    assert distance(from_transformers(model), model) < 100
    with pytest.raises(InvalidInputError, match="sliding_window"):
        from_transformers(transformers.MistralForCausalLM(transformers.MistralConfig(**given, sliding_window=8)))


def test_a_tied_head_is_read(theirs: Any) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(**SIZES, rope_parameters=dict(ROPE), tie_word_embeddings=True)
    torch.manual_seed(4)
    model = transformers.LlamaForCausalLM(config).double().eval()
    found = from_transformers(model)
    assert torch.equal(found.head, found.embedding * model.model.norm.weight)


def test_other_models_of_transformers_are_refused(theirs: Any) -> None:
    transformers = pytest.importorskip("transformers")
    small = {k: v for k, v in SIZES.items() if k != "rms_norm_eps"}
    with pytest.raises(InvalidInputError, match="model_type: expected llama"):
        from_transformers(transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**small)))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"model_type": "qwen2"}, "model_type"),
        ({"attention_bias": True}, "attention_bias"),
        ({"sliding_window": 64}, "sliding_window"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"rope_parameters": {**ROPE, "rope_type": "yarn"}}, "rope_parameters"),
        ({"rope_parameters": {**ROPE, "partial_rotary_factor": 0.5}}, "rope_parameters"),
        ({"rope_parameters": {"full_attention": dict(ROPE)}}, "rope_parameters"),
        ({"rope_parameters": None, "rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_parameters"),
        ({"rope_parameters": None}, "rope_parameters"),
    ],
)
def test_a_configuration_that_differs_is_refused(change: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        config_of(plain(**change))


def test_configurations_of_both_generations_are_read() -> None:
    found = config_of(plain())
    assert (found.head_dim, found.num_kv_heads, found.rope_theta) == (8, 2, 500)
    assert found.rms_norm_eps == Fraction(1e-3)
    old = plain(rope_parameters=None, rope_theta=10000.0, rope_scaling=None, head_dim=None, num_key_value_heads=None)
    found = config_of(old)
    assert (found.head_dim, found.num_kv_heads, found.rope_theta) == (6, 4, 10000)


def test_weights_that_float32_cannot_hold_are_refused() -> None:
    """Folding a gain would round them, and no noise term would speak of it."""
    tensors = {name: x.double() for name, x in tiny_tensors(tiny_config(), 1).items()}
    tensors["layers.0.w2"] = tensors["layers.0.w2"] * (1 + 2.0**-30)
    names = {
        "wq": "self_attn.q_proj", "wk": "self_attn.k_proj", "wv": "self_attn.v_proj", "wo": "self_attn.o_proj",
        "w1": "mlp.gate_proj", "w2": "mlp.down_proj", "w3": "mlp.up_proj", "gain_attention": "input_layernorm",
        "gain_mlp": "post_attention_layernorm",
    }  # fmt: skip
    state = {
        f"model.layers.{i}.{theirs}.weight": tensors[f"layers.{i}.{ours}"]
        for i in range(2)
        for ours, theirs in names.items()
    }
    state |= {"model.embed_tokens.weight": tensors["embedding"], "model.norm.weight": tensors["gain_final"]}
    with pytest.raises(InvalidInputError, match=r"tensor layers\.0\.w2: expected numbers that float32 holds"):
        from_state(tiny_config(), state, "fine")
