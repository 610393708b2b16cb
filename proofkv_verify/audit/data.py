"""The inputs of an audit: tensors where wrong certificates die, random tensors, and a recorded trace."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import torch

from proofkv_verify.adapters.trace import Trace, TraceFile
from proofkv_verify.errors import InvalidInputError

ENGINES = ("adversarial", "trace", "random")
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
BATCH, KV_HEADS, GROUP, QUERIES = 2, 2, 2, 3
BETWEEN_LAYERS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Keys, values and queries that a scheme and its bounds are tried on.

    Attributes:
        name: what it is, for the reader.
        engine: adversarial, trace or random.
        keys: `[B, Hkv, T, D]`, fp16, bf16 or fp32, finite.
        values: as keys.
        queries: `[B, Hq, Q, D]`, same dtype; head h reads KV head `h // (Hq // Hkv)`.
        softmax_scale: exact factor of the logits.
        mask: bool `[Q, T]`, True = attend; every query attends to some key.
    """

    name: str
    engine: str
    keys: torch.Tensor
    values: torch.Tensor
    queries: torch.Tensor
    softmax_scale: Fraction
    mask: torch.Tensor


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the made cases: tokens, head dimension and the scale of their logits."""

    seq_len: int
    head_dim: int
    softmax_scale: Fraction


def seed_for(seed: int, name: str) -> int:
    """The seed of one claim, a function of the run's seed and the claim's name only."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:6])


def cases(
    engines: Sequence[str], shape: Shape, trace: Trace | TraceFile | None, seed: int, rounds: int
) -> Iterator[Case]:
    """One adversarial case, then the layers of the trace with adversarial cases between them, then random cases.

    Whoever runs out of time has seen some of each. All depends on the arguments only.

    Raises:
        InvalidInputError: no such engine, or an empty list of engines.
    """
    for engine in engines or ("nothing",):
        if engine not in ENGINES:
            raise InvalidInputError("engine", f"one of {', '.join(ENGINES)}", engine)
    made = adversarial_cases(shape) if "adversarial" in engines else iter(())
    real = trace_cases(trace) if "trace" in engines and trace is not None else iter(())
    yield from islice(made, 1)
    for case in real:
        yield case
        yield from islice(made, BETWEEN_LAYERS)
    yield from made
    if "random" in engines:
        yield from random_cases(shape, seed, rounds)


def trace_cases(trace: Trace | TraceFile) -> Iterator[Case]:
    """One case a recorded layer, with the causal mask and the window of the model."""
    mask = trace_mask(trace)
    for layer in trace.iter_layers():
        yield Case(
            name=f"{trace.meta.model} layer {layer.layer_id}",
            engine="trace",
            keys=layer.keys[None],
            values=layer.values[None],
            queries=layer.queries[None],
            softmax_scale=trace.meta.softmax_scale,
            mask=mask,
        )


def trace_mask(trace: Trace | TraceFile) -> torch.Tensor:
    """Which keys each recorded query sees: not later, and inside the window if the model has one."""
    age = trace.query_positions[:, None] - trace.key_positions[None, :]
    seen = age >= 0
    return seen if trace.meta.window is None else seen & (age < trace.meta.window)


def random_cases(shape: Shape, seed: int, rounds: int) -> Iterator[Case]:
    """Gaussian tensors with random channel, token and head magnitudes, in the three input dtypes by turns."""
    generator = torch.Generator().manual_seed(seed)
    for index in range(rounds):
        dtype = DTYPES[index % len(DTYPES)]
        keys, values = (_random_tensor(shape, generator) for _ in range(2))
        yield _case(f"random {index}, seed {seed}", "random", keys, values, shape, dtype, generator)


def adversarial_cases(shape: Shape) -> Iterator[Case]:
    """Every pattern in every dtype that holds it, as keys and as values."""
    generator = torch.Generator().manual_seed(0)
    for name, pattern in PATTERNS.items():
        for dtype in DTYPES:
            tensor = pattern(shape, dtype)
            yield _case(name, "adversarial", tensor, tensor.flip(1), shape, dtype, generator)


def _case(
    name: str,
    engine: str,
    keys: torch.Tensor,
    values: torch.Tensor,
    shape: Shape,
    dtype: torch.dtype,
    generator: torch.Generator,
) -> Case:
    size = (BATCH, KV_HEADS * GROUP, QUERIES, shape.head_dim)
    queries = torch.randn(size, generator=generator, dtype=torch.float64)
    queries *= torch.tensor([0.25, 1.0, 4.0], dtype=torch.float64)[:, None]
    return Case(
        name=f"{name} ({str(dtype).removeprefix('torch.')})",
        engine=engine,
        keys=_cast(keys, dtype),
        values=_cast(values, dtype),
        queries=_cast(queries, dtype),
        softmax_scale=shape.softmax_scale,
        mask=_last_rows_mask(shape.seq_len),
    )


