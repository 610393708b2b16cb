"""A small random model of the decoder's architecture, so that tests of the mathematics need no trained weights."""

from __future__ import annotations

from fractions import Fraction

import torch

from proofkv_verify.decode.config import ModelConfig
from proofkv_verify.decode.model import Model, build_model


def tiny_config(layers: int = 2, group_size: int = 2) -> ModelConfig:
    return ModelConfig(
        num_layers=layers, hidden_size=16, num_heads=2 * group_size, num_kv_heads=2, head_dim=4, intermediate_size=24,
        vocab_size=16, context=128, rope_theta=Fraction(10000), rms_norm_eps=Fraction(1, 100000),
    )  # fmt: skip


def tiny_tensors(config: ModelConfig, seed: int = 0, scale: float = 0.7) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape in config.shapes().items():
        noise = torch.randn(shape, generator=generator)
        gain = len(shape) == 1
        found[name] = (
            1 + 0.2 * noise if gain else noise * scale / shape[-1] ** 0.5 if name != "embedding" else noise
        ).bfloat16()
    return found


def tiny_model(layers: int = 2, seed: int = 0, group_size: int = 2) -> Model:
    config = tiny_config(layers, group_size)
    return build_model(config, tiny_tensors(config, seed), "tiny")


def tiny_ids(length: int, seed: int = 0) -> list[int]:
    generator = torch.Generator().manual_seed(seed + 1000)
    return torch.randint(0, 16, (length,), generator=generator).tolist()
