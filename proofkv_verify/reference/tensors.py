"""Reads safetensors files with the standard library alone: names, shapes and exact float values."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofkv_verify.errors import InvalidInputError

_ARRAYS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h", "U8": "B"}
_LARGEST_HEADER = 1 << 26


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor as a flat list of Python numbers, exact for every float dtype, and its shape."""

    shape: tuple[int, ...]
    values: list[float]

    def nested(self) -> Any:
        """The values as nested lists of the tensor's shape, axes of size 0 included."""
        return _nested(self.values, self.shape)

    def rows(self) -> list[list[float]]:
        """A matrix as a list of rows; a vector as one row."""
        return [list(self.values)] if len(self.shape) == 1 else self.nested()


@dataclass(frozen=True, slots=True)
class TensorFile:
    """What a safetensors file holds, with the SHA-256 of its bytes."""

    metadata: dict[str, str]
    tensors: dict[str, Array]
    digest: str


def _nested(values: list[float], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) < 2:
        return list(values)
    size = math.prod(shape[1:])
    return [_nested(values[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def read_tensors(path: Path) -> TensorFile:
    """All tensors of a file.

    Raises:
        InvalidInputError: no such file, not a safetensors file, a dtype that is not read here, or sizes that disagree.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(str(path), "a readable safetensors file", error.strerror) from None
    if len(data) < 8 or (size := struct.unpack("<Q", data[:8])[0]) > min(len(data) - 8, _LARGEST_HEADER):
        raise InvalidInputError(str(path), "a safetensors file", "a header that does not fit the file")
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = {str(key): str(value) for key, value in header.pop("__metadata__", {}).items()}
        body = data[8 + size :]
        tensors = {name: _array(name, entry, body) for name, entry in header.items()}
    except InvalidInputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, struct.error) as error:
        raise InvalidInputError(str(path), "a safetensors file", repr(error)) from error
    return TensorFile(metadata, tensors, hashlib.sha256(data).hexdigest())


def _array(name: str, entry: dict[str, Any], body: bytes) -> Array:
    start, end = entry["data_offsets"]
    shape = tuple(int(n) for n in entry["shape"])
    if not 0 <= start <= end <= len(body) or any(n < 0 for n in shape):
        raise InvalidInputError(f"tensor {name}", "offsets inside the file and sizes of at least 0", entry)
    values = _decoder(name, entry["dtype"])(body[start:end])
    if len(values) != math.prod(shape):
        raise InvalidInputError(f"tensor {name}", f"{math.prod(shape)} values", len(values))
    return Array(shape, values)


def _decoder(name: str, dtype: str) -> Callable[[bytes], list[float]]:
    if dtype in _ARRAYS:
        return lambda raw: list(array(_ARRAYS[dtype], raw))
    if dtype == "F16":
        return lambda raw: list(struct.unpack(f"<{len(raw) // 2}e", raw))
    if dtype == "BF16":
        return lambda raw: list(
            struct.unpack(f"<{len(raw) // 2}f", b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2)))
        )
    raise InvalidInputError(f"tensor {name}", "a dtype of F64, F32, F16, BF16, I64, I32, I16 or U8", dtype)
