"""Bins of weight ratios in float64: increasing upper edges, and the sums of each bin with enclosures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.fast._tokens import Tokens
from proofkv_verify.fast.rounding import down, up

DEFAULT_BINS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The bins of each row, edges as excess over 1; all float64.

    Attributes:
        left: [r, M], at most the true lower edge minus 1; 0 for the first bin.
        right: [r, M], at least the true upper edge minus 1; the last is at least every excess.
        place: [r, K] bin of each token, the upper one where rounding leaves two.
        doubtful: [r, K] bool, tokens within rounding of an edge.
    """

    left: Tensor
    right: Tensor
    place: Tensor
    doubtful: Tensor


def checked_edges(edges: Sequence[float] | None) -> tuple[float, ...] | None:
    """The given upper edges; None for the default.

    Raises:
        InvalidInputError: no edge, or one that is not finite.
    """
    if edges is None:
        return None
    if not edges:
        raise InvalidInputError("bin_edges", "at least one edge", "none")
    for edge in edges:
        if not abs(edge) < float("inf"):
            raise InvalidInputError("bin_edges", "finite numbers", edge)
    return tuple(float(edge) for edge in edges)


def are_bins(edges: tuple[float, ...] | None) -> bool:
    """The edges begin at 1 or above and do not decrease."""
    return edges is None or all(a <= b for a, b in zip((1.0, *edges), edges, strict=False))


def bins_of(t: Tokens, edges: tuple[float, ...] | None) -> Bins:
    """The bins with the given upper edges and one more for larger ratios, or eight edges 1 + (r_max - 1)/2^j a row."""
    largest = t.largest.unsqueeze(-1)
    low, high = _halving(largest) if edges is None else _given(largest, edges)
    place, lowest = torch.searchsorted(low, t.excess), torch.searchsorted(high, t.excess_low)
    left = torch.cat([torch.zeros_like(largest), low], dim=-1)
    right = torch.cat([high, torch.maximum(largest, high.amax(-1, keepdim=True))], dim=-1)
    return Bins(left, right, place, lowest < place)


def _halving(largest: Tensor) -> tuple[Tensor, Tensor]:
    powers = 2.0 ** -torch.arange(DEFAULT_BINS - 1, 0, -1, dtype=largest.dtype, device=largest.device)
    edges = largest * powers
    return edges, edges


def _given(largest: Tensor, edges: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    upper = largest.new_tensor(list(edges)).expand(largest.shape[0], -1).contiguous()
    gap = upper - 1  # exact up to 2
    return torch.where(upper <= 2, gap, down(gap)), torch.where(upper <= 2, gap, up(gap))


def bin_sums(bins: Bins, x: Tensor) -> Tensor:
    """The sum of x [r, K] over each bin, [r, M]; any order of additions."""
    return torch.zeros_like(bins.right).scatter_add_(-1, bins.place, x)