def _last_rows_mask(seq_len: int) -> torch.Tensor:
    """The first query sees one key, the second half of them, the last all."""
    limits = torch.tensor([1, max(1, seq_len // 2), seq_len])
    return torch.arange(seq_len)[None, :] < limits[:, None]


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Rounds to nearest, except that nothing finite may become infinite."""
    largest = torch.finfo(dtype).max
    return tensor.clamp(-largest, largest).to(dtype)


def _random_tensor(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    def draw(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator, dtype=torch.float64)

    channel = torch.exp(draw(1, KV_HEADS, 1, shape.head_dim))
    token = torch.exp(0.5 * draw(BATCH, KV_HEADS, shape.seq_len, 1))
    shift = 2 * draw(1, KV_HEADS, 1, shape.head_dim) * (torch.rand(1, generator=generator) < 0.5)
    return draw(BATCH, KV_HEADS, shape.seq_len, shape.head_dim) * channel * token + shift


Pattern = Callable[[Shape, torch.dtype], torch.Tensor]


def _full(shape: Shape, value: float) -> torch.Tensor:
    return torch.full((BATCH, KV_HEADS, shape.seq_len, shape.head_dim), value, dtype=torch.float64)


def _wave(shape: Shape) -> torch.Tensor:
    """Fixed numbers in [-1, 1] that repeat along no axis."""
    count = BATCH * KV_HEADS * shape.seq_len * shape.head_dim
    flat = torch.sin(torch.arange(count, dtype=torch.float64) * 0.7390851332151607)
    return flat.reshape(BATCH, KV_HEADS, shape.seq_len, shape.head_dim)


def _constant_but_one(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    tensor = _full(shape, 100.0)
    tensor[..., 0, 0] = 100.0 * (1 + torch.finfo(dtype).eps)
    return tensor


def _half_steps(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    """Every token holds 127 and numbers a tenth or exactly a half of a step away from whole steps of 1."""
    tensor = (_wave(shape) * 127).trunc()
    offsets = torch.tensor([0.5, -0.5, 0.9, -0.9], dtype=torch.float64)
    tensor += offsets[torch.arange(shape.head_dim) % 4]
    tensor[..., 0] = 127.0
    return tensor.clamp(-127, 127)


def _awkward_scales(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    """Token t has the largest element 127 (1 + 3t/2^12): its step size is no number of a 16-bit format."""
    top = 127 * (1 + 3 * torch.arange(shape.seq_len, dtype=torch.float64) / 4096)
    tensor = _wave(shape) * top[:, None]
    tensor[..., 0] = top
    return tensor


def _outlier_channel(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    tensor = _wave(shape)
    tensor[..., shape.head_dim // 3] *= 200
    return tensor


def _outlier_token(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    tensor = _wave(shape)
    tensor[..., shape.seq_len // 3, :] *= 2000
    return tensor


def _outlier_head(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    tensor = _wave(shape)
    tensor[:, 0] *= 300
    return tensor


def _far_from_zero(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    return 1000 + _wave(shape)


def _powers(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    exponents = (torch.arange(shape.seq_len) % 24 - 12).to(torch.float64)
    return _wave(shape) * torch.exp2(exponents)[:, None]


def _largest(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    return _wave(shape) * min(torch.finfo(dtype).max, 1e30)


def _alternating(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    return 448 * _wave(shape).sign()


def _subnormal(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    info = torch.finfo(dtype)
    return _wave(shape) * info.tiny * (1 - info.eps)


def _one_spike(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    tensor = _full(shape, 0.0)
    tensor[..., shape.seq_len - 1, shape.head_dim - 1] = 1.0
    return tensor


def _halving_channels(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    return _wave(shape) * torch.exp2(-(torch.arange(shape.head_dim) % 10).to(torch.float64))


PATTERNS: Mapping[str, Pattern] = {
    "all zero": lambda shape, dtype: _full(shape, 0.0),
    "constant 100": lambda shape, dtype: _full(shape, 100.0),
    "constant 100 but one": _constant_but_one,
    "half steps": _half_steps,
    "awkward scales": _awkward_scales,
    "outlier channel": _outlier_channel,
    "outlier token": _outlier_token,
    "outlier head": _outlier_head,
    "far from zero": _far_from_zero,
    "powers of two": _powers,
    "largest numbers": _largest,
    "alternating signs": _alternating,
    "subnormal numbers": _subnormal,
    "one spike": _one_spike,
    "halving channels": _halving_channels,
}


def shape_for(residual_window: int, head_dim: int) -> Shape:
    """Sizes that leave a scheme something to compress beyond its residual window, at no round number of tokens."""
    seq_len = 2 * max(32, residual_window) + 7
    return Shape(seq_len, head_dim, Fraction(1, math.isqrt(head_dim) or 1))
