"""Halves in which one term of a bound is nearly all of it, each with the exact change at the worst errors found."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.shapes import split
from tests.decode.half import (
    Half,
    attacked,
    beyond_first,
    by_norm,
    changed,
    ends,
    half_of,
    largest_products,
    one_row,
    scaled,
    tiny_maps,
    weights_and_rows,
    with_sets,
)
from tests.decode.test_ellipsoid import matrix

F64 = torch.float64
Case = tuple[Half, Tensor]


def plain(seed: int, group_size: int, kind: str, keys: float, values: float, size: float) -> Case:
    maps = changed(tiny_maps(seed, kind, group_size), still="kv")
    half = half_of(scaled(maps, keys, values), size, kind)
    return half, largest_products(half)


def blind(half: Half, rows: Tensor) -> Case:
    """The directions turned until these `[k, d]` do not show in them."""
    half = replace(half, a=half.a - half.a @ torch.linalg.pinv(rows) @ rows)
    return half, largest_products(half)


def behind_wo(maps: Maps, row: int) -> Tensor:
    return torch.einsum("hdx,hx->hd", maps.layer.wo, maps.centred[:, row])


def one_blind_row() -> Case:
    """The only uncertain key is one whose value the directions do not see: it counts through the mean alone."""
    maps = one_row(changed(tiny_maps(1), still="kv"), 3, "key")
    return blind(half_of(maps, 0.1), behind_wo(maps, 3))


def blind_own_row() -> Case:
    maps = scaled(changed(tiny_maps(0), still="v"), 0, 0)
    return blind(half_of(maps, 0.1), behind_wo(maps, -1))


def own_value() -> Case:
    half = half_of(scaled(changed(tiny_maps(1, group_size=1), still="k"), 0, 0), 0.1)
    return half, largest_products(half)


def lifted(maps: Maps, row: int) -> Tensor:
    """Equal keys but for one row of the first KV head, whose score is the same and moves most."""
    keys, q = maps.trace.keys[:, :1].repeat(1, maps.trace.keys.shape[1], 1), maps.trace.q[0]
    step = matrix(2, len(q))
    keys[0, row] += 3 * (step - q * (step @ q) / (q @ q))
    return keys


def one_lifted_own_row() -> Case:
    """Only the first head moves, and its own row's weight by more than to first order."""
    maps = tiny_maps(2, group_size=1)
    wv = maps.layer.wv * torch.tensor([1.0, 0.0], dtype=F64)[:, None, None]
    maps = replace(maps, layer=replace(maps.layer, wv=wv))
    half = half_of(scaled(changed(maps, still="k", keys=lifted(maps, -1)), 0, 0), 0.2)
    return half, largest_products(half)


def equal_keys(group_size: int) -> Case:
    """Scores that the query's error cannot tell apart: a key error meets q + dq and nothing else changes."""
    maps = tiny_maps(0, group_size=group_size)
    keys = maps.trace.keys[:, :1].repeat(1, maps.trace.keys.shape[1], 1)
    half = half_of(scaled(changed(maps, still="kv", keys=keys), 1, 0), 0.2)
    return half, largest_products(half)


def still_second_head(maps: Maps, **given: Tensor) -> Maps:
    wq = maps.trace.wq.clone()
    wq[1] = 0
    return changed(maps, still="kv", wq=wq, **given)


def opposed_heads() -> Case:
    """Two heads of a group meet one value error with opposite weight, and only the first head's weight moves."""
    maps = tiny_maps(0)
    q = maps.trace.q.clone()
    q[1] = q[0]
    maps = one_row(still_second_head(maps, keys=lifted(maps, 3), q=q), 3, "value")
    wo, p = maps.layer.wo, maps.trace.p[:, 3]
    return blind(half_of(maps, 0.2), (wo[0] * p[0] + wo[1] * p[1]).T)


