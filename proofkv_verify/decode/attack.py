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


@dataclass(frozen=True, slots=True)
class Attack:
    """A cache inside the sets: errors of keys and values per layer `[G, T, D]`, the step on it, the gap it reached."""

    errors: tuple[tuple[Tensor, Tensor], ...]
    trace: Trace
    gap: float


def push_inside(keys: Tensor, values: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
    """The errors scaled and clipped until every sidecar of the layer allows them."""
    value_box = sets.value_box[..., None]
    return _inside(keys, sets.key_norm, sets.key_box, sets.key_sigma, sets), _inside(
        values, sets.value_norm, value_box, sets.value_sigma, sets
    )


def _inside(error: Tensor, norm: Tensor, box: Tensor, sigma: Tensor, sets: Sets) -> Tensor:
    error = torch.maximum(torch.minimum(error, box), -box)
    length = error.norm(dim=-1)
    error = error * torch.where(length > norm, norm / length.clamp_min(1e-300), 1.0)[..., None]
    paged = split(error[:, : sigma.shape[-1] * sets.page_size], 1, (sigma.shape[-1], sets.page_size))
    spectral = torch.linalg.matrix_norm(paged, 2)
    shrink = torch.where(spectral > sigma, sigma / spectral.clamp_min(1e-300), 1.0)
    rest = error[:, sigma.shape[-1] * sets.page_size :]
    return torch.cat([(paged * shrink[..., None, None]).flatten(1, 2), rest], 1) * _INSIDE


def run_attacked(model: Model, token: int, caches: Sequence[Cache], errors: Sequence[tuple[Tensor, Tensor]]) -> Trace:
    """The step on the caches plus errors."""
    moved = [Cache(c.keys + k, c.values + v) for c, (k, v) in zip(caches, errors, strict=True)]
    return advance(model, token, caches[0].keys.shape[1], moved)


def attack_gap(
    model: Model, token: int, caches: Sequence[Cache], sets: Sequence[Sets], row: Tensor, steps: int = 12
) -> Attack:
    """Lowers row . x by Frank-Wolfe steps: the best point of each token's ball, pushed inside the other sets.

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
    chosen = []
    for variable, norm in ((keys, sets.key_norm), (values, sets.value_norm)):
        assert variable.grad is not None
        size = variable.grad.norm(dim=-1, keepdim=True)
        chosen.append(-norm[..., None] * variable.grad / torch.where(size == 0, 1.0, size))
    return push_inside(chosen[0], chosen[1], sets)


def random_vertex(caches: Sequence[Cache], sets: Sequence[Sets], seed: int) -> list[tuple[Tensor, Tensor]]:
    """Random signs at the channel boxes, pushed inside the other sets."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for cache, known in zip(caches, sets, strict=True):
        signs = [torch.randint(0, 2, cache.keys.shape, generator=generator).double() * 2 - 1 for _ in range(2)]
        found.append(push_inside(signs[0] * known.key_box, signs[1] * known.value_box[..., None], known))
    return found
