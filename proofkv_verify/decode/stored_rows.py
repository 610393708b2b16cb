"""How far a generated token's row in the full cache can be from the row that the compressed pass computed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.ellipsoid import UP, gram_norm_upper, root, row_norms
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.noise import row_noise


@dataclass(frozen=True, slots=True)
class OwnRow:
    """The token's own key and value `[2, G, D]` with two L2 radii `[2, G]` each.

    Attributes:
        row: the nominal row, not rounded to float16.
        reach: radius of the true row before it is stored; rounding: how far storing it in float16 can move it.
    """

    row: Tensor
    reach: Tensor
    rounding: Tensor

    @property
    def total(self) -> Tensor:
        """Radius of the stored row around the nominal one."""
        return (self.reach + self.rounding) * UP


def own_row(maps: Maps, p_in: Tensor) -> OwnRow:
    """The row and its radii for a normalised input in E(p_in): half a float16 step is at most 2^-11 |x| + 2^-25."""
    tr, b = maps.trace, root(p_in)
    row = torch.stack([tr.keys[:, -1], tr.values[:, -1]])
    reach = torch.stack([gram_norm_upper(w @ b) for w in (tr.wk, maps.layer.wv)]) + row_noise(maps.layer, tr)
    rounding = (2.0**-11 * (row_norms(row) + reach) + 2.0**-25 * row.shape[-1] ** 0.5) * UP
    return OwnRow(row, reach, rounding)
