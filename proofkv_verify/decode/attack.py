"""Attacks inside the sidecars' sets: caches that the sidecars allow and that move a score difference as far as found.

Nothing here proves anything; an attack that leaves an enclosure, or flips a certified winner, would disprove one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.model import Cache, Model, Trace, advance
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.shapes import split

_INSIDE = 1 - 1e-9
_ASCENT, _ROUNDS = 6, 2


@dataclass(frozen=True, slots=True)
class Attack:
    """A cache inside the sets: errors of keys and values per layer `[G, T, D]`, the step on it, the gap it reached."""

    errors: tuple[tuple[Tensor, Tensor], ...]
    trace: Trace
    gap: float


def push_inside(keys: Tensor, values: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
    """The errors scaled and clipped until every sidecar of the layer allows them."""
    value_box = sets.value_box[..., None]
    return _inside(keys, sets.key_norm, sets.key_box, sets.key_sigma, sets.page_size), _inside(
        values, sets.value_norm, value_box, sets.value_sigma, sets.page_size
    )


def _inside(error: Tensor, norm: Tensor, box: Tensor, sigma: Tensor, size: int) -> Tensor:
    error, pages = _row_wise(error, norm, box), sigma.shape[-1]
    paged = split(error[:, : pages * size], 1, (pages, size))
    spectral = torch.linalg.matrix_norm(paged, 2)
    shrink = torch.where(spectral > sigma, sigma / spectral.clamp_min(1e-300), 1.0)
    return torch.cat([(paged * shrink[..., None, None]).flatten(1, 2), error[:, pages * size :]], 1) * _INSIDE


def run_attacked(model: Model, token: int, caches: Sequence[Cache], errors: Sequence[tuple[Tensor, Tensor]]) -> Trace:
    """The step on the caches plus errors."""
    moved = [Cache(c.keys + k, c.values + v) for c, (k, v) in zip(caches, errors, strict=True)]
    return advance(model, token, caches[0].keys.shape[1], moved)


def attack_gap(
    model: Model, token: int, caches: Sequence[Cache], sets: Sequence[Sets], row: Tensor, steps: int = 12
) -> Attack:
    """Lowers row . x by Frank-Wolfe steps, each to a point of the sets that ascent finds for the gradient.

    Args:
        model: the model.
        token: the token fed.
        caches: the nominal rows.
        sets: of each layer.
        row: the direction at the last residual `[d]`, such as head[winner] - head[rival].
        steps: gradient steps; the best point visited is returned.
    """
    errors = [(torch.zeros_like(c.keys), torch.zeros_like(c.values)) for c in caches]
    best, lowest = errors, float("inf")
    for _ in range(steps + 1):
        variables = [(k.clone().requires_grad_(), v.clone().requires_grad_()) for k, v in errors]
        gap = row @ run_attacked(model, token, caches, variables).final
        if float(gap.detach()) < lowest:
            best, lowest = errors, float(gap.detach())
        gap.backward()  # type: ignore[no-untyped-call]
        errors = [_vertex(k, v, known) for (k, v), known in zip(variables, sets, strict=True)]
    return Attack(tuple(best), run_attacked(model, token, caches, best), lowest)


def _vertex(keys: Tensor, values: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
    assert keys.grad is not None
    assert values.grad is not None
    size = sets.page_size
    return _farthest(-keys.grad, sets.key_norm, sets.key_box, sets.key_sigma, size), _farthest(
        -values.grad, sets.value_norm, sets.value_box[..., None], sets.value_sigma, size
    )


def _farthest(gradient: Tensor, norm: Tensor, box: Tensor, sigma: Tensor, size: int) -> Tensor:
    """A point of the intersection that meets the gradient much, page by page the better of two.

    One is the best point of the rows' balls, pushed inside; the other is found by ascent, each step projected.
    """
    pages, length = (sigma.shape[-1], size), gradient.norm(dim=-1, keepdim=True)
    first = _inside(gradient * (norm[..., None] / torch.where(length == 0, 1.0, length)), norm, box, sigma, size)
    slope, reach, sides, best = (
        split(x[:, : sigma.shape[-1] * size], 1, pages) for x in (gradient, norm, box.expand_as(gradient), first)
    )
    highest, whole = (slope * best).sum((-1, -2)), slope.flatten(-2).norm(dim=-1)
    step = slope * (reach.norm(dim=-1) / torch.where(whole == 0, 1.0, whole))[..., None, None]
    point = torch.zeros_like(slope)
    for k in range(_ASCENT):
        point = _project(point + step / (1 + k), reach, sides, sigma)
        over = torch.stack([
            (point.abs() / sides.clamp_min(1e-300)).amax((-1, -2)),
            (point.norm(dim=-1) / reach.clamp_min(1e-300)).amax(-1),
            torch.linalg.matrix_norm(point, 2) / sigma.clamp_min(1e-300),
        ]).amax(0)  # fmt: skip
        shrunk = point / over.clamp_min(1)[..., None, None]
        met = (slope * shrunk).sum((-1, -2))
        best = torch.where((met > highest)[..., None, None], shrunk, best)
        highest = torch.maximum(met, highest)
    return _inside(torch.cat([best.flatten(1, 2), first[:, best.shape[1] * size :]], 1), norm, box, sigma, size)


def _project(point: Tensor, norm: Tensor, box: Tensor, sigma: Tensor) -> Tensor:
    """Nearly the nearest point of the intersection, page by page `[G, P, S, D]`."""
    rows = pages = torch.zeros_like(point)
    for _ in range(_ROUNDS):
        moved = point + rows
        point = _row_wise(moved, norm, box)
        rows, moved = moved - point, point + pages
        point = _singular(moved, sigma)
        pages = moved - point
    return point


def _singular(error: Tensor, sigma: Tensor) -> Tensor:
    u, s, v = torch.linalg.svd(error, full_matrices=False)
    cut: Tensor = (u * torch.minimum(s, sigma[..., None])[..., None, :]) @ v
    return cut


def _row_wise(error: Tensor, norm: Tensor, box: Tensor) -> Tensor:
    error = torch.maximum(torch.minimum(error, box), -box)
    length = error.norm(dim=-1)
    return error * torch.where(length > norm, norm / length.clamp_min(1e-300), 1.0)[..., None]


def random_vertex(caches: Sequence[Cache], sets: Sequence[Sets], seed: int) -> list[tuple[Tensor, Tensor]]:
    """Random signs at the channel boxes, pushed inside the other sets."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for cache, known in zip(caches, sets, strict=True):
        signs = [torch.randint(0, 2, cache.keys.shape, generator=generator).double() * 2 - 1 for _ in range(2)]
        found.append(push_inside(signs[0] * known.key_box, signs[1] * known.value_box[..., None], known))
    return found
