"""Attack: climbs truth against claimed inside the claimed set, by gradients, coordinates and corners.

Also measures tightness: the largest truth / claimed seen. That is a float64 observation, not a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import torch

from proofkv_verify.claims import Claim
from proofkv_verify.search.batch import Batch
from proofkv_verify.search.forms import Screen
from proofkv_verify.search.fuzz import judge, largest_ratio
from proofkv_verify.search.result import Clock, Found
from proofkv_verify.search.samplers import space_of
from proofkv_verify.search.space import Draw, Latent, Space, Structure, Tensors, clip_latents

_BATCH = 256
_STEPS = 40
_RATE = 0.15
_LARGEST = 4


def search_attack(claim: Claim, clock: Clock, seed: int) -> Found:
    """Climbs from adversarial starts until the checker refutes a case or the clock is over."""
    screen = Screen(claim)
    if not screen.vectorised:
        return Found(0, None, None, "not applicable: " + screen.note)
    rng, space, best = Random(seed), space_of(claim.kind), 0.0
    climber = _Climber(screen, space)
    while not clock.over():
        for batch in climber.climb(rng, clock):
            values = screen.evaluate(batch)
            if values is None:
                break
            instance, _ = judge(claim, batch, values.excess, clock)
            best = max(best, largest_ratio(claim, values))
            if instance is not None:
                return Found(clock.cases, instance, best or None)
    return Found(clock.cases, None, min(best, 1.0) or None)


class _Climber:
    """Moves batches of latents uphill in the excess of one claim."""

    def __init__(self, screen: Screen, space: Space) -> None:
        self._screen = screen
        self._space = space

    def climb(self, rng: Random, clock: Clock) -> Iterator[Batch]:
        """The start, the corners, the end of a gradient ascent, and its corners, from one random start."""
        structure = self._space.structure(rng, rng.choice(self._screen.forms), _LARGEST)
        regime = rng.choice(list(self._space.regimes))
        spec = self._space.latents(structure)
        drawn = self._space.regimes[regime](Draw(rng.getrandbits(62), _BATCH), structure)
        latents = clip_latents(drawn, spec)
        yield self._batch(latents, structure)
        for stage in (self._coordinates, self._gradient, self._coordinates):
            if clock.over() or self._excess(latents, structure) is None:
                return
            latents = stage(latents, structure, spec, clock)
            yield self._batch(latents, structure)

    def _batch(self, latents: Tensors, structure: Structure) -> Batch:
        return Batch(structure, self._space.decode(latents, structure))

    def _excess(self, latents: Tensors, structure: Structure) -> torch.Tensor | None:
        values = self._screen.evaluate(self._batch(latents, structure))
        return None if values is None else values.excess

    def _gradient(self, latents: Tensors, structure: Structure, spec: tuple[Latent, ...], clock: Clock) -> Tensors:
        """Adam on all moving latents, put back into their boxes after each step."""
        moving = [latents[item.name].clone().requires_grad_() for item in spec if not item.fixed]
        names = [item.name for item in spec if not item.fixed]
        optimiser = torch.optim.Adam(moving, lr=_RATE, maximize=True)
        for _ in range(_STEPS):
            if clock.over():
                break
            optimiser.zero_grad()
            excess = self._excess(latents | dict(zip(names, moving, strict=True)), structure)
            if excess is None or not excess.requires_grad:
                break
            excess.nan_to_num(0.0).sum().backward()  # type: ignore[no-untyped-call]
            _step(optimiser, moving, [item for item in spec if not item.fixed])
        return clip_latents(latents | {n: t.detach() for n, t in zip(names, moving, strict=True)}, spec)

    def _coordinates(self, latents: Tensors, structure: Structure, spec: tuple[Latent, ...], clock: Clock) -> Tensors:
        """One coordinate after another: the ends of its box where it has vertices, else steps down and up."""
        current = dict(latents)
        best = self._excess(current, structure)
        for item in spec:
            for place in _places(item):
                for proposal in _proposals(item, current[item.name][_column(place)]):
                    if clock.over() or best is None:
                        return current
                    current, best = self._keep_better(current, best, item, place, proposal, structure)
        return current

    def _keep_better(
        self,
        current: Tensors,
        best: torch.Tensor,
        item: Latent,
        place: tuple[int, ...],
        proposal: torch.Tensor,
        structure: Structure,
    ) -> tuple[Tensors, torch.Tensor | None]:
        moved = current[item.name].clone()
        moved[_column(place)] = proposal.clamp(item.low, item.high)
        excess = self._excess(current | {item.name: moved}, structure)
        if excess is None:
            return current, None
        better = excess > best
        wide = better.view(-1, *(1 for _ in item.shape))
        kept = torch.where(wide, moved, current[item.name])
        return current | {item.name: kept}, torch.where(better, excess, best)


def _step(optimiser: torch.optim.Optimizer, moving: list[torch.Tensor], spec: list[Latent]) -> None:
    for tensor in moving:
        if tensor.grad is not None:
            tensor.grad.nan_to_num_(0.0, 0.0, 0.0)
    optimiser.step()
    with torch.no_grad():
        for tensor, item in zip(moving, spec, strict=True):
            tensor.clamp_(item.low, item.high)


def _column(place: tuple[int, ...]) -> tuple[int | slice, ...]:
    return (slice(None), *place)


def _places(item: Latent) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for size in item.shape:
        places = [(*place, i) for place in places for i in range(size)]
    return places


def _proposals(item: Latent, value: torch.Tensor) -> list[torch.Tensor]:
    if item.vertex:
        return [torch.full_like(value, item.low), torch.full_like(value, item.high)]
    if item.fixed:
        return [value - 1, value + 1]
    return [torch.zeros_like(value), value - 1, value + 1, value * 0.5, value * 2]
