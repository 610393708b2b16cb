"""Which units to read next: a greedy ladder by contribution, and exact minima to compare it with.

A unit is scored by its first-order part in the hardest rivals' radii, relative to their gaps, and by how much of the
residual stream it can move, because the remainders diverge when that is more than a few per cent. A plan is only a
plan: after the read the step is enclosed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from proofkv_verify.decode.adjoint import first_order
from proofkv_verify.decode.attention_half import key_radii
from proofkv_verify.decode.enclosure import directions, rivals_by_gap
from proofkv_verify.decode.maps import Maps, all_maps
from proofkv_verify.decode.model import F64, Model, Trace
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.pages import FULL
from proofkv_verify.decode.shapes import split
from proofkv_verify.errors import InvalidInputError

PLANNED_RIVALS = 8
_SIZE_LIMIT, _LAST_WEIGHT = 0.06, 0.25
_START, _FALL = 2.5, 1.15


@dataclass(frozen=True, slots=True)
class Needs:
    """What a plan is made from.

    Attributes:
        units: first-order part of each unit in the closest rivals' radii `[R, 2, L, G, P]`; gaps: of those rivals
            `[R]`.
        scores: the greedy score of each unit `[2, L, G, P]`.
    """

    units: Tensor
    gaps: Tensor
    scores: Tensor


def needs(model: Model, trace: Trace, sets: Sequence[Sets]) -> Needs:
    """Scores the units by the Jacobians of the nominal step; ties and rounding are resolved by index, always alike."""
    rows, gaps = directions(model, trace)
    rivals = rivals_by_gap(gaps, trace.token)[:PLANNED_RIVALS]
    maps = all_maps(model.layers, trace, sets)
    _, units = first_order(maps, rows[rivals])
    close = gaps[rivals].clamp_min(1e-6)
    share = (units / close[:, None, None, None, None]).amax(0)
    weight = torch.ones(len(maps), dtype=F64)
    weight[-1] = _LAST_WEIGHT
    sizes = torch.stack([_sizes(at) for at in maps], 1)
    return Needs(units, gaps[rivals], 2 * share + sizes * weight[:, None, None] / _SIZE_LIMIT)


def _sizes(maps: Maps) -> Tensor:
    """How much of the residual stream each unit can move, to first order and relative to its norm `[2, G, P]`."""
    tr, sets = maps.trace, maps.sets
    pages, groups = sets.key_sigma.shape[-1], len(tr.wk)
    none = torch.zeros(len(maps.of), dtype=F64)
    metric = maps.layer.wo.mT @ maps.layer.wo
    lengths = ((maps.weighted @ metric) * maps.weighted).sum(-1).clamp_min(0).sqrt()[:, :-1]
    kappa, _ = key_radii(tr, sets, maps.of, none, none)
    spread = metric.diagonal(dim1=-2, dim2=-1).mean(-1).sqrt()[:, None]
    both = torch.stack([kappa[:, :-1] * lengths, tr.p[:, :-1] * sets.value_norm[maps.of] * spread])
    per_page = split(both[..., : pages * sets.page_size], -1, (pages, sets.page_size)).sum(-1)
    sizes: Tensor = split(per_page, 1, (groups, -1)).sum(2) / tr.mid.norm()
    return sizes


def plan(scores: Tensor, levels: Tensor, ladder: Sequence[int], target: float) -> Tensor:
    """The cheapest threshold plan whose predicted sum of scores is at most `target`; no level falls `[2, L, G, P]`.

    Each unit takes the lowest rung at which its score, halved by every further bit and 0 at 16, is below the threshold.
    """
    low, high = -40.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        predicted = predict(scores, levels, _at_threshold(scores, levels, ladder, 2.0**middle))
        low, high = (middle, high) if float(predicted.sum()) <= target else (low, middle)
    return _at_threshold(scores, levels, ladder, 2.0**low)


def predict(scores: Tensor, levels: Tensor, wanted: Tensor) -> Tensor:
    """The scores after a read, by the rule that a bit halves an error."""
    return torch.where(wanted >= FULL, 0.0, scores * torch.exp2((levels - wanted).to(F64)))


def _at_threshold(scores: Tensor, levels: Tensor, ladder: Sequence[int], threshold: float) -> Tensor:
    wanted = torch.full_like(levels, FULL)
    for rung in reversed(ladder):
        fits = predict(scores, levels, torch.full_like(levels, rung)) <= threshold
        wanted = torch.where(fits & (levels <= rung), rung, wanted)
    return torch.maximum(wanted, levels)


def next_levels(found: Needs, levels: Tensor, ladder: Sequence[int], round_index: int) -> tuple[Tensor, int]:
    """The next levels of the greedy ladder and the round they belong to; at least one unit rises.

    The target 2.5 / 1.15^round falls until the plan reads something; if nothing is left, all levels are 16 already.
    """
    for at in range(round_index, round_index + 200):
        wanted = plan(found.scores, levels, ladder, _START / _FALL**at)
        if bool((wanted > levels).any()):
            return wanted, at + 1
    return torch.full_like(levels, FULL), round_index + 1


def brute_force(
    ladder: Sequence[int], start: Sequence[int], passes: Callable[[tuple[int, ...]], bool]
) -> tuple[int, ...] | None:
    """The cheapest levels by total bits that pass the test, first in lexical order among equals; None if none passes.

    Raises:
        InvalidInputError: more than 12 units.
    """
    if len(start) > 12:
        raise InvalidInputError("units", "at most 12 for brute force", len(start))
    choices = product(*([b for b in ladder if b >= level] for level in start))
    return next((found for found in sorted(choices, key=lambda c: (sum(c), c)) if passes(found)), None)
