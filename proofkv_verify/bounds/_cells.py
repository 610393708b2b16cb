"""The dual cell certificate: over a cell of the odds parameter s, s - P is at most a convex function's end values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Condition, Math, Scalar

Dual: TypeAlias = Callable[[Scalar], Callable[[Scalar], Scalar]]  # s in [0, 1] -> mu -> at most psi_mu(s)
Multipliers: TypeAlias = Callable[[Scalar], Sequence[Scalar]]

DEFAULT_EDGES = tuple(Fraction(k, 64) for k in (0, 16, 24, 32, 40, 48, 56, 60, 63, 64))
MAX_TRIED = 24


def cell_bound(x: View, m: Math, dual: Dual, multipliers: Multipliers) -> Scalar:
    """The maximum over the cells; 1 where the given edges do not cover [0, 1].

    Args:
        x: known fields; `cell_edges` and `cell_mu` are used if given.
        m: the arithmetic.
        dual: at each s a lower bound of psi_mu(s), which is concave in s and at most P where the odds parameter is s.
        multipliers: values of mu to try in a cell, given its midpoint, where no `cell_mu` is given.

    Returns:
        An upper bound of s - P over s in [0, 1]; a negative multiplier counts as 0.
    """
    if "cell_edges" not in x:
        if "cell_mu" in x:
            raise InvalidInputError("cell_edges", "edges for the given cell_mu", "nothing")
        return _over_cells([m.const(edge) for edge in DEFAULT_EDGES], None, m, dual, multipliers)
    edges = [m.min(m.max(edge, 0), 1) for edge in x.cell_edges]
    if len(edges) < 2:
        raise ShapeError("cell_edges", "at least 2 edges", len(edges))
    given = x.cell_mu if "cell_mu" in x else None
    if given is not None and len(given) != len(edges) - 1:
        raise ShapeError("cell_mu", f"{len(edges) - 1} multipliers, one a cell", len(given))
    return m.where(covers_unit(edges), _over_cells(edges, given, m, dual, multipliers), 1)


def covers_unit(edges: Sequence[Scalar]) -> Condition:
    """The edges do not decrease, the first is at most 0 and the last at least 1."""
    holds = (edges[0] <= 0) & (edges[-1] >= 1)
    for left, right in pairwise(edges):
        holds = holds & (left <= right)
    return holds


def _over_cells(
    edges: Sequence[Scalar], given: Sequence[Scalar] | None, m: Math, dual: Dual, multipliers: Multipliers
) -> Scalar:
    found = []
    for k, ((s, at_s), (t, at_t)) in enumerate(pairwise((edge, dual(edge)) for edge in edges)):
        mus = [m.max(given[k], 0)] if given is not None else multipliers((s + t) / 2)
        found.append(m.min(*(m.max(s - at_s(mu), t - at_t(mu)) for mu in mus)))
    return m.max(*found)


def spread(values: Sequence[Scalar]) -> Sequence[Scalar]:
    """At most 24 of the values, the last one included."""
    return values[:: -max(1, -(-len(values) // MAX_TRIED))]
