"""Bins of ratios: increasing upper edges, and the sums of each bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofkv_verify.kinds import View
from proofkv_verify.scalar import Condition, Math, Scalar

DEFAULT_BINS = 8


@dataclass(frozen=True, slots=True)
class Bin:
    """Tokens with left < r <= right (the first bin has left = 1 included): mass, sum p r and sum p / r."""

    left: Scalar
    right: Scalar
    mass: Scalar
    raised: Scalar
    lowered: Scalar


def ratio_bins(x: View, m: Math) -> tuple[list[Bin], Condition | None]:
    """The bins of all tokens, and the condition under which they are bins (None: always).

    With `bin_edges` the given upper edges are used (one below 1 counts as 1), and one more bin for larger ratios;
    without, eight bins with the upper edges 1 + (r_max - 1) / 2^j.
    """
    given = [m.max(edge, 1) for edge in x.bin_edges] if "bin_edges" in x else None
    top = m.max(*x.ratios, *(given or ()))
    inner = _halving(top) if given is None else given
    bins = [_bin(x, m, left, right) for left, right in zip([None, *inner], [*inner, None], strict=True)]
    lefts, rights = [m.const(1), *inner], [*inner, top]
    named = [Bin(s, t, *sums) for s, t, sums in zip(lefts, rights, bins, strict=True)]
    return named, None if given is None else _increasing(lefts, rights)


def guarded(condition: Condition | None, value: Scalar, m: Math) -> Scalar:
    """`value` where the bins are bins, else the vacuous bound 1."""
    return value if condition is None else m.where(condition, value, 1)


def _halving(top: Scalar) -> list[Scalar]:
    return [1 + (top - 1) / 2**j for j in range(DEFAULT_BINS - 1, 0, -1)]


def _increasing(lefts: Sequence[Scalar], rights: Sequence[Scalar]) -> Condition:
    holds = lefts[0] <= rights[0]
    for left, right in zip(lefts[1:], rights[1:], strict=True):
        holds = holds & (left <= right)
    return holds


def _bin(x: View, m: Math, left: Scalar | None, right: Scalar | None) -> tuple[Scalar, Scalar, Scalar]:
    rows = [(p, r, _inside(r, left, right)) for p, r in zip(x.weights, x.ratios, strict=True)]
    mass = m.sum(_kept(inside, p, m) for p, _, inside in rows)
    raised = m.sum(_kept(inside, p * r, m) for p, r, inside in rows)
    return mass, raised, m.sum(_kept(inside, p / r, m) for p, r, inside in rows)


def _inside(ratio: Scalar, left: Scalar | None, right: Scalar | None) -> Condition | None:
    if left is None:
        return None if right is None else ratio <= right
    return ratio > left if right is None else (ratio > left) & (ratio <= right)


def _kept(inside: Condition | None, value: Scalar, m: Math) -> Scalar:
    return value if inside is None else m.where(inside, value, 0)
