"""Rows of query heads that share a KV head, for the bounds that also read values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast._rows import checked, flat, lifted, row_chunks, unusable, without_dead


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


GroupBound: TypeAlias = Callable[[Group], tuple[Tensor, ...]]  # float64 [r] each


def upper_groups(
    compute: GroupBound,
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None,
    values: tuple[Tensor, Tensor],
    outputs: int = 1,
) -> list[Tensor]:
    """Applies a bound to the rows of each group; float64 [B, H, Q] each, +inf as in `_rows.upper_rows`.

    Args:
        compute: the bound of a chunk of rows of one group.
        logits_hat: [B, H, Q, K].
        logit_radii: broadcastable to the logits.
        mask: bool, broadcastable to the logits, or None.
        values: values [B, Hkv, K, D] and their radii [B, Hkv, K] or [B, Hkv, K, D]; checked for shape only.
        outputs: how many numbers `compute` gives a row.
    """
    logits, radii, live = checked(logits_hat, logit_radii, mask)
    group_size = _group_size(logits, *values)
    found = [logits.new_full(logits.shape[:-1], math.inf, dtype=torch.float64) for _ in range(outputs)]
    for b in range(logits.shape[0]):
        for kv in range(values[0].shape[1]):
            heads = slice(kv * group_size, (kv + 1) * group_size)
            parts = [None if x is None else x[b, heads] for x in (logits, radii, live)]
            for whole, value in zip(found, _one_group(compute, parts, b, kv, outputs), strict=True):
                whole[b, heads] = value.reshape(whole[b, heads].shape)
    return found


def _one_group(compute: GroupBound, parts: list[Tensor | None], batch: int, kv_head: int, outputs: int) -> list[Tensor]:
    s_all, c_all, live_all = (None if x is None else flat(x) for x in parts)
    assert s_all is not None
    assert c_all is not None
    seen = s_all.new_ones(s_all.shape[1:], dtype=torch.bool) if live_all is None else live_all.any(0)
    found = [s_all.new_full(s_all.shape[:1], math.inf, dtype=torch.float64) for _ in range(outputs)]
    for part in row_chunks(s_all):
        s, c = s_all[part], c_all[part]
        live = None if live_all is None else live_all[part]
        if live is not None:
            s, c = without_dead(s, c, live)
        bad = unusable(s, c)
        for whole, value in zip(found, compute(Group(s, c, live, seen, batch, kv_head)), strict=True):
            whole[part] = torch.where(bad, math.inf, value)
    return found


def value_tensors(values_hat: Tensor, radii: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Values and radii in float64, value for value; a radius that is NaN or negative becomes NaN."""
    values, bounds = lifted(values_hat, "values_hat").double(), lifted(radii, name).double()
    return values, torch.where(bounds >= 0, bounds, math.nan)


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
