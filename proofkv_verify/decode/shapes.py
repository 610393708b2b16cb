"""One typed reshaping helper."""

from __future__ import annotations

from torch import Tensor


def split(x: Tensor, axis: int, sizes: tuple[int, ...]) -> Tensor:
    """The tensor with one axis replaced by several, one of which may be -1."""
    at = axis % x.dim()
    return x.reshape(*x.shape[:at], *_known(sizes, x.shape[at]), *x.shape[at + 1 :])


def _known(sizes: tuple[int, ...], total: int) -> tuple[int, ...]:
    rest = 1
    for size in sizes:
        rest *= size if size != -1 else 1
    return tuple(total // max(rest, 1) if size == -1 else size for size in sizes)
