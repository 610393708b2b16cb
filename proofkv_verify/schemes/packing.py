"""Codes of 1, 2, 4 or 8 bits packed into bytes along the last axis, low bits first."""

from __future__ import annotations

import torch
from torch import Tensor


def pack(codes: Tensor, bits: int) -> Tensor:
    """The codes packed, ceil(D * bits / 8) bytes along the last axis.

    Args:
        codes: uint8 `[..., D]`, each below 2^bits.
        bits: 1, 2, 4 or 8.
    """
    per_byte = 8 // bits
    if per_byte == 1:
        return codes
    padded = torch.nn.functional.pad(codes, (0, -codes.shape[-1] % per_byte))
    parts = padded.reshape(*codes.shape[:-1], padded.shape[-1] // per_byte, per_byte)
    shifts = torch.arange(0, 8, bits, device=codes.device)
    return (parts.int() << shifts).sum(-1).to(torch.uint8)


def unpack(packed: Tensor, bits: int, size: int) -> Tensor:
    """The first `size` codes of each row, uint8 `[..., size]`: the inverse of `pack`."""
    if bits == 8:
        return packed
    shifts = torch.arange(0, 8, bits, device=packed.device)
    codes = (packed.int()[..., None] >> shifts) & ((1 << bits) - 1)
    return codes.flatten(-2)[..., :size].to(torch.uint8)
