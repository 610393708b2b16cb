"""The one quantizer behind all built-in schemes: tiles of tokens x channels that share a scale.

    code = level nearest to (x - offset) / scale,      restored = cast(scale * level + offset)

with the scale and the offset *as stored*: the encoder divides by the very number the decoder multiplies with. Radii
come from the stored tensors alone: half a gap times the scale, the excess where a code is an end of the grid, and the
distance from scale * level + offset to the number really restored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.grids import Grid
from proofkv_verify.schemes.packing import pack, unpack
from proofkv_verify.schemes.rounding import FLUSH, inflate, largest, round_up, store_offset, store_scale


@dataclass(frozen=True, slots=True)
class TileSpec:
    """How a tensor is cut and coded.

    Attributes:
        grid: the levels.
        tokens: tokens in a tile.
        channels: channels in a tile, reduced to a divisor of head_dim; 0 means all.
        symmetric: no offset.
        scale_dtype: dtype of scales and offsets.
        scale_up: scales are rounded up (then nothing saturates while they are finite) rather than to nearest.
        overflow: "saturate", "nan" or "error", for elements beyond the grid by more than half a gap.
        fixed: stored scales given beforehand, one or one a head; empty: each tile finds its own.
        fixed_offset: the stored offset that goes with fixed scales unless symmetric.
    """

    grid: Grid
    tokens: int
    channels: int
    symmetric: bool
    scale_dtype: torch.dtype
    scale_up: bool = True
    overflow: str = "saturate"
    fixed: tuple[float, ...] = ()
    fixed_offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Tiles:
    """Coded tokens; `nt` and `nc` count the tiles along tokens and channels.

    Attributes:
        codes: uint8, packed along channels.
        scale: `[B, H, nt, nc]`, or `[1, heads or 1, 1, 1]` when fixed.
        offset: like scale, or None.
        excess: fp32 `[B, H, nt, nc]`, a quarter (so that it is finite) of how far a tile reaches beyond the grid;
            None: nowhere by half a gap.
        poison: bool `[B, H, T, D]`, inputs that were not finite and are restored as NaN; None: there were none.
        shape: `[B, H, T, D]`.
    """

    codes: Tensor
    scale: Tensor
    offset: Tensor | None
    excess: Tensor | None
    poison: Tensor | None
    shape: tuple[int, int, int, int]

    @property
    def num_bytes(self) -> int:
        """Bytes of all stored tensors."""
        stored = (self.codes, self.scale, self.offset, self.excess, self.poison)
        return sum(t.numel() * t.element_size() for t in stored if t is not None)


def encode_tiles(x: Tensor, spec: TileSpec, name: str = "tensor") -> Tiles:
    """Codes a tensor `[B, H, T, D]` whose T is a multiple of the tile's tokens.

    Raises:
        InvalidInputError: the policy is "error" and an element lies beyond the grid; or the fixed scales do not fit.
    """
    shape = (x.shape[0], x.shape[1], x.shape[2], x.shape[3])
    finite = torch.isfinite(x)
    low, high = _ends(x, finite, spec)
    scale, offset = _stored(low, high, spec)
    shift = torch.zeros_like(low) if offset is None else offset.double()
    excess = _excess(low - shift, high - shift, scale.double(), spec)
    if spec.overflow == "error" and excess is not None:
        raise InvalidInputError(name, "values within the range of the stored scale", "an element beyond it")
    kept = torch.where(finite, x.double(), 0.0)
    quotient = (kept - _spread(shift, shape)) / _spread(scale.double(), shape)
    codes = spec.grid.encode(quotient, nan_on_overflow=spec.overflow == "nan")
    poison = None if bool(finite.all()) else ~finite
    return Tiles(pack(codes, spec.grid.bits), scale, offset, excess, poison, shape)


def decode_tiles(tiles: Tiles, spec: TileSpec, dtype: torch.dtype) -> Tensor:
    """The restored tensor `[B, H, T, D]`: scale * level + offset in float64, cut to the finite range, then cast."""
    top = largest(dtype)
    restored = _grid_point(tiles, spec).clamp(-top, top).to(dtype)
    return restored if tiles.poison is None else restored.masked_fill(tiles.poison, torch.nan)


def radius(tiles: Tiles, spec: TileSpec, dtype: torch.dtype) -> Tensor:
    """|x - restored| of each element is at most the returned float64 number, for real-number subtraction.

    Sound when: x was fp32, fp16 or bf16. Subnormals may be flushed or kept, at coding, decoding and here.

    Args:
        tiles: stored tensors; nothing else is used.
        spec: as at coding.
        dtype: of the restored tensor.

    Returns:
        `[B, H, T, D]`, outward; infinite where the restored number is not finite.
    """
    step, slack = inflate(_half_step(tiles, spec)), torch.zeros(1, dtype=torch.float64, device=tiles.codes.device)
    if tiles.excess is not None:
        end = _at_end(_levels(tiles, spec), spec)
        step = torch.where(end, torch.maximum(step, _spread(tiles.excess.double() * 4, tiles.shape)), step)
    grid_point = _grid_point(tiles, spec)
    if tiles.offset is not None:
        slack = grid_point.abs() * 2.0**-52  # the addition rounds; scale * level alone has at most 32 bits
    cast_error = (decode_tiles(tiles, spec, dtype).double() - grid_point).abs()
    return inflate(step + cast_error + slack) + FLUSH


def join_tiles(first: Tiles, second: Tiles, spec: TileSpec) -> Tiles:
    """The tiles of both, in the order of tokens; nothing is coded again."""
    batch, heads, tokens, channels = first.shape
    scale, offset = first.scale, first.offset
    if not spec.fixed:
        scale = torch.cat([scale, second.scale], 2)
        offset = offset if offset is None or second.offset is None else torch.cat([offset, second.offset], 2)
    return replace(
        first,
        codes=torch.cat([first.codes, second.codes], 2),
        scale=scale,
        offset=offset,
        excess=_join_sparse(first.excess, second.excess, _grid_shape(first, spec), _grid_shape(second, spec)),
        poison=_join_sparse(first.poison, second.poison, first.shape, second.shape),
        shape=(batch, heads, tokens + second.shape[2], channels),
    )


def _ends(x: Tensor, finite: Tensor, spec: TileSpec) -> tuple[Tensor, Tensor]:
    """Least and greatest finite element of each tile, 0 where there is none; float64 `[B, H, nt, nc]`."""
    batch, heads, nt, nc = _counts(x.shape, spec)
    size = (batch, heads, nt, spec.tokens, nc, x.shape[3] // nc)
    wide = x.double()
    low = torch.where(finite, wide, torch.inf).reshape(size).amin((3, 5))
    high = torch.where(finite, wide, -torch.inf).reshape(size).amax((3, 5))
    return torch.where(low > high, 0.0, low), torch.where(low > high, 0.0, high)


def _stored(low: Tensor, high: Tensor, spec: TileSpec) -> tuple[Tensor, Tensor | None]:
    if spec.fixed:
        if len(spec.fixed) not in (1, low.shape[1]):
            raise InvalidInputError("scales", f"1 or {low.shape[1]} (one a KV head)", len(spec.fixed))
        fixed = low.new_tensor(spec.fixed).to(spec.scale_dtype).reshape(1, -1, 1, 1)
        return fixed, None if spec.symmetric else torch.full_like(fixed, spec.fixed_offset)
    if spec.symmetric:
        reach = torch.maximum(low.abs(), high.abs())
        return store_scale(reach / spec.grid.high, spec.scale_dtype, up=spec.scale_up), None
    offset = store_offset(low, spec.scale_dtype)
    span = (high - offset.double()) / (spec.grid.high - spec.grid.low)
    return store_scale(span, spec.scale_dtype, up=spec.scale_up), offset


def _excess(low: Tensor, high: Tensor, scale: Tensor, spec: TileSpec) -> Tensor | None:
    """How far the ends of each tile lie beyond the grid, rounded up; 0 where within half a gap."""
    grid = spec.grid
    beyond = torch.maximum(high - scale * grid.high, scale * grid.low - low)
    ends = torch.tensor(grid.high, dtype=torch.float64, device=low.device)
    beyond = torch.where(beyond > scale * grid.half_gap(ends), inflate(beyond), 0.0)
    return round_up(beyond / 4, torch.float32) if bool((beyond > 0).any()) else None


def _levels(tiles: Tiles, spec: TileSpec) -> Tensor:
    return spec.grid.levels(unpack(tiles.codes, spec.grid.bits, tiles.shape[3]))


def _half_step(tiles: Tiles, spec: TileSpec) -> Tensor:
    return _spread(tiles.scale.double(), tiles.shape) * spec.grid.half_gap(_levels(tiles, spec))


def _at_end(levels: Tensor, spec: TileSpec) -> Tensor:
    return (levels == spec.grid.low) | (levels == spec.grid.high)


def _grid_point(tiles: Tiles, spec: TileSpec) -> Tensor:
    """scale * level + offset in float64."""
    scaled = _spread(tiles.scale.double(), tiles.shape) * _levels(tiles, spec)
    return scaled if tiles.offset is None else scaled + _spread(tiles.offset.double(), tiles.shape)


def _spread(per_tile: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The number of its tile for each element; also of fixed scales."""
    batch, heads, tokens, channels = shape
    if per_tile.shape[2:] == (1, 1) and per_tile.shape[0] == 1:
        return per_tile.expand(shape)
    nt, nc = per_tile.shape[2:]
    if nt == 0:
        return per_tile.new_empty(shape)
    wide = per_tile[:, :, :, None, :, None].expand(batch, heads, nt, tokens // nt, nc, channels // nc)
    return wide.reshape(shape)


def _counts(shape: tuple[int, ...], spec: TileSpec) -> tuple[int, int, int, int]:
    batch, heads, tokens, channels = shape
    width = gcd(spec.channels, channels) if spec.channels else channels
    return batch, heads, tokens // spec.tokens, channels // max(width, 1)


def _grid_shape(tiles: Tiles, spec: TileSpec) -> tuple[int, int, int, int]:
    return _counts(tiles.shape, spec)


def _join_sparse(
    first: Tensor | None, second: Tensor | None, first_shape: tuple[int, ...], second_shape: tuple[int, ...]
) -> Tensor | None:
    known = first if first is not None else second
    if known is None:
        return None
    parts = (first, first_shape), (second, second_shape)
    return torch.cat([known.new_zeros(shape) if part is None else part for part, shape in parts], 2)
