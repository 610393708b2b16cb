"""int4 and int2 in the layout of KIVI: keys per channel along tokens, values per token along channels."""

from __future__ import annotations

from typing import Literal

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.base import Declaration
from proofkv_verify.schemes.grids import IntGrid
from proofkv_verify.schemes.paged import Side, TileScheme
from proofkv_verify.schemes.rounding import DTYPES
from proofkv_verify.schemes.tiles import TileSpec


def kivi(
    bits: Literal[2, 4],
    *,
    scale: Literal["fp32", "fp16", "bf16"] = "fp16",
    group: int = 32,
    residual: int = 32,
    scale_up: bool = True,
    overflow: Literal["saturate", "error"] = "saturate",
    restored: Literal["input", "fp32", "fp16", "bf16"] = "input",
    name: str = "",
) -> TileScheme:
    """Asymmetric groups: keys in `group` tokens of one channel, values in `group` channels of one token.

    Keys are coded when `residual` of them wait (never fewer: a group of one token would be exact and save nothing);
    the newest `residual` values stay at full precision. No token is coded twice.

    Args:
        bits: width of a code.
        scale: dtype of stored scales and offsets.
        group: elements that share a scale; along channels reduced to a divisor of head_dim.
        residual: the window, a multiple of `group`.
        scale_up: round scales up or to nearest even.
        overflow: what elements beyond the grid by more than half a step do.
        restored: dtype of restored tensors.
        name: how reports call it.

    Raises:
        InvalidInputError: `residual` is not a multiple of `group`.

    Source:
        Liu et al., KIVI (arXiv 2402.02750), residual rule of section 4.
    """
    if residual < group or residual % group:
        raise InvalidInputError("residual", f"a positive multiple of group={group}", residual)
    grid = IntGrid(bits, 0.0, 2.0**bits - 1)
    common = (False, DTYPES[scale], scale_up, overflow)
    keys = Side(TileSpec(grid, group, 1, *common), window=0, flush=residual)
    values = Side(TileSpec(grid, 1, group, *common), window=residual, flush=1)
    declaration = Declaration(
        bits=bits,
        elementwise=True,
        scale_dtype=scale,
        overflow=overflow,
        rounding="nearest_even",
        restored_dtype=restored,
        residual_window=residual,
        group_tokens=group,
        radii="declared",
        notes=f"groups of {group}, scale rounded {'up' if scale_up else 'to nearest'}",
    )
    return TileScheme(name or f"int{bits}_kivi", declaration, keys, values, restored)
