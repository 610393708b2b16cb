"""Exact and outward-rounded float64 arithmetic on tensors, enough to judge differences, norms and dot products.

Inputs of 32 bits or fewer convert to float64 exactly; the error term of a sum or difference of two float64 numbers
is itself a float64 number (Knuth), and so is that of a product (Dekker).
"""

from __future__ import annotations

import torch

U = 2.0**-53


def two_sum(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly, unless s overflows."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(p, e) with p = fl(a b) and p + e = a b exactly, unless a part overflows or e underflows (Veltkamp, Dekker)."""
    p = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def difference(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(high, low) with |a - b| = high + low exactly and |low| <= u high; NaN where an operand is not finite."""
    s, e = two_sum(a.double(), -b.double())
    sign = torch.where(s < 0, -1.0, 1.0)
    return s.abs(), e * sign


def _halves(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    c = a * 134217729.0  # 2^27 + 1
    high = c - (c - a)
    return high, a - high


def within(a: torch.Tensor, b: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    """Whether |a - b| <= radius, decided exactly; a NaN anywhere is False, an infinite radius True."""
    high, low = difference(a, b)
    return (high < radius) | ((high == radius) & (low <= 0)) | (radius == torch.inf)


def norm_upper(tensor: torch.Tensor) -> torch.Tensor:
    """An upper bound of the Euclidean norm along the last axis of a float64 tensor of exact numbers.

    A sum of n squares in any order has relative error <= (n + 1) u / (1 - (n + 1) u); a square that underflows
    loses less than 2^-1074.
    """
    n = tensor.shape[-1]
    squares = (tensor * tensor).sum(-1)
    raised = squares * (1 + 2 * (n + 4) * U) + n * 2.0**-1074
    up = torch.nextafter(raised.sqrt(), torch.full_like(raised, torch.inf))
    return torch.where((tensor == 0).all(-1), 0.0, up)


def norm_lower(tensor: torch.Tensor) -> torch.Tensor:
    """A lower bound of the Euclidean norm along the last axis of a float64 tensor of exact numbers."""
    n = tensor.shape[-1]
    squares = (tensor * tensor).sum(-1)
    lowered = (squares * (1 - 2 * (n + 4) * U) - n * 2.0**-1074).clamp(min=0)
    return torch.nextafter(lowered.sqrt(), torch.zeros_like(lowered))


def dots(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(high, low, error): the dot product along the last axis is within `error` of high + low.

    Args:
        a: `[..., D]` float tensor, fp64 or narrower.
        b: as a.

    high is the running float64 sum; low gathers its exact rounding errors and those of the products. The additions
    into low err by at most u per step of their partial sums, each at most 2 n u times the sum of absolute products.
    """
    n = a.shape[-1]
    high = torch.zeros_like((a[..., 0] + b[..., 0]), dtype=torch.float64)
    low, size = torch.zeros_like(high), torch.zeros_like(high)
    for i in range(n):
        product, lost = two_product(a[..., i].double(), b[..., i].double())
        high, rest = two_sum(high, product)
        low = low + (rest + lost)
        size = size + product.abs()
    return high, low, size * (8.0 * (n + 2) ** 2 * U * U) + n * 2.0**-1070
