"""Reading and checking the tensors of a trace file; pickles are told apart by name and content."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open

from proofkv_verify.adapters._trace_meta import SCHEMA, TraceMeta, meta_from_json
from proofkv_verify.errors import InvalidInputError, ShapeError

PARTS: Final = ("queries", "keys", "values")
INDEX_NAMES: Final = ("query_positions", "key_positions", "token_ids")
PICKLE_SUFFIXES: Final = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")

_DTYPES: Final[Mapping[str, str]] = {
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "I64": "int64",
}
_ZIP_MAGIC: Final = b"PK\x03\x04"
_PICKLE_PROTOCOLS: Final = range(2, 6)

Layout = Mapping[str, tuple[str, tuple[int, ...]]]
"""Name of a tensor -> (dtype name, shape)."""


def tensor_name(layer_id: int, part: str) -> str:
    """Name a tensor of a layer as the file does."""
    return f"layers.{layer_id}.{part}"


def read_header(path: Path) -> tuple[TraceMeta, Layout]:
    """Read metadata, names, dtypes and shapes, and no tensor.

    Args:
        path: The trace file.

    Returns:
        Checked metadata, and the unchecked layout.

    Raises:
        InvalidInputError: The file is missing, foreign, truncated or of unknown version.
    """
    _refuse_foreign(path)
    with _opened(path) as file:
        declared = file.metadata() or {}
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        layout = {name: (_dtype_name(s), tuple(s.get_shape())) for name, s in slices.items()}
    schema = declared.get("schema")
    if schema != SCHEMA:
        raise InvalidInputError("schema", f"{SCHEMA!r} in the file metadata", _short(schema))
    if "trace" not in declared:
        raise InvalidInputError("metadata", "the key 'trace' in the file metadata", "nothing")
    return meta_from_json(declared["trace"]), layout


def read_tensors(path: Path, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Copy tensors out of a file, so that a later change of the file changes nothing.

    Args:
        path: The trace file.
        names: Which tensors.

    Returns:
        The tensors by name.

    Raises:
        InvalidInputError: The file was damaged, or lost a tensor, after it was opened.
    """
    with _opened(path) as file:
        return {name: file.get_tensor(name).clone() for name in names}


def check_layout(meta: TraceMeta, layout: Layout) -> None:
    """Refuse a set of tensors that is not exactly the one the metadata describes.

    Args:
        meta: Checked metadata.
        layout: Dtype and shape of each tensor.

    Raises:
        InvalidInputError: A tensor is missing, unknown or of the wrong dtype.
        ShapeError: A tensor has the wrong rank or size.
    """
    wanted = [tensor_name(i, part) for i in meta.layer_ids for part in PARTS]
    _check_names(set(wanted) | set(INDEX_NAMES), set(layout))
    for name in INDEX_NAMES:
        _check_tensor(name, layout[name], "int64", {"n": None})
    queries, keys = layout["query_positions"][1][0], layout["key_positions"][1][0]
    _check_tensor("token_ids", layout["token_ids"], "int64", {"seq_len": keys})
    for name in wanted:
        is_query = name.endswith("queries")
        heads = {"num_heads": meta.num_heads} if is_query else {"num_kv_heads": meta.num_kv_heads}
        length = {"num_queries": queries} if is_query else {"seq_len": keys}
        _check_tensor(name, layout[name], meta.dtype, {**heads, **length, "head_dim": meta.head_dim})


def check_finite(name: str, tensor: torch.Tensor) -> None:
    """Refuse NaN and infinities.

    Args:
        name: What to call the tensor.
        tensor: Any floating-point tensor.

    Raises:
        InvalidInputError: Counts the offending elements and names the first.
    """
    bad = (~torch.isfinite(tensor)).nonzero()
    if bad.shape[0]:
        first = bad[0].tolist()
        got = f"{tensor[tuple(first)].item()} at {first} ({bad.shape[0]} not finite)"
        raise InvalidInputError(name, "finite numbers", got)


def check_positions(meta: TraceMeta, queries: torch.Tensor, keys: torch.Tensor, tokens: torch.Tensor) -> None:
    """Refuse positions that are unordered, negative, or leave a query without a visible key.

    Args:
        meta: Gives the window.
        queries: int64 ``[num_queries]``.
        keys: int64 ``[seq_len]``.
        tokens: int64 ``[seq_len]``.

    Raises:
        InvalidInputError: Names the field, what was expected, and what came.
    """
    for name, positions in (("query_positions", queries), ("key_positions", keys)):
        rising = bool((positions[1:] > positions[:-1]).all())
        if positions.shape[0] == 0 or int(positions[0]) < 0 or not rising:
            expected = "at least one position, >= 0, strictly increasing"
            raise InvalidInputError(name, expected, _short(positions.tolist()))
    if int(tokens.min()) < 0:
        raise InvalidInputError("token_ids", "ids >= 0", int(tokens.min()))
    newest = torch.searchsorted(keys, queries, right=True) - 1
    blind = newest < 0
    if meta.window is not None:
        blind |= keys[newest.clamp(min=0)] <= queries - meta.window
    if bool(blind.any()):
        position = int(queries[blind][0])
        raise InvalidInputError("query_positions", "at least one visible key each", f"none at {position}")


def layout_of(tensors: Mapping[str, torch.Tensor]) -> Layout:
    """Describe tensors in memory as ``read_header`` describes those of a file."""
    return {name: (str(t.dtype).removeprefix("torch."), tuple(t.shape)) for name, t in tensors.items()}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        got = f"a file that is foreign, truncated or damaged ({_short(error)})"
        raise InvalidInputError(str(path), "a complete safetensors file", got) from error


def _dtype_name(view: Any) -> str:
    name = str(view.get_dtype())
    return _DTYPES.get(name, name)


def _refuse_foreign(path: Path) -> None:
    if not path.is_file():
        got = "a folder" if path.is_dir() else "no such file"
        raise InvalidInputError(str(path), "a trace file", got)
    with path.open("rb") as file:
        head = file.read(9)
    # A safetensors header of 640 bytes starts like a pickle; its ninth byte tells them apart.
    protocol = len(head) > 1 and head[0] == 0x80 and head[1] in _PICKLE_PROTOCOLS and head[8:] != b"{"
    if path.suffix.lower() in PICKLE_SUFFIXES or head.startswith(_ZIP_MAGIC) or protocol:
        got = "a pickle or archive, which is never loaded because it can run code"
        raise InvalidInputError(str(path), "a safetensors file", got)


def _check_names(wanted: set[str], present: set[str]) -> None:
    for name in sorted(wanted - present):
        raise InvalidInputError(name, "a tensor", "nothing")
    for name in sorted(present - wanted):
        raise InvalidInputError(name, "no tensor beyond those of the recorded layers", "an extra tensor")


def _check_tensor(name: str, found: tuple[str, tuple[int, ...]], dtype: str, sizes: Mapping[str, int | None]) -> None:
    shape = found[1]
    if len(shape) != len(sizes):
        raise ShapeError(name, f"{len(sizes)} dimensions [{', '.join(sizes)}]", len(shape))
    if found[0] != dtype:
        raise InvalidInputError(name, f"dtype {dtype}", found[0])
    if any(want is not None and want != size for want, size in zip(sizes.values(), shape, strict=True)):
        wanted = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
        raise ShapeError(name, f"shape [{wanted}]", list(shape))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."
