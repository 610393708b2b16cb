"""int8 per token, per channel and per block, symmetric or with an offset."""

from __future__ import annotations

from typing import Literal

from proofkv_verify.schemes.base import Declaration
from proofkv_verify.schemes.grids import IntGrid
from proofkv_verify.schemes.paged import Side, TileScheme
from proofkv_verify.schemes.rounding import DTYPES
from proofkv_verify.schemes.tiles import TileSpec

ScaleDtype = Literal["fp32", "fp16", "bf16"]
Restored = Literal["input", "fp32", "fp16", "bf16"]
_SYMMETRIC, _ASYMMETRIC = IntGrid(8, -127.0, 127.0), IntGrid(8, 0.0, 255.0)


def int8_token(
    *,
    scale: ScaleDtype = "fp32",
    symmetric: bool = True,
    group: int = 0,
    scale_up: bool = True,
    overflow: Literal["saturate", "error"] = "saturate",
    restored: Restored = "input",
    name: str = "int8",
) -> TileScheme:
    """One scale a token and KV head (or a token and `group` channels): nothing waits, nothing depends on neighbours.

    Args:
        scale: dtype of stored scales and offsets.
        symmetric: codes -127..127 without offset; else 0..255 with the least element as offset, rounded down.
        group: channels that share a scale; 0: all of head_dim.
        scale_up: round scales up (no element saturates) or to nearest even (as most kernels do).
        overflow: what elements beyond the grid by more than half a step do.
        restored: dtype of restored tensors.
        name: how reports call it.
    """
    return _scheme(name, (1, group), scale, symmetric, scale_up, overflow, restored)


def int8_channel(
    *,
    scale: ScaleDtype = "fp32",
    symmetric: bool = True,
    tokens: int = 64,
    scale_up: bool = True,
    overflow: Literal["saturate", "error"] = "saturate",
    restored: Restored = "input",
    name: str = "int8_channel",
) -> TileScheme:
    """One scale a channel for each run of `tokens` tokens; an unfinished run stays at full precision.

    Args: as `int8_token`.
    """
    return _scheme(name, (tokens, 1), scale, symmetric, scale_up, overflow, restored)


def int8_block(
    *,
    scale: ScaleDtype = "fp32",
    symmetric: bool = True,
    tokens: int = 16,
    group: int = 32,
    scale_up: bool = True,
    overflow: Literal["saturate", "error"] = "saturate",
    restored: Restored = "input",
    name: str = "int8_block",
) -> TileScheme:
    """One scale a block of `tokens` tokens and `group` channels; an unfinished block stays at full precision.

    Args: as `int8_token`.
    """
    return _scheme(name, (tokens, group), scale, symmetric, scale_up, overflow, restored)


def _scheme(
    name: str, tile: tuple[int, int], scale: str, symmetric: bool, scale_up: bool, overflow: str, restored: str
) -> TileScheme:
    grid = _SYMMETRIC if symmetric else _ASYMMETRIC
    spec = TileSpec(grid, *tile, symmetric, DTYPES[scale], scale_up, overflow)
    side = Side(spec, window=0, flush=tile[0])
    declaration = Declaration(
        bits=8,
        elementwise=True,
        scale_dtype=scale,
        overflow=overflow,
        rounding="nearest_even",
        restored_dtype=restored,
        residual_window=tile[0] - 1,
        group_tokens=tile[0],
        radii="declared",
        notes=f"{'symmetric' if symmetric else 'asymmetric'}, scale rounded {'up' if scale_up else 'to nearest'}",
    )
    return TileScheme(name, declaration, side, side, restored)
