"""fp8 e4m3fn and e5m2 with dynamic, static and per-head scales and a declared overflow policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import FP8_E4M3FN, FP8_E5M2
from proofkv_verify.schemes.base import Declaration
from proofkv_verify.schemes.grids import FloatGrid
from proofkv_verify.schemes.paged import Side, TileScheme
from proofkv_verify.schemes.rounding import DTYPES, storable
from proofkv_verify.schemes.tiles import TileSpec

_GRIDS = {"e4m3fn": FloatGrid(FP8_E4M3FN), "e5m2": FloatGrid(FP8_E5M2)}


def fp8(
    fmt: Literal["e4m3fn", "e5m2"],
    *,
    scale: Literal["fp32", "fp16", "bf16"] = "fp32",
    key_scales: Sequence[float] = (),
    value_scales: Sequence[float] = (),
    scale_up: bool = True,
    overflow: Literal["saturate", "nan", "error"] = "saturate",
    restored: Literal["input", "fp32", "fp16", "bf16"] = "input",
    name: str = "",
) -> TileScheme:
    """Codes of an 8-bit float format, x / scale to nearest even by our own rounding.

    Args:
        fmt: the element format.
        scale: dtype of stored scales.
        key_scales: none: dynamic, one scale a token from its largest element; one number: static; one a KV head: per
            head. Given scales cannot fit later tokens: these saturate, and the pages say by how much.
        value_scales: as `key_scales`.
        scale_up: round dynamic scales up or to nearest even.
        overflow: beyond the largest number and its half gap, the largest number, NaN, or an error.
        restored: dtype of restored tensors.
        name: how reports call it.

    Raises:
        InvalidInputError: a given scale is not positive or not a number of the scale dtype.
    """
    sides = []
    for given, what in ((key_scales, "key_scale"), (value_scales, "value_scale")):
        fixed = tuple(_positive(s, scale, what) for s in given)
        spec = TileSpec(_GRIDS[fmt], 1, 0, True, DTYPES[scale], scale_up, overflow, fixed)
        sides.append(Side(spec))
    modes = ["dynamic" if not s else "static" if len(s) == 1 else "per head" for s in (key_scales, value_scales)]
    declaration = Declaration(
        bits=8,
        elementwise=True,
        scale_dtype=scale,
        overflow=overflow,
        rounding="nearest_even",
        restored_dtype=restored,
        radii="declared",
        notes=f"key scales {modes[0]}, value scales {modes[1]}",
    )
    return TileScheme(name or f"fp8_{fmt}", declaration, sides[0], sides[1], restored)


def _positive(value: float, scale: str, name: str) -> float:
    if not value > 0:
        raise InvalidInputError(name, "a positive number", value)
    return storable(value, DTYPES[scale], name)
