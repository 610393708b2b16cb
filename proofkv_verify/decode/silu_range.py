"""Largest |silu''| and |silu'''| over an interval, from a table of cells widened by the next derivative's bound."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from proofkv_verify.decode.model import F64

SECOND, THIRD, FOURTH = 0.5, 0.32, 0.51  # sup |silu^(k)| for k = 2, 3, 4 is 0.5, 0.30818... and 0.5
_REACH, _CELLS = 32.0, 8192
_STEP = 2 * _REACH / _CELLS


def derivatives(u: Tensor) -> tuple[Tensor, Tensor]:
    """silu'' and silu''' at u: with s = sigmoid(u) and s' = s(1 - s), s'' = s'(1 - 2s), s''' = s'(1 - 6s'),
    silu'' = 2 s' + u s'' and silu''' = 3 s'' + u s'''.
    """
    s = torch.sigmoid(u)
    first = s * (1 - s)
    second, third = first * (1 - 2 * s), first * (1 - 6 * first)
    return 2 * first + u * second, 3 * second + u * third


@cache
def _tables() -> tuple[Tensor, Tensor]:
    """For each derivative: maxima over 2^k cells from each cell on `[levels, cells]`; beyond +-32 the end cell stands.

    Beyond 32 both derivatives are below 33 exp(-32), less than what widening adds to the end cells.
    """
    centre = (torch.arange(_CELLS, dtype=F64) + 0.5) * _STEP - _REACH
    second, third = derivatives(centre)
    found = []
    for values, slope in ((second, THIRD), (third, FOURTH)):
        level = values.abs() + slope * _STEP / 2 * (1 + 1e-9) + 1e-12
        levels = [level]
        for k in range(13):
            shifted = torch.cat([levels[-1][2**k :], levels[-1][-1:].expand(min(2**k, _CELLS))])
            levels.append(torch.maximum(levels[-1], shifted))
        found.append(torch.stack(levels))
    return found[0], found[1]


def largest_derivatives(centre: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """Upper bounds on |silu''| and |silu'''| over centre +- reach; the global ones where that is not finite."""
    known = centre.isfinite() & reach.isfinite()
    low, high = (torch.where(known, centre + side * reach, side * 2 * _REACH) for side in (-1, 1))
    first = ((low + _REACH) / _STEP - 1e-6).floor().clamp(0, _CELLS - 1).long()
    last = ((high + _REACH) / _STEP + 1e-6).floor().clamp(0, _CELLS - 1).long()
    level = torch.log2((last - first + 1).to(F64)).floor().long()
    other = last - 2**level + 1
    second, third = (torch.maximum(t[level, first], t[level, other]) for t in _tables())
    return second.clamp_max(SECOND), third.clamp_max(THIRD)