def two_lengths() -> Case:
    """A head whose score change and query error multiply beside a still one that outweighs it, all in one direction."""
    maps = tiny_maps(0)
    step = ends(half_of(maps, 0.3))[0]
    dq, q = maps.trace.wq[0] @ step, maps.trace.q.clone()
    q[0] = q[1] = dq
    maps = still_second_head(maps, q=q)
    row = int((maps.rows[0] @ maps.turns[0] @ step)[:-1].argmax())
    wo = maps.layer.wo
    seen = torch.stack([wo[0] @ maps.weighted[0, row], wo[1] @ maps.weighted[1, row], wo[0] @ maps.heads[0] @ step])
    a = torch.linalg.pinv(seen) @ torch.tensor([1.0, 10.0, 0.0], dtype=F64)
    half = replace(half_of(one_row(maps, row, "key"), 0.3), a=a[None])
    return half, largest_products(half)


def uneven_values() -> Case:
    """Equal keys and values: only the weights' change by key errors meets the value errors, which are uneven."""
    maps = tiny_maps(1, group_size=1)
    keys, values = (x[:, :1].repeat(1, x.shape[1], 1) for x in (maps.trace.keys, maps.trace.values))
    norm = torch.rand(maps.sets.value_norm.shape, generator=torch.Generator().manual_seed(1), dtype=F64) ** 6
    maps = by_norm(changed(maps, still="kv", keys=keys, values=values), maps.sets.key_norm * 0.3, norm)
    half = half_of(maps, 0.0)
    return half, attacked(half)


def one_certain_page() -> Case:
    """The first page's spectral norm says that its keys are certain, whatever its rows' norms say."""
    maps = scaled(changed(tiny_maps(2), still="kv"), 1, 0)
    norm, sigma = maps.sets.key_norm.clone(), maps.sets.key_sigma.clone()
    norm[:, : maps.sets.page_size], sigma[:, 0] = 0, 1e-9
    exact = largest_products(half_of(with_sets(maps, key_norm=norm), 0.01))
    return half_of(with_sets(maps, key_sigma=sigma), 0.01), exact


def loose_rows(seed: int) -> Case:
    """Only the rows after the last page are uncertain."""
    maps = changed(tiny_maps(seed, group_size=1), still="kv")
    norm = maps.sets.key_norm[:, :1].expand_as(maps.sets.key_norm).clone()
    norm[:, : maps.sets.key_sigma.shape[1] * maps.sets.page_size] = 0
    half = half_of(by_norm(maps, norm, norm), 0.02)
    return half, largest_products(half)


def value_sum(half: Half, dh: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The largest sum of p' f over the values' sets at one head for each direction `[R]`."""
    s, heads = half.maps.sets, torch.arange(len(half.a)) % len(half.maps.of)
    p = weights_and_rows(half, dh, keys, values)[0][torch.arange(len(half.a)), heads, :-1]
    groups = half.maps.of[heads]
    if half.kind == "norm":
        return (p * s.value_norm[groups]).sum(-1)
    paged = split(p[:, : s.value_sigma.shape[1] * s.page_size], 1, (-1, s.page_size))
    return (paged.norm(dim=-1) * s.value_sigma[groups]).sum(-1)


def spread_values(kind: str) -> Case:
    half = half_of(scaled(tiny_maps(0, kind), 0.3, 1), 0.2, kind)
    return half, attacked(half, value_sum)


def uneven_value_norms() -> Case:
    maps = tiny_maps(1)
    keys = maps.trace.keys[:, :1].repeat(1, maps.trace.keys.shape[1], 1)
    norm = torch.rand(maps.sets.value_norm.shape, generator=torch.Generator().manual_seed(1), dtype=F64) ** 6
    half = half_of(by_norm(changed(maps, keys=keys), maps.sets.key_norm * 0.3, norm), 0.0)
    return half, attacked(half, value_sum)


def equal_values() -> Case:
    """Exact rows with equal values: only the own value, at the change of its weight, is beyond first order."""
    maps = tiny_maps(1, group_size=1)
    values = maps.trace.values[:, :1].repeat(1, maps.trace.values.shape[1], 1)
    half = half_of(scaled(changed(maps, still="k", values=values), 0, 0), 0.1, remainder_only=True)
    return half, attacked(half, beyond_first)
