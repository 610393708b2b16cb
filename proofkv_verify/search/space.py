"""Coordinates of a search: latent numbers in a box, decoded to instances that satisfy their premises up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import torch

from proofkv_verify.kinds import Params

Tensors: TypeAlias = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Latent:
    """One group of coordinates.

    Attributes:
        shape: sizes after the batch axis.
        low, high: the box in which the search may move it.
        vertex: the truth is monotone or convex in it, so that the ends of the box are tried.
        fixed: an integer or another choice that no gradient moves.
    """

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    vertex: bool = False
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """What does not vary inside a batch: kind, form, axis sizes, parameters, and optional fields left out."""

    kind: str
    form: str
    sizes: Mapping[str, int]
    params: Params
    absent: tuple[str, ...] = ()


class Draw:
    """Random tensors from one seeded generator."""

    def __init__(self, seed: int, batch: int) -> None:
        self.batch = batch
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, shape: Sequence[int], scale: float = 1.0) -> torch.Tensor:
        """Gaussian numbers."""
        return scale * torch.randn(self.batch, *shape, generator=self._generator, dtype=torch.float64)

    def uniform(self, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> torch.Tensor:
        """Numbers in [low, high)."""
        unit = torch.rand(self.batch, *shape, generator=self._generator, dtype=torch.float64)
        return low + (high - low) * unit

    def sign(self, shape: Sequence[int]) -> torch.Tensor:
        """-1 or 1."""
        return self.choice(shape, (-1.0, 1.0))

    def mask(self, shape: Sequence[int], share: float = 0.5) -> torch.Tensor:
        """True with probability `share`."""
        return self.uniform(shape) < share

    def choice(self, shape: Sequence[int], values: Sequence[float]) -> torch.Tensor:
        """Entries of `values`."""
        index = torch.randint(len(values), (self.batch, *shape), generator=self._generator)
        return torch.tensor(values, dtype=torch.float64)[index]

    def one_of(self, size: int) -> torch.Tensor:
        """A bool tensor [batch, size] with exactly one True a row."""
        index = torch.randint(size, (self.batch,), generator=self._generator)
        return torch.nn.functional.one_hot(index, size).bool()

    def per_case(self, choices: Sequence[torch.Tensor]) -> torch.Tensor:
        """For each case of the batch one of the tensors [batch, ...]."""
        index = torch.randint(len(choices), (self.batch,), generator=self._generator)
        return torch.stack(list(choices))[index, torch.arange(self.batch)]

    def seed(self) -> int:
        """A seed for another generator."""
        return int(torch.randint(2**62, (1,), generator=self._generator))


Regime: TypeAlias = Callable[[Draw, Structure], Tensors]


@dataclass(frozen=True, slots=True)
class Space:
    """The search space of one kind.

    Attributes:
        forms: the forms of its data ("" if there is one only).
        structure: a random structure of a form, with at most so many tokens.
        latents: the coordinates of a structure.
        decode: latents [batch, ...] to fields [batch, ...], differentiable.
        regimes: named ways to draw latents where wrong bounds die.
    """

    kind: str
    forms: tuple[str, ...]
    structure: Callable[[Random, str, int], Structure]
    latents: Callable[[Structure], tuple[Latent, ...]]
    decode: Callable[[Tensors, Structure], Tensors]
    regimes: Mapping[str, Regime]


def clip_latents(latents: Tensors, spec: tuple[Latent, ...]) -> Tensors:
    """The latents moved into their boxes (NaN becomes the lower end)."""
    return {item.name: latents[item.name].nan_to_num(item.low).clamp(item.low, item.high) for item in spec}


def ball_point(direction: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    """A vector of norm at most `radius` along the last axis: the direction scaled down where it is longer than 1."""
    square = direction.square().sum(-1, keepdim=True)
    longest = torch.where(square > 1, square, torch.ones_like(square)).sqrt()
    return radius.unsqueeze(-1) * direction / longest


def norm(vector: torch.Tensor) -> torch.Tensor:
    """Euclidean norm with derivative 0 at the zero vector."""
    square = vector.square().sum(-1)
    return torch.where(square > 0, square, torch.ones_like(square)).sqrt() * (square > 0)
