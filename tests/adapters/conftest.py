"""A tiny trace that each test breaks in one place."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from proofkv_verify.adapters.trace import Trace, TraceLayer, TraceMeta


def make_layer(layer_id: int) -> TraceLayer:
    generator = torch.Generator().manual_seed(layer_id)

    def draw(heads: int, length: int) -> torch.Tensor:
        return torch.randn(heads, length, 8, generator=generator).half()

    return TraceLayer(layer_id, draw(6, 3), draw(2, 5), draw(2, 5))


@pytest.fixture
def meta() -> TraceMeta:
    return TraceMeta(
        model="tiny",
        layer_ids=(1, 4),
        num_heads=6,
        num_kv_heads=2,
        head_dim=8,
        softmax_scale=Fraction(8**-0.5),
        rope_kind="half_split",
        rope_theta=Fraction(10000),
        rope_factor=Fraction(1),
        rotary_dim=8,
        stage="post_rope",
        soft_cap=Fraction(50),
        window=4,
        dtype="float16",
        source="random numbers",
        licence="none needed",
    )


@pytest.fixture
def trace(meta: TraceMeta) -> Trace:
    return Trace(
        meta,
        (make_layer(1), make_layer(4)),
        torch.tensor([5, 6, 9]),
        torch.tensor([0, 1, 4, 6, 9]),
        torch.tensor([3, 1, 4, 1, 5]),
    )
