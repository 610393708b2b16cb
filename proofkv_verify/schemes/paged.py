"""A scheme made of tiles: coded groups, a full-precision residual, streaming that never codes a token twice.

Which tokens are coded depends on their number alone (`coded_tokens`), and `compress` is `append` onto empty pages, so
any split of the same tokens gives the same pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.schemes.base import Declaration, Sidecar, check_keys_values
from proofkv_verify.schemes.packing import unpack
from proofkv_verify.schemes.rounding import DTYPES, cast_finite, difference_up, storable, store_offset
from proofkv_verify.schemes.tiles import Tiles, TileSpec, decode_tiles, encode_tiles, join_tiles, radius
from proofkv_verify.schemes.witness import sidecar_of_boxes


@dataclass(frozen=True, slots=True)
class Side:
    """How the keys, or the values, are coded and when.

    Attributes:
        spec: cut and code.
        window: this many newest tokens always stay at full precision.
        flush: the tokens before the window are coded in runs of this many (a multiple of the tile's tokens).
    """

    spec: TileSpec
    window: int = 0
    flush: int = 1


@dataclass(frozen=True, slots=True)
class SidePages:
    """Coded tokens, then the residual `[B, H, T_r, D]` in the dtype of the originals."""

    tiles: Tiles
    residual: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes of codes, scales, offsets, excesses and residual."""
        return self.tiles.num_bytes + self.residual.numel() * self.residual.element_size()


@dataclass(frozen=True, slots=True)
class TilePages:
    """Pages of a `TileScheme`."""

    keys: SidePages
    values: SidePages

    @property
    def num_bytes(self) -> int:
        """Bytes of keys and values; the sidecar needs none, being computed from these."""
        return self.keys.num_bytes + self.values.num_bytes

    @property
    def seq_len(self) -> int:
        """Number of tokens held."""
        return self.keys.tiles.shape[2] + self.keys.residual.shape[2]


@dataclass(frozen=True, slots=True)
class TileScheme:
    """A quantizer of keys and values in tiles; see `base.Scheme`, `base.HasSidecar`, `base.Streams`, `base.Steps`.

    Attributes:
        restored: dtype of restored tensors, "input" for that of the originals.
    """

    name: str
    declaration: Declaration
    keys: Side
    values: Side
    restored: str = "input"

    def compress(self, keys: Tensor, values: Tensor) -> TilePages:
        """The pages of all tokens."""
        check_keys_values(keys, values)
        return TilePages(_begin(keys, self.keys, "keys"), _begin(values, self.values, "values"))

    def append(self, pages: TilePages, keys: Tensor, values: Tensor) -> TilePages:
        """New pages with these tokens at the end; groups that are full now are coded, coded ones stay as they are."""
        check_keys_values(keys, values)
        return TilePages(
            _extend(pages.keys, keys, self.keys, "keys"), _extend(pages.values, values, self.values, "values")
        )

    def restore(self, pages: TilePages) -> tuple[Tensor, Tensor]:
        """(keys_hat, values_hat)."""
        return self._restore(pages.keys, self.keys), self._restore(pages.values, self.values)

    def sidecar(self, pages: TilePages) -> Sidecar:
        """Radii from the pages alone, with the scales as stored; see `tiles.radius`."""
        return sidecar_of_boxes(self._radius(pages.keys, self.keys), self._radius(pages.values, self.values))

    def step(self, values: Tensor, scale: float, offset: float | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """(codes, restored, radius) of a vector coded as one group with a given stored scale.

        Args:
            values: 1-D, fp16, bf16 or fp32.
            scale: a positive number of the scale dtype.
            offset: for asymmetric schemes, a number of the scale dtype; None centres the codes about 0.

        Raises:
            InvalidInputError: the scale is not positive or the scale dtype does not hold it.
        """
        spec = _fixed_spec(self.keys.spec, scale, offset)
        tiles = encode_tiles(values.reshape(1, 1, 1, -1), spec, "values")
        codes = unpack(tiles.codes, spec.grid.bits, values.numel())
        dtype = self._dtype(values.dtype)
        return codes.flatten(), decode_tiles(tiles, spec, dtype).flatten(), radius(tiles, spec, dtype).flatten()

    def _restore(self, pages: SidePages, side: Side) -> Tensor:
        dtype = self._dtype(pages.residual.dtype)
        return torch.cat([decode_tiles(pages.tiles, side.spec, dtype), cast_finite(pages.residual, dtype)], 2)

    def _radius(self, pages: SidePages, side: Side) -> Tensor:
        dtype = self._dtype(pages.residual.dtype)
        kept = difference_up(pages.residual, cast_finite(pages.residual, dtype))
        return torch.cat([radius(pages.tiles, side.spec, dtype), kept], 2)

    def _dtype(self, original: torch.dtype) -> torch.dtype:
        return original if self.restored == "input" else DTYPES[self.restored]


def coded_tokens(seq_len: int, side: Side) -> int:
    """How many of `seq_len` tokens are coded: whole runs of `flush` among those before the window."""
    return max(seq_len - side.window, 0) // side.flush * side.flush


def _begin(x: Tensor, side: Side, name: str) -> SidePages:
    empty = SidePages(encode_tiles(x[:, :, :0], side.spec, name), x[:, :, :0])
    return _extend(empty, x, side, name)


def _extend(pages: SidePages, new: Tensor, side: Side, name: str) -> SidePages:
    old = pages.residual
    if old.dtype != new.dtype:
        raise InvalidInputError(name, f"the dtype of the pages, {old.dtype}", new.dtype)
    if (*old.shape[:2], old.shape[3]) != (*new.shape[:2], new.shape[3]):
        raise ShapeError(name, f"the sizes of the pages, {tuple(old.shape)}, but for T", tuple(new.shape))
    waiting = torch.cat([old, new], 2)
    done = pages.tiles.shape[2]
    count = coded_tokens(done + waiting.shape[2], side) - done
    tiles = pages.tiles
    if count:
        tiles = join_tiles(tiles, encode_tiles(waiting[:, :, :count], side.spec, name), side.spec)
    return SidePages(tiles, waiting[:, :, count:].clone())


def _fixed_spec(spec: TileSpec, scale: float, offset: float | None) -> TileSpec:
    if not scale > 0:
        raise InvalidInputError("scale", "a positive number", scale)
    stored = storable(scale, spec.scale_dtype, "scale")
    if offset is None:
        middle = torch.tensor(0.0 if spec.symmetric else -stored * 2.0 ** (spec.grid.bits - 1), dtype=torch.float64)
        offset = float(store_offset(middle, spec.scale_dtype))
    shift = storable(offset, spec.scale_dtype, "offset")
    return replace(spec, tokens=1, channels=0, fixed=(stored,), fixed_offset=shift)
