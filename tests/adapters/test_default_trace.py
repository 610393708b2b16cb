"""The trace in the package is what its documentation promises."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from proofkv_verify.adapters.trace import Trace, default_trace_path, load_trace

LIMIT_BYTES = 4 * 1024 * 1024


@pytest.fixture(scope="module")
def default() -> Trace:
    return load_trace(default_trace_path())


def turned_back(trace: Trace, theta: float, *, interleaved: bool) -> torch.Tensor:
    """Pre-RoPE keys of the first layer, float64 ``[num_kv_heads, seq_len, 2, head_dim/2]``."""
    meta = trace.meta
    pairs = torch.arange(0, meta.rotary_dim, 2, dtype=torch.float64) / meta.rotary_dim
    angles = torch.outer(trace.key_positions.double(), theta**-pairs)
    keys = trace.layers[0].keys.double()
    first, second = (keys[..., ::2], keys[..., 1::2]) if interleaved else keys.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((first * cos + second * sin, second * cos - first * sin), dim=-2)


def worst_spread(trace: Trace, keys: torch.Tensor) -> float:
    """Largest difference of the keys of equal tokens, as a multiple of the fp16 rounding it may have."""
    pair_norm = keys.square().sum(dim=-2, keepdim=True).sqrt()
    worst = 0.0
    for token in trace.token_ids.unique():
        same = trace.token_ids == token
        spread = keys[:, same].amax(dim=1) - keys[:, same].amin(dim=1)
        allowed = pair_norm[:, same].amax(dim=1) * 2**-9 + 2**-20
        worst = max(worst, float((spread / allowed).max()))
    return worst


def test_default_trace_has_the_promised_size(default: Trace) -> None:
    assert default_trace_path().stat().st_size <= LIMIT_BYTES
    assert default.meta.dtype == "float16"
    assert (default.meta.num_heads, default.meta.num_kv_heads, default.meta.head_dim) == (9, 3, 64)
    assert default.seq_len == 512
    assert default.num_queries == 32


def test_default_trace_spans_the_depth_of_the_model(default: Trace) -> None:
    assert default.meta.layer_ids == (0, 5, 11, 17, 23, 29)


def test_default_queries_are_the_last_positions(default: Trace) -> None:
    assert default.query_positions.tolist() == list(range(480, 512))
    assert default.key_positions.tolist() == list(range(512))


def test_default_trace_names_constants_text_and_licence(default: Trace) -> None:
    assert default.meta.softmax_scale == Fraction(1, 8)
    assert default.meta.rope_theta == 100_000
    assert "Ruth" in default.meta.source
    assert "MIT" in default.meta.licence
    assert default_trace_path().with_name("ruth-kjv.txt").read_text().startswith("Now it came to pass")


def test_default_trace_has_peaked_and_flat_heads(default: Trace) -> None:
    hidden = default.key_positions[None] > default.query_positions[:, None]
    tops = []
    for layer in default.layers:
        keys = layer.keys.double().repeat_interleave(default.meta.group_size, dim=0)
        scores = layer.queries.double() @ keys.transpose(1, 2) * float(default.meta.softmax_scale)
        weights = scores.masked_fill(hidden, -float("inf")).softmax(dim=-1)
        tops.append(weights.amax(dim=-1).mean(dim=-1))
    assert float(torch.cat(tops).min()) < 0.05
    assert float(torch.cat(tops).max()) > 0.8


def test_turned_back_keys_of_the_first_layer_depend_on_the_token_alone(default: Trace) -> None:
    keys = turned_back(default, 100_000.0, interleaved=False)
    assert worst_spread(default, keys) <= 1


@pytest.mark.parametrize(("theta", "interleaved"), [(10_000.0, False), (100_000.0, True)])
def test_keys_turned_back_by_another_law_differ(default: Trace, theta: float, interleaved: bool) -> None:
    assert worst_spread(default, turned_back(default, theta, interleaved=interleaved)) > 100
