"""Ellipsoids E(P) = {P^(1/2) z : |z| <= 1} in float64, every operation outward.

Rounding. A product of float64 matrices with inner size n <= 4096 is off by at most n 2^-53 |A||B| < 5e-13 |A||B|. All
slacks here are a thousand times what the few products behind them can lose: a relative 1e-9 on numbers that are sums of
positive terms, and 1e-10 of the trace on the diagonal of a matrix, which moves every axis outward. A NaN stays a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.decode.shapes import split

UP = 1 + 1e-9
_DIAGONAL = 1e-10
_CANCELLED = 1e-12


def trace_root(p: Tensor) -> Tensor:
    """sqrt(tr P), the natural weight of P in a Minkowski sum; 0 for the point."""
    return p.diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0).sqrt()


def combine(parts: Sequence[Tensor], metric: Tensor | None = None) -> Tensor:
    """A matrix whose ellipsoid contains every sum of points of the parts: (sum t)(sum P_i / t_i), t_i = sqrt(tr P_i).

    Sound for any positive t_i and under any dependence between the points; parts that are the point 0 are skipped.
    With a metric W'W the weights are sqrt(tr(W P W')), those that are best after the linear map W.

    Args:
        parts: matrices of one shape `[..., d, d]`, combined independently along the leading axes.
        metric: `[..., d, d]` or None for the identity.
    """
    stack = torch.stack(list(parts))
    weights = trace_root(stack)
    if metric is not None:
        weights = (stack * metric).sum((-2, -1)).clamp_min(0).sqrt() + 1e-9 * weights
    inverse = torch.where(weights == 0, 0.0, weights.reciprocal())
    if stack.dim() == 3:
        mixed = split(inverse @ stack.flatten(1), 0, (stack.shape[1], -1))
    else:
        mixed = (stack * inverse[..., None, None]).sum(0)
    return mixed * (weights.sum(0) * UP)[..., None, None]


def image(a: Tensor, p: Tensor) -> Tensor:
    """The image of E(P) under a map that is known up to a relative 1e-10 of its Frobenius norm: A P A' and slack."""
    if not p.any():  # the first layer's error is the point
        return p.new_zeros(*a.shape[:-1], a.shape[-2])
    scale = a.square().sum((-2, -1)) * p.diagonal(dim1=-2, dim2=-1).sum(-1)
    return widen(a @ p @ a.mT, scale)


def widen(p: Tensor, scale: Tensor) -> Tensor:
    """P with 1e-10 of `scale`, at least its trace, added to the diagonal."""
    wide = p * UP
    wide.diagonal(dim1=-2, dim2=-1).add_((_DIAGONAL * scale)[..., None])
    return wide


def ball(radius: Tensor | float, like: Tensor) -> Tensor:
    """Balls of these radii `[...]`, in the dimension of the matrix `like`."""
    return (
        torch.eye(like.shape[-1], dtype=like.dtype)
        * torch.as_tensor(radius, dtype=like.dtype).square()[..., None, None]
    )


def rank_one(vector: Tensor) -> Tensor:
    """The segment from -v to v."""
    return torch.outer(vector, vector)


def root(p: Tensor) -> Tensor:
    """A lower triangular B with B B' >= P: Cholesky of P with 1e-10 of its trace on the diagonal; NaN if none.

    The backward error of Cholesky, below 1e-12 tr P here, is less than what was added; where P is the point, B is 0.
    """
    size = p.diagonal(dim1=-2, dim2=-1).sum(-1)
    shifted = p.clone()
    shifted.diagonal(dim1=-2, dim2=-1).add_((_DIAGONAL * size + (size == 0))[..., None])
    factor, failed = torch.linalg.cholesky_ex(shifted)
    factor = torch.where((size == 0)[..., None, None], 0.0, factor)
    return torch.where((failed != 0)[..., None, None], torch.nan, factor)


def support(p: Tensor, directions: Tensor) -> Tensor:
    """The largest |a . x| over E(P) for directions `[..., d]`, rounded up."""
    lengths = directions.square().sum(-1) * p.diagonal().sum()
    squares: Tensor = (directions @ p * directions).sum(-1).clamp_min(0) + _CANCELLED * lengths
    return squares.sqrt() * UP


def row_norms(rows: Tensor) -> Tensor:
    """L2 norms along the last axis, rounded up."""
    lengths: Tensor = rows.norm(dim=-1)
    return lengths * UP


def spectral_upper(s: Tensor) -> Tensor:
    """At least the largest |eigenvalue| of symmetric matrices, by the Schatten norm (tr S^8)^(1/8): no eigen solver.

    At most n^(1/8) times too large; scaled by the Frobenius norm first, so that nothing under- or overflows.
    """
    size: Tensor = torch.linalg.matrix_norm(s)
    if not size.any():
        return size
    unit = s / torch.where(size == 0, torch.ones_like(size), size)[..., None, None]
    fourth = unit @ unit
    fourth = fourth @ fourth
    found: Tensor = torch.linalg.matrix_norm(fourth).pow(0.25) * size
    return found * (1 + 1e-8)


def gram_norm_upper(a: Tensor) -> Tensor:
    """At least the spectral norms of matrices `[..., m, n]`."""
    return spectral_upper(a @ a.mT if a.shape[-2] <= a.shape[-1] else a.mT @ a).sqrt() * UP


def product_upper(a: Tensor, b: Tensor) -> Tensor:
    """At least the largest |(a z).(b z)| over |z| <= 1 for matrices `[..., m, n]`, by the Schatten norm again.

    Both are scaled to length 1. The pairs (a z, b z) lie in one ellipsoid E(R R'), where the product is half the form
    that swaps a pair. That form is symmetric: the eigenvalues of [b, a]' [a, b] are the same, but where they nearly
    vanish its powers lose them.
    """
    lengths, size = [torch.linalg.matrix_norm(x) for x in (a, b)], a.shape[-2]
    units = (
        x / torch.where(length == 0, 1.0, length)[..., None, None] for x, length in zip((a, b), lengths, strict=True)
    )
    both = torch.cat(list(units), -2)
    factor = root(both @ both.mT)
    swapped = torch.cat([factor[..., size:, :], factor[..., :size, :]], -2)
    found: Tensor = (spectral_upper(factor.mT @ swapped) / 2 + 1e-11) * lengths[0] * lengths[1]
    return found * UP
