"""Trace files: real queries, keys and values of one sequence, and what attention does with them.

A trace is a safetensors file. Pickle files are never opened as such: they can run code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import save_file

from proofkv_verify.adapters._trace_io import (
    INDEX_NAMES,
    PARTS,
    PICKLE_SUFFIXES,
    check_finite,
    check_layout,
    check_positions,
    layout_of,
    read_header,
    read_tensors,
    tensor_name,
)
from proofkv_verify.adapters._trace_meta import (
    SCHEMA,
    RopeKind,
    TraceDtype,
    TraceMeta,
    meta_to_json,
)
from proofkv_verify.errors import InvalidInputError

__all__ = [
    "DTYPES",
    "SCHEMA",
    "RopeKind",
    "Trace",
    "TraceDtype",
    "TraceFile",
    "TraceLayer",
    "TraceMeta",
    "check_output_path",
    "default_trace_path",
    "load_trace",
    "open_trace",
    "save_trace",
    "trace_info",
]

DTYPES: Final[Mapping[str, torch.dtype]] = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
}
"""Element types of a trace, by the name that its metadata carries."""


@dataclass(frozen=True, slots=True, eq=False)
class TraceLayer:
    """The attention inputs of one recorded layer, as the layer reads them (after RoPE).

    Attributes:
        layer_id: Index of the layer in the model.
        queries: ``[num_heads, num_queries, head_dim]``.
        keys: ``[num_kv_heads, seq_len, head_dim]``.
        values: ``[num_kv_heads, seq_len, head_dim]``.
    """

    layer_id: int
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A checked trace in memory: every number is finite and every shape agrees with the metadata.

    The stored floats are the exact input of an audit, whatever was rounded before they were stored.

    Attributes:
        meta: Geometry and constants.
        layers: One entry per recorded layer, in the order of ``meta.layer_ids``.
        query_positions: int64 ``[num_queries]``, strictly increasing, each sees at least one key.
        key_positions: int64 ``[seq_len]``, strictly increasing.
        token_ids: int64 ``[seq_len]``, the tokens at ``key_positions``.
    """

    meta: TraceMeta
    layers: tuple[TraceLayer, ...]
    query_positions: torch.Tensor
    key_positions: torch.Tensor
    token_ids: torch.Tensor

    def __post_init__(self) -> None:
        """Check positions, and each layer for shape, dtype and finiteness.

        Raises:
            InvalidInputError: Names the field, what was expected, and what came.
            ShapeError: The same, for a wrong rank or size.
        """
        ids = tuple(layer.layer_id for layer in self.layers)
        if ids != self.meta.layer_ids:
            raise InvalidInputError("layers", f"the layer ids {list(self.meta.layer_ids)}", list(ids))
        check_layout(self.meta, layout_of(_tensors(self)))
        check_positions(self.meta, self.query_positions, self.key_positions, self.token_ids)
        for layer in self.layers:
            _check_layer_finite(layer)

    @property
    def num_queries(self) -> int:
        """Recorded query positions per head."""
        return int(self.query_positions.shape[0])

    @property
    def seq_len(self) -> int:
        """Recorded keys per KV head."""
        return int(self.key_positions.shape[0])

    def iter_layers(self) -> Iterator[TraceLayer]:
        """Yield the layers in order, as ``TraceFile.iter_layers`` does."""
        yield from self.layers


