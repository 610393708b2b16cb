"""The dual cell certificate in float64: evaluation with outward rounding, and a search for good cells.

For s in a cell [s0, s1] and any mu >= 0, s - P <= max of V(s0), V(s1) with
V(s) = s (1 - mu) + mu s beta + sum p (mu g_s - 1)_+, g_s = 1 + (1-s) e - s f, e = r - 1, f = 1 - 1/r,
beta = sum p f: the same number as s - mu s B + sum p (mu g_s - 1)_+ with B = 1 - beta, but without the
cancellation of s against mu s B at small radii.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.fast._tokens import Tokens
from proofkv_verify.fast.rounding import FP64, down, float_above, up

Value: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # (s [r], mu [r]) -> upper bound of V [r]
Multiplier: TypeAlias = Callable[[Tensor], Tensor]  # s [r] -> mu [r], any choice is sound

_U = float(FP64.unit)
_BISECTIONS = 20
DEFAULT_EDGES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.9375, 0.96875, 0.984375, 1.0)


def cell_value(t: Tokens, s: Tensor, mu: Tensor) -> Tensor:
    """An upper bound of V(s) for s in [0, 1] and mu >= 0; all [r]."""
    hinge = hinge_terms(t, s, mu)
    largest = up(up(mu * up(t.largest + 1)) + 1)
    part = up(t.sum_upper(hinge, largest) / t.mass_lower)
    return up(up(linear_part(t, s, mu) + part) + underflow(t))


def linear_part(t: Tokens, s: Tensor, mu: Tensor) -> Tensor:
    """An upper bound of s (1 - mu) + mu s beta."""
    return up(up(s * up(1 - mu)) + up(up(mu * s) * t.beta))


def underflow(t: Tokens) -> Tensor:
    """What the products of s, mu, e and f may have lost to underflow; 0 where every ratio is 1."""
    largest = t.largest
    return torch.where(largest > 0, largest.new_tensor(float_above(4 * t.count * FP64.tiny)), 0.0)


def hinge_terms(t: Tokens, s: Tensor, mu: Tensor) -> Tensor:
    """(mu g_s - 1)_+ for each token, rounded up: the factors are inflated by more than the roundings below them."""
    lead = mu - 1
    c0 = (lead + 8 * _U * lead.abs()).unsqueeze(-1)
    cx = (mu * up(1 - s) * (1 + 16 * _U)).unsqueeze(-1)
    cy = (mu * s * (1 - 16 * _U)).unsqueeze(-1)
    return (c0 + cx * t.excess - cy * t.deficit_low).clamp(min=0)


def best_multiplier(t: Tokens, s: Tensor) -> Tensor:
    """A nearly dual-optimal mu at s: 1/mu splits the tokens by g_s where their sum of p g_s reaches s B."""
    g = 1 + (1 - s).unsqueeze(-1) * t.excess - s.unsqueeze(-1) * t.deficit
    wg = t.weights * g
    target = s * (1 - t.beta) * t.mass_upper
    low, high = g.amin(-1), g.amax(-1)
    for _ in range(_BISECTIONS):
        middle = (low * high).sqrt()
        enough = (wg * (g > middle.unsqueeze(-1))).sum(-1) >= target
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return 1 / (low * high).sqrt()


def over_cells(edges: Tensor, mu: Tensor, value: Value) -> Tensor:
    """The largest end value over given cells; edges [r, M+1] from 0 to 1, mu [r, M]; [r]."""
    best = torch.full_like(mu[:, 0], -torch.inf)
    for k in range(mu.shape[1]):
        for end in (edges[:, k], edges[:, k + 1]):
            best = torch.maximum(best, value(end, mu[:, k]))
    return best


def over_given(rows: Tensor, cells: tuple[Sequence[float], Sequence[float]], value: Value) -> Tensor:
    """`over_cells` with the same edges and multipliers for all rows; 1 where the edges do not cover [0, 1] in order."""
    edges, mu = cells
    if edges[0] > 0 or edges[-1] < 1 or any(a > b for a, b in itertools.pairwise(edges)):
        return torch.ones_like(rows)
    spread = [rows.new_tensor(list(x)).expand(rows.shape[0], -1) for x in (edges, mu)]
    return over_cells(spread[0], spread[1], value)


def fixed_cells(rows: Tensor, value: Value, multiplier: Multiplier) -> Tensor:
    """The largest end value over eleven cells, mu chosen at each cell's midpoint; `rows` [r] gives device and size."""
    edges = rows.new_tensor(DEFAULT_EDGES).expand(rows.shape[0], -1)
    middles = (edges[:, 1:] + edges[:, :-1]) / 2
    mu = torch.stack([multiplier(middles[:, k]) for k in range(middles.shape[1])], dim=1)
    return over_cells(edges, mu, value)


