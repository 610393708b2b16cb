"""|x - x_hat| of an affine quantizer from stored codes and scales, elementwise, outward-rounded."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofkv_verify.fast._rows import lifted
from proofkv_verify.fast.rounding import down, ieee_arithmetic, returned_above, up


@ieee_arithmetic
def quantizer_step_upper(
    code: Tensor,
    divisor: Tensor,
    scale: Tensor,
    *,
    code_min: int,
    code_max: int,
    value_low: Tensor,
    value_high: Tensor,
    offset_in: Tensor | None = None,
    offset_out: Tensor | None = None,
    roundoff: float = 0.0,
) -> Tensor:
    """|x - x_hat| <= max(d/2, saturation excess) + |d - s| |c| + |o_in - o_out| + roundoff |s c + o_out|.

    All tensors broadcast against each other; works in float64 whatever the input.

    Args:
        code: stored codes c, any integer or float dtype that holds them exactly.
        divisor: d > 0 by which the encoder divides.
        scale: s > 0 as stored and used by the decoder.
        code_min: smallest code; a code at or below it is saturated.
        code_max: largest code, likewise.
        value_low: lower end of the range the encoder knows of its group.
        value_high: upper end of it.
        offset_in: o_in that the encoder subtracts, 0 if None.
        offset_out: o_out that the decoder adds, 0 if None.
        roundoff: relative error bound of the dequantization arithmetic, >= 0.

    Returns:
        Float64 bound of the absolute error, not below the formula; +inf where an input is NaN or a scale not positive.

    Sound when: c is a nearest integer of (x - o_in)/d or the clamped end beyond which that lies; the value lies in
        [value_low, value_high]; the decoder returns s c + o_out within the relative error roundoff.
    """
    zero = torch.zeros((), dtype=torch.float64, device=code.device)
    c, d, s = code.double(), lifted(divisor, "divisor").double(), lifted(scale, "scale").double()
    low, high = lifted(value_low, "value_low").double(), lifted(value_high, "value_high").double()
    o_in, o_out = (zero if o is None else lifted(o, "offset").double() for o in (offset_in, offset_out))
    error = _encoder_error(c, d, o_in, (code_min, code_max), (low, high))
    mismatch = _plus(_times(_distance(d, s), c.abs()), _distance(o_in, o_out))
    rounded = _times(_restored(s * c, o_out), zero + roundoff)
    usable = (d > 0) & (s > 0) & (low <= high) & (c >= code_min) & (c <= code_max) & (roundoff >= 0)
    total = _plus(_plus(error, mismatch), rounded)
    return returned_above(torch.where(usable, total, math.inf), torch.float64)


def _encoder_error(
    c: Tensor, d: Tensor, offset: Tensor, codes: tuple[int, int], values: tuple[Tensor, Tensor]
) -> Tensor:
    half = d / 2  # exact but for subnormals
    half = torch.where(half * 2 == d, half, up(half))
    above, below = up(_minus(values[1], d, c, offset)), up(_minus(-values[0], -d, c, -offset))
    inside = torch.maximum(half, torch.where(c >= codes[1], above, half))
    return torch.maximum(inside, torch.where(c <= codes[0], below, half))


def _minus(value: Tensor, d: Tensor, c: Tensor, offset: Tensor) -> Tensor:
    """An upper bound of value - (d c + offset), but for the rounding of the last difference."""
    return up(value - down(d * c)) - offset


def _restored(product: Tensor, offset: Tensor) -> Tensor:
    """An upper bound of |s c + offset| from the rounded product."""
    return torch.maximum(up(up(product) + offset), -down(down(product) + offset))


def _distance(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a == b, 0.0, up((a - b).abs()))


def _times(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a == 0) | (b == 0), 0.0, up(a * b))


def _plus(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(b == 0, a, up(a + b))
