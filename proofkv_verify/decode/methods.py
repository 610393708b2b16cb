"""The named methods that enclose a step; `ellipsoid` is the one that decides unless another is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch

from proofkv_verify.decode.adjoint import first_order
from proofkv_verify.decode.composition import enclose_l2
from proofkv_verify.decode.enclosure import Enclosure, directions, enclose, rivals_by_gap
from proofkv_verify.decode.interval import enclose_interval
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.vertex import enclose_vertex_last
from proofkv_verify.errors import InvalidInputError

Method: TypeAlias = Callable[[Model, Trace, Sequence[Sets]], Enclosure]


def enclose_first_order(model: Model, trace: Trace, sets: Sequence[Sets]) -> Enclosure:
    """The page errors' first order alone. Not a bound: `proof` is false and nothing is ever certified by it."""
    rows, gaps = directions(model, trace)
    radii = torch.zeros_like(gaps)
    rivals = rivals_by_gap(gaps, trace.token)
    radii[rivals], _ = first_order(all_maps(model.layers, trace, sets), rows[rivals])
    return Enclosure("first-order", False, trace.token, gaps, radii, "")


METHODS: dict[str, Method] = {
    "ellipsoid": enclose,
    "vertex-last": enclose_vertex_last,
    "interval": enclose_interval,
    "l2": enclose_l2,
    "first-order": enclose_first_order,
}


def method_named(name: str) -> Method:
    """The method of this name.

    Raises:
        InvalidInputError: there is none.
    """
    if name not in METHODS:
        raise InvalidInputError("method", f"one of {', '.join(METHODS)}", name)
    return METHODS[name]