def refined_cells(rows: Tensor, value: Value, multiplier: Multiplier, splits: int) -> tuple[Tensor, Tensor]:
    """A bound of s - P over [0, 1] from one multiplier an edge, halving each row's worst cell, and that cell's middle.

    A cell takes the multiplier of either end, or both: with mu_0, mu_1 > 0 at the ends of a cell,
    s - P <= max of V(s_0) + e mu_0, V(s_1) + e mu_1 in it, where e = max(0, 1/mu_0 - 1/mu_1) (s_1 - s_0)/4.
    Proof: let 1/mu be linear in s between the ends. V(s)/mu(s) is s/mu(s), a quadratic at most e above its chord,
    plus a convex function; so it stays below T/mu(s) inside the cell if (V + e mu)/mu does so at both ends. The
    error is quadratic in the width.
    Lean: ProofKV.tv_le_refined_cells, for exact numbers.

    Args:
        rows: any float64 [r]; gives device and size.
        value: an upper bound of V at an edge.
        multiplier: the mu of an edge; one that is not positive and finite is replaced by 1.
        splits: how many edges are put between 0 and 1.

    Returns:
        Bound [r], middle of the cell that limits it [r].
    """
    s = torch.zeros((rows.shape[0], splits + 2), dtype=rows.dtype, device=rows.device)
    s[:, 1] = 1
    edges = [_edge(s[:, k], value, multiplier) for k in (0, 1)]
    mu, v = (torch.ones_like(s), torch.zeros_like(s))
    for k, (m, x) in enumerate(edges):
        mu[:, k], v[:, k] = m, x
    index = torch.arange(rows.shape[0], device=rows.device)
    right = torch.ones((rows.shape[0], splits + 1), dtype=torch.int64, device=rows.device)  # edge at a cell's right
    worst = torch.full_like(s[:, 1:], -torch.inf)  # cell k has edge 0 or k + 1 at its left

    def cell(a: Tensor, b: Tensor) -> Tensor:
        (s0, s1), (mu0, mu1), (v0, v1) = ((x[index, a], x[index, b]) for x in (s, mu, v))
        return _cell((s0, s1), (mu0, mu1), (v0, v1), value)

    worst[:, 0] = cell(torch.zeros_like(index), right[:, 0])
    for k in range(1, splits + 1):
        at = worst.argmax(-1)
        a, b = torch.where(at == 0, 0, at + 1), right[index, at]
        new = torch.full_like(index, k + 1)
        s[:, k + 1] = _between(s[index, a], s[index, b])
        mu[:, k + 1], v[:, k + 1] = _edge(s[:, k + 1], value, multiplier)
        old = worst[index, at]  # it bounds both halves as well
        worst[index, at] = torch.minimum(cell(a, new), old)
        right[index, at], right[:, k] = new, b
        worst[:, k] = torch.minimum(cell(new, b), old)
    at = worst.argmax(-1)
    a = torch.where(at == 0, 0, at + 1)
    return worst[index, at], (s[index, a] + s[index, right[index, at]]) / 2


def _between(a: Tensor, b: Tensor) -> Tensor:
    """A point of (a, b): 1/2 if inside, else the geometric middle of the distances to the nearer of 0 and 1."""
    low = (torch.maximum(a, b / 64) * b).sqrt()
    high = 1 - (torch.maximum(1 - b, (1 - a) / 64) * (1 - a)).sqrt()
    return torch.where(b <= 0.5, low, torch.where(a >= 0.5, high, 0.5))


def _edge(s: Tensor, value: Value, multiplier: Multiplier) -> tuple[Tensor, Tensor]:
    mu = multiplier(s)
    mu = torch.where(torch.isfinite(mu) & (mu > 0), mu, 1.0)
    return mu, value(s, mu)


def _cell(s: tuple[Tensor, Tensor], mu: tuple[Tensor, Tensor], v: tuple[Tensor, Tensor], value: Value) -> Tensor:
    """The bound of a cell from its two ends: s, multiplier and value at each."""
    fall = up(up(1 / mu[0]) - down(1 / mu[1])).clamp(min=0)
    e = torch.where(mu[0] >= mu[1], 0.0, up(fall * up(s[1] - s[0])) / 4)
    both = torch.maximum(up(v[0] + up(e * mu[0])), up(v[1] + up(e * mu[1])))
    left, right = torch.maximum(v[0], value(s[1], mu[0])), torch.maximum(value(s[0], mu[1]), v[1])
    return torch.minimum(both, torch.minimum(left, right))


def lower_value(t: Tokens, chosen: Tensor) -> Tensor:
    """A lower bound of a/(a+b) - P for the token set `chosen` (bool [r, K]), by positive terms only; [r].

    With E = sum over the set of w e, F = sum over the rest of w f, W_S and W_R the masses: the value is
    (E W_R + F W_S) / ((W + E - F) W).
    """
    ones = torch.ones_like(t.weights)
    inside, outside = chosen.double(), (~chosen).double()
    top_excess = t.largest
    e = t.sum_lower(t.excess_low * inside, top_excess)
    f = t.sum_lower(t.deficit_low * outside, 1.0)
    mass_in, mass_out = t.sum_lower(ones * inside, 1.0), t.sum_lower(ones * outside, 1.0)
    top = down(down(e * mass_out) + down(f * mass_in)).clamp(min=0)
    e_up = t.sum_upper(t.excess * inside, top_excess)
    bottom = up(up(up(t.mass_upper + e_up) - f) * t.mass_upper)
    return down(top / bottom).clamp(min=0)