@dataclass(frozen=True, slots=True, eq=False)
class TraceFile:
    """A trace on disk: metadata, positions and token ids are read, the layers only when asked for.

    Attributes:
        path: The file.
        meta: Geometry and constants.
        query_positions: As in ``Trace``.
        key_positions: As in ``Trace``.
        token_ids: As in ``Trace``.
    """

    path: Path
    meta: TraceMeta
    query_positions: torch.Tensor
    key_positions: torch.Tensor
    token_ids: torch.Tensor

    @property
    def num_queries(self) -> int:
        """Recorded query positions per head."""
        return int(self.query_positions.shape[0])

    @property
    def seq_len(self) -> int:
        """Recorded keys per KV head."""
        return int(self.key_positions.shape[0])

    def iter_layers(self) -> Iterator[TraceLayer]:
        """Yield the layers in order, holding one in memory at a time.

        Returns:
            Checked layers.

        Raises:
            InvalidInputError: The next layer is not finite, or the file was damaged since.
        """
        for layer_id in self.meta.layer_ids:
            names = tuple(tensor_name(layer_id, part) for part in PARTS)
            found = read_tensors(self.path, names)
            layer = TraceLayer(layer_id, *(found[name] for name in names))
            _check_layer_finite(layer)
            yield layer


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as a safetensors file of schema ``proofkv-verify/trace/1``.

    Args:
        trace: What to write.
        path: The file, replaced if present; its name must not end like a pickle file.

    Raises:
        InvalidInputError: See ``check_output_path``.
    """
    target = check_output_path(path)
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in _tensors(trace).items()}
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.touch()
    mode = partial.stat().st_mode  # save_file would leave a file that only its owner may read
    try:
        save_file(tensors, partial, metadata={"schema": SCHEMA, "trace": meta_to_json(trace.meta)})
        partial.chmod(mode)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def check_output_path(path: str | Path) -> Path:
    """Refuse a file name that readers would take for a pickle, or that no file can have.

    Args:
        path: Where a trace shall be written.

    Returns:
        The path.

    Raises:
        InvalidInputError: It ends in ``.pt``, ``.bin`` or the like, or its folder does not exist.
    """
    target = Path(path)
    if target.suffix.lower() in PICKLE_SUFFIXES:
        raise InvalidInputError("output", "a name that ends in .safetensors", target.name)
    if not target.parent.is_dir() or target.is_dir():
        raise InvalidInputError("output", "a file in an existing folder", str(target))
    return target


def open_trace(path: str | Path) -> TraceFile:
    """Open a trace and check everything but the numbers of its layers, which stay on disk.

    Args:
        path: A safetensors file as docs/traces.md describes it.

    Returns:
        The open trace; ``iter_layers`` reads one layer at a time.

    Raises:
        InvalidInputError: The file is missing, truncated, a pickle or of unknown version, a tensor
            is missing or one too many, or a field breaks its form.
        ShapeError: The same, for a wrong rank or size.
    """
    source = Path(path)
    meta, layout = read_header(source)
    check_layout(meta, layout)
    index = read_tensors(source, INDEX_NAMES)
    check_positions(meta, *(index[name] for name in INDEX_NAMES))
    return TraceFile(source, meta, *(index[name] for name in INDEX_NAMES))


def load_trace(path: str | Path) -> Trace:
    """Read a whole trace into memory and check every number of it.

    Args:
        path: A safetensors file as docs/traces.md describes it.

    Returns:
        The checked trace.

    Raises:
        InvalidInputError: See ``open_trace``; also for NaN or infinity in a layer.
        ShapeError: The same, for a wrong rank or size.
    """
    opened = open_trace(path)
    layers = tuple(opened.iter_layers())
    return Trace(opened.meta, layers, opened.query_positions, opened.key_positions, opened.token_ids)


def trace_info(path: str | Path) -> dict[str, object]:
    """Describe a trace in JSON-ready values, without reading its layers.

    Args:
        path: The trace file.

    Returns:
        Schema, metadata (exact numbers as strings), ``seq_len``, ``num_queries``, ``num_bytes``.

    Raises:
        InvalidInputError: See ``open_trace``.
    """
    opened = open_trace(path)
    described: dict[str, object] = {"schema": SCHEMA, **json.loads(meta_to_json(opened.meta))}
    described["seq_len"] = opened.seq_len
    described["num_queries"] = opened.num_queries
    described["num_bytes"] = opened.path.stat().st_size
    return described


def default_trace_path() -> Path:
    """Locate the trace that comes with the package: SmolLM2-135M reading the Book of Ruth."""
    return Path(__file__).resolve().parent.parent / "data" / "smollm2-135m.safetensors"


def _tensors(trace: Trace) -> dict[str, torch.Tensor]:
    layers = {tensor_name(layer.layer_id, part): getattr(layer, part) for layer in trace.layers for part in PARTS}
    return {**{name: getattr(trace, name) for name in INDEX_NAMES}, **layers}


def _check_layer_finite(layer: TraceLayer) -> None:
    for part in PARTS:
        check_finite(tensor_name(layer.layer_id, part), getattr(layer, part))
