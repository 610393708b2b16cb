"""Adversarial samplers: batches of cases of one kind from named regimes, inside the premises by construction."""

from __future__ import annotations

from random import Random

import torch

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.search.batch import Batch, narrow
from proofkv_verify.search.linear_space import LINEAR_SPACES
from proofkv_verify.search.logit_space import LOGIT_SPACE
from proofkv_verify.search.space import Draw, Space, Structure, Tensors, clip_latents
from proofkv_verify.search.weights_space import WEIGHT_SPACES

SPACES: dict[str, Space] = {**WEIGHT_SPACES, "logit_abs": LOGIT_SPACE, **LINEAR_SPACES}
"""The search space of every kind that claims can be searched in."""

_STORAGE = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bfloat16)
# Latents that are fields themselves, and those that are logarithms of one: by form of the data.
_PLAIN = ("v", "nu", "queries", "scores", "rows", "centre", "radii", "radius")
_NARROWED = {
    "": (_PLAIN, ()),
    "ratio": (_PLAIN, ("a", "c")),
    "interval": (_PLAIN, ("a",)),
    "logit": (("a", "c", *_PLAIN), ()),
}


def space_of(kind: str) -> Space:
    """The search space of a kind.

    Raises:
        InvalidInputError: a kind of recorded observations, which has nothing to search.
    """
    if kind not in SPACES:
        raise InvalidInputError("kind", f"one that can be searched: {', '.join(SPACES)}", kind)
    return SPACES[kind]


def sample(space: Space, regime: str, structure: Structure, seed: int, batch: int) -> Batch:
    """A batch of one regime; equal arguments give equal batches.

    Weights, ratios, radii, values, queries and scores are numbers of float64, float32, float16 or bfloat16, drawn
    per batch, and stay in their sets after the cast.

    Raises:
        InvalidInputError: a value left its set in a cast (a fault of the sampler).
    """
    draw = Draw(seed, batch)
    latents = clip_latents(space.regimes[regime](draw, structure), space.latents(structure))
    dtype = Random(seed).choice(_STORAGE)
    if regime == "subnormal" or dtype == torch.float64:
        return Batch(structure, space.decode(latents, structure))
    return Batch(structure, space.decode(_narrow_latents(latents, structure, dtype), structure)).narrowed(dtype)


def _narrow_latents(latents: Tensors, structure: Structure, dtype: torch.dtype) -> Tensors:
    """Latents whose fields are numbers of the type, so that vertices stay vertices after the cast."""
    found = dict(latents)
    plain, logarithms = _NARROWED[structure.form]
    for name in plain:
        if name in found:
            found[name] = narrow(found[name], dtype, -torch.inf, open_low=False, name=name)
    for name in logarithms:
        # A common factor of all weights is free, so the largest becomes 1.
        shift = found["a"].amax(-1, keepdim=True) if name == "a" else 0.0
        found[name] = narrow((found[name] - shift).exp(), dtype, 0.0, open_low=True, name=name).log()
    return found


def random_batch(space: Space, form: str, rng: Random, *, largest: int = 8, batch: int = 256) -> tuple[str, Batch]:
    """A batch of a random regime and structure, with the regime's name."""
    regime = rng.choice(list(space.regimes))
    structure = space.structure(rng, form, largest)
    return regime, sample(space, regime, structure, rng.getrandbits(62), batch)
