"""Bytes that stored objects really hold, counted from their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor


def tensor_bytes(stored: Any) -> int | None:
    """Bytes of all tensors inside tuples, lists, mappings, dataclasses and plain objects; None where there is none.

    A tensor that occurs twice counts once. An expanded or sliced view counts its own elements, once each.
    """
    found = {id(t): t for t in _tensors(stored)}
    return sum(_size(t) for t in found.values()) if found else None


def _tensors(stored: Any) -> Iterator[Tensor]:
    if isinstance(stored, Tensor):
        yield stored
        return
    for part in _parts(stored):
        yield from _tensors(part)


def _parts(stored: Any) -> list[Any]:
    if isinstance(stored, Mapping):
        return list(stored.values())
    if isinstance(stored, tuple | list):
        return list(stored)
    if is_dataclass(stored) and not isinstance(stored, type):
        return [getattr(stored, f.name) for f in fields(stored)]
    return list(getattr(stored, "__dict__", {}).values())


def _size(t: Tensor) -> int:
    count = 1
    for size, stride in zip(t.shape, t.stride(), strict=True):
        count *= 1 if stride == 0 and size else size
    return count * t.element_size()
