"""Ellipsoids E(P) = {P^(1/2) z : |z| <= 1} in float64, every operation outward.

Rounding. A product of float64 matrices with inner size n <= 4096 is off by at most n 2^-53 |A||B| < 5e-13 |A||B|. The
slacks here are a hundred times and more what the few products behind them can lose: a relative 1e-9 on numbers that are
sums of positive terms, and 1e-10 of the trace on the diagonal of a matrix, which moves every axis outward. Where powers
or float32 need another slack, the function counts it. A NaN stays a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.decode.shapes import split

UP = 1 + 1e-9
DIAGONAL = 1e-10
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
    if is_point(p):
        return p.new_zeros(*a.shape[:-1], a.shape[-2])
    scale = a.square().sum((-2, -1)) * p.diagonal(dim1=-2, dim2=-1).sum(-1)
    return widen(a @ p @ a.mT, scale)


def widen(p: Tensor, scale: Tensor) -> Tensor:
    """P with 1e-10 of `scale`, at least its trace, added to the diagonal."""
    wide = p * UP
    wide.diagonal(dim1=-2, dim2=-1).add_((DIAGONAL * scale)[..., None])
    return wide


def is_point(p: Tensor) -> bool:
    """Whether E(P) is the point 0, as the first layer's error is: P `[d, d]` is 0."""
    return not p.trace() and not p.any()


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
    if p.dim() == 2 and is_point(p):
        return p
    size = p.diagonal(dim1=-2, dim2=-1).sum(-1)
    shifted = p.clone()
    shifted.diagonal(dim1=-2, dim2=-1).add_((DIAGONAL * size + (size == 0))[..., None])
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(shifted)
    if size.all() and not failed.any():
        return factor
    factor = torch.where((size == 0)[..., None, None], 0.0, factor)
    return torch.where((failed != 0)[..., None, None], torch.nan, factor)


def support(p: Tensor, directions: Tensor) -> Tensor:
    """The largest |a . x| over E(P) for directions `[..., d]`, rounded up."""
    lengths = directions.square().sum(-1) * p.diagonal().sum()
    squares: Tensor = (directions @ p * directions).sum(-1).clamp_min(0) + _CANCELLED * lengths
    return squares.sqrt() * UP


def row_norms(rows: Tensor) -> Tensor:
    """L2 norms along the last axis, rounded up."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return lengths * UP


def single_precision() -> torch.dtype:
    """float32, unless its products may be computed in less: by `torch.set_float32_matmul_precision` or autocast."""
    try:
        full = torch.get_float32_matmul_precision() == "highest" and not torch.is_autocast_enabled("cpu")
    except RuntimeError:  # torch knows no answer once the precision was set by backend
        full = False
    return torch.float32 if full else torch.float64


def spectral_upper(s: Tensor, squarings: int = 2) -> Tensor:
    """At least the largest |eigenvalue| of symmetric matrices `[..., n, n]`: a Schatten norm, no eigen solver.

    It is (tr S^q)^(1/q), at most n^(1/q) times too large: q = 8 with two squarings, q = 4 with one, for half the price.
    S is scaled to Frobenius norm 1 first, so that nothing overflows. In a precision u a square is off by n u in that
    norm and doubles what was off before, which with the last norm is less than 6 n u; float32 and float64 alike.
    """
    size = _frobenius(s)
    if not size.any():
        return size
    power = s / (size + (size == 0)).to(s.dtype)[..., None, None]
    for _ in range(squarings):
        power = power @ power
    lost = 6 * (s.shape[-1] + 2) * torch.finfo(s.dtype).eps
    found: Tensor = (_frobenius(power) + lost).pow(0.5**squarings) * size
    return found * UP


def _frobenius(s: Tensor) -> Tensor:
    """The Frobenius norm in float64: in float32 the squares of numbers below 1e-19 vanish."""
    rows = torch.linalg.vector_norm(s, dim=-1, dtype=torch.float64)
    found: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return found


def gram_norm_upper(a: Tensor) -> Tensor:
    """At least the spectral norms of matrices `[..., m, n]`."""
    return spectral_upper(a @ a.mT if a.shape[-2] <= a.shape[-1] else a.mT @ a).sqrt() * UP


def product_upper(a: Tensor, b: Tensor) -> Tensor:
    """At least the largest |(a z).(b z)| over |z| <= 1 for matrices `[..., m, n]`, by the Schatten norm (tr S^4)^(1/4).

    S = (a'b + b'a) / 2 is c'Jc / 2 for c = [a, b] and J that swaps its halves: beside zeros, the eigenvalues of T / 2
    with T = J c c'. With a and b scaled to length 1, T is off by 2 (n + 2) u in Frobenius norm and T^2 by less than
    d = 9 (m + n + 2) u, hence tr T^4 by 2 d |T^2| + 3 d^2 and the rounding of its 4 m^2 terms.
    """
    lengths = [torch.linalg.matrix_norm(x) for x in (a, b)]
    units = [
        x / torch.where(length == 0, 1.0, length)[..., None, None] for x, length in zip((a, b), lengths, strict=True)
    ]
    square = torch.cat(units[::-1], -2) @ torch.cat(units, -2).mT
    square = square @ square
    eps, size = torch.finfo(a.dtype).eps, torch.linalg.matrix_norm(square)
    lost = 9 * (a.shape[-2] + a.shape[-1] + 2) * eps
    fourth = (square * square.mT).sum((-2, -1)) + lost * size + lost**2 + 3 * a.shape[-2] ** 2 * eps * size.square()
    found: Tensor = fourth.pow(0.25) / 2 * lengths[0] * lengths[1]
    return found * UP
