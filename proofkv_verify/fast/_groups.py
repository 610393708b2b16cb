"""Rows of query heads that share a KV head, for the bounds that also read values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast._rows import checked, flat, is_usable, lifted, row_chunks, without_dead


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A chunk of rows of one batch entry and KV head.

    Attributes:
        logits: [r, K], -inf at masked tokens.
        radii: [r, K], 0 at masked tokens.
        live: [r, K] bool, or None if all tokens are live in all rows.
        seen: [K] bool, tokens live in some row of the whole group (all True without a mask).
        batch: batch index.
        kv_head: KV head index.
    """

    logits: Tensor
    radii: Tensor
    live: Tensor | None
    seen: Tensor
    batch: int
    kv_head: int


GroupReduce: TypeAlias = Callable[[Group], Sequence[Tensor]]  # some [r] each


def over_groups(
    reduce: GroupReduce,
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None,
    values: tuple[Tensor, Tensor],
) -> tuple[Tensor, list[Tensor], torch.dtype]:
    """Row numbers of each group, a chunk of rows at a time.

    Args:
        reduce: the numbers of a chunk of rows of one group.
        logits_hat: [B, H, Q, K].
        logit_radii: broadcastable to the logits.
        mask: bool, broadcastable to the logits, or None.
        values: values [B, Hkv, K, D] and their radii [B, Hkv, K] or [B, Hkv, K, D]; checked for shape only.

    Returns:
        Bool [B, H, Q] whether anything can be said of a row (as in `_rows.upper_rows`), what `reduce` gives for all
        rows [B, H, Q] each (nothing without rows or tokens), and the dtype of the logits.
    """
    logits, radii, live = checked(logits_hat, logit_radii, mask)
    group_size = _group_size(logits, *values)
    usable = logits.new_zeros(logits.shape[:-1], dtype=torch.bool)
    found: list[Tensor] = []
    for b in range(logits.shape[0]):
        for kv in range(values[0].shape[1]):
            heads = slice(kv * group_size, (kv + 1) * group_size)
            kept = None if live is None else flat(live[b, heads])
            good, raw = _one_group(reduce, flat(logits[b, heads]), flat(radii[b, heads]), kept, b, kv)
            found = found or [x.new_empty(usable.shape) for x in raw]
            usable[b, heads] = good.reshape(usable[b, heads].shape)
            for whole, value in zip(found, raw, strict=True):
                whole[b, heads] = value.reshape(usable[b, heads].shape)
    return usable, found, logits.dtype


def _one_group(
    reduce: GroupReduce, logits: Tensor, radii: Tensor, live: Tensor | None, batch: int, kv_head: int
) -> tuple[Tensor, list[Tensor]]:
    seen = logits.new_ones(logits.shape[1:], dtype=torch.bool) if live is None else live.any(0)
    usable = logits.new_zeros(logits.shape[:1], dtype=torch.bool)
    found: list[Tensor] = []
    for part in row_chunks(logits):
        s, c = logits[part], radii[part]
        kept = None if live is None else live[part]
        if kept is not None:
            s, c = without_dead(s, c, kept)
        usable[part] = is_usable(s, c)
        values = reduce(Group(s, c, kept, seen, batch, kv_head))
        found = found or [x.new_empty(logits.shape[:1]) for x in values]
        for whole, value in zip(found, values, strict=True):
            whole[part] = value
    return usable, found


def checked_radii(radii: Tensor, name: str) -> Tensor:
    """Value radii in float64; one that is NaN or negative becomes NaN."""
    bounds = lifted(radii, name).double()
    return torch.where(bounds >= 0, bounds, math.nan)


def _group_size(logits: Tensor, values: Tensor, radii: Tensor) -> int:
    if logits.ndim != 4:
        raise ShapeError("logits_hat", "4 dimensions [B, H, Q, K]", tuple(logits.shape))
    batch, heads, _, count = logits.shape
    if values.ndim != 4 or values.shape[0] != batch or values.shape[2] != count or values.shape[1] == 0:
        raise ShapeError("values_hat", f"[{batch}, Hkv, {count}, D]", tuple(values.shape))
    if tuple(radii.shape) not in (tuple(values.shape[:3]), tuple(values.shape)):
        raise ShapeError("value radii", f"{tuple(values.shape[:3])} or {tuple(values.shape)}", tuple(radii.shape))
    if heads % values.shape[1]:
        raise ShapeError("values_hat", f"a number of KV heads that divides {heads}", values.shape[1])
    return heads // int(values.shape[1])
