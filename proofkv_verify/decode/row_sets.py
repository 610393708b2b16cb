"""How far a linear form reaches over errors that lie in several sets at once: each row's box and ball, the page's ball.

For any split g = g1 + g2 + g3 the reach over the intersection is at most the sum of what each part reaches over one of
the sets, and the best split attains it. The smallest of the three alone is the split that gives everything to one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, row_norms
from proofkv_verify.decode.shapes import split

_CUTS = (0.25, 0.45, 0.7)  # of the largest row of a page


def box_and_ball(g: Tensor, norm: Tensor, box: Tensor) -> tuple[Tensor, Tensor]:
    """A split g = g1 + g2 for which sum box |g1| + norm |g2| is small: that first sum `[..., T]`, and g2 `[..., T, D]`.

    The best g2 is g cut to l box with l = |g2| / norm. From nothing cut, two steps of Newton's for 1 / l^2 come within
    1 % of it where norm is at most 0.6 |box|, as quantisers have it, and the box's sides are alike. The sum is never
    above norm |g|; where g lies in few channels with narrow sides it may be above sum box |g|.

    Args:
        g: `[..., T or 1, D]`.
        norm: L2 radii of the rows `[..., T]`; a row of radius 0 is left to the ball.
        box: half widths `[..., T, D or 1]`.
    """
    squares, sides, whole = g.square(), box.square().expand(*box.shape[:-1], g.shape[-1]), norm.square()
    level = (row_norms(g) / norm).square()
    for _ in range(2):
        cut = squares > level[..., None] * sides
        used = torch.where(cut, sides, 0.0).sum(-1)
        level = torch.where(used >= whole, 0.0, torch.where(cut, 0.0, squares).sum(-1) / (whole - used))
    edge = torch.where(norm[..., None] == 0, torch.inf, level.sqrt()[..., None] * box)
    inner = torch.maximum(torch.minimum(g, edge), -edge)
    return ((g - inner).abs() * box).sum(-1) * UP, inner


def page_shares(alone: Tensor) -> Tensor:
    """What part of each row may be left to the page's spectral ball: candidates `[K, ..., S]`, none first, all last.

    Those between cut every row to one size, as the best split does where the rows are parallel.

    Args:
        alone: reach of each row of a page by itself `[..., S]`.
    """
    sizes = torch.tensor(_CUTS, dtype=alone.dtype).reshape(-1, *[1] * alone.dim()) * alone.amax(-1, keepdim=True)
    cut = (sizes / torch.where(alone > 0, alone, 1.0)).clamp_max(1.0)
    return torch.cat([torch.zeros_like(alone)[None], cut, torch.ones_like(alone)[None]])


def page_reach(shares: Tensor, coefficient: Tensor, vectors: Tensor, sigma: Tensor) -> Tensor:
    """The reach of the rows' shares over the pages' spectral balls `[K, R, G, P]`: sigma times the nuclear norm.

    Args:
        shares: `[K, R, G, P, S]` as `page_shares` gives them.
        coefficient: row t of the form is the sum over m of coefficient_mt vectors_m, `[R, G, m, T]`.
        vectors: `[R, G, m, D]`.
        sigma: `[G, P]`.
    """
    pages, size = shares.shape[-2:]
    paged = split(coefficient[..., : pages * size], -1, (pages, size)).transpose(2, 3)
    some = nuclear_upper(paged * shares[1:, ..., None, :], vectors[:, :, None]) * sigma
    return torch.cat([torch.zeros_like(some[:1]), some])


def nuclear_upper(left: Tensor, right: Tensor) -> Tensor:
    """At least the nuclear norm of left' @ right, `[.., m, S]`, `[.., m, D]`; equal to it for m <= 2, up to slack."""
    a, b = left @ left.mT, right @ right.mT
    product = (a @ b).diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0)
    if a.shape[-1] == 1:
        return product.sqrt() * UP
    size = a.diagonal(dim1=-2, dim2=-1).sum(-1) * b.diagonal(dim1=-2, dim2=-1).sum(-1)
    if a.shape[-1] > 2:
        return ((product + 1e-10 * size) * a.shape[-1]).sqrt() * UP
    both = (_det(a).clamp_min(0) * _det(b).clamp_min(0)).sqrt()
    return (product + 2 * both + 1e-7 * size).sqrt() * UP


def _det(a: Tensor) -> Tensor:
    return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
