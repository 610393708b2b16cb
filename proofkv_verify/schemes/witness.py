"""Sidecars from element radii, and measured witnesses from original and restored tensors; all outward, by maximum."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import torch
from torch import Tensor

from proofkv_verify.schemes.base import Sidecar
from proofkv_verify.schemes.rounding import difference_up, norm_up, round_up

BANDS = 8
"""Rotation planes are grouped into this many bands, or the largest common divisor of it and head_dim / 2."""
PAGE_TOKENS = 16
"""Tokens that share one measured box."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A measured witness as stored: fp32, rounded up; `pages` counts runs of `PAGE_TOKENS` tokens.

    Attributes:
        key_box: `[B, Hkv, pages, D]`, per channel, the maximum over the tokens of the page.
        key_bands: `[B, Hkv, T, nb]`.
        key_norm: `[B, Hkv, T]`.
        value_box: `[B, Hkv, pages, Dv]`.
        value_norm: `[B, Hkv, T]`.
    """

    key_box: Tensor
    key_bands: Tensor | None
    key_norm: Tensor
    value_box: Tensor
    value_norm: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes of all stored numbers."""
        stored = (self.key_box, self.key_bands, self.key_norm, self.value_box, self.value_norm)
        return sum(t.numel() * t.element_size() for t in stored if t is not None)


def sidecar_of_boxes(key_box: Tensor, value_box: Tensor) -> Sidecar:
    """The sidecar implied by element radii: norms of the boxes, rounded up.

    Args:
        key_box: float64 `[B, Hkv, T, D]`, each entry 0, in [2^-500, 2^500] or infinite.
        value_box: as `key_box`.
    """
    return Sidecar(key_box, norm_up(key_box), bands_up(key_box), value_box, norm_up(value_box))


def bands_up(box: Tensor) -> Tensor | None:
    """The norm of an error inside each band is at most the returned number; None for an odd head_dim.

    Args:
        box: float64 `[B, Hkv, T, D]`, bounds of |error|.

    Returns:
        `[B, Hkv, T, nb]`; band b holds the planes (i, i + D/2) with b * P <= i < (b + 1) * P, P = D / (2 nb).
    """
    if box.shape[-1] % 2 or not box.shape[-1]:
        return None
    planes = box.shape[-1] // 2
    bands = gcd(BANDS, planes)
    halves = box.reshape(*box.shape[:-1], 2, bands, planes // bands)
    return norm_up(halves.transpose(-3, -2).flatten(-2))


def measure(keys: Tensor, values: Tensor, keys_hat: Tensor, values_hat: Tensor) -> Witness:
    """The measured witness: what restored tensors differ from the originals by, never understated.

    Args:
        keys: original `[B, Hkv, T, D]`, read before the scheme could change it.
        values: original, likewise.
        keys_hat: restored, shape of keys, any floating dtype.
        values_hat: restored, shape of values, any floating dtype.

    Returns:
        Radii with infinity where either side is not finite.
    """
    key_error, value_error = difference_up(keys, keys_hat), difference_up(values, values_hat)
    bands = bands_up(key_error)
    return Witness(
        key_box=_stored(_page_max(key_error)),
        key_bands=None if bands is None else _stored(bands),
        key_norm=_stored(norm_up(key_error)),
        value_box=_stored(_page_max(value_error)),
        value_norm=_stored(norm_up(value_error)),
    )


def sidecar_of_witness(witness: Witness) -> Sidecar:
    """The stored witness as a sidecar: boxes of pages are repeated for their tokens."""
    tokens = witness.key_norm.shape[2]
    bands = witness.key_bands
    return Sidecar(
        key_box=_repeat(witness.key_box, tokens),
        key_norm=witness.key_norm.double(),
        key_bands=None if bands is None else bands.double(),
        value_box=_repeat(witness.value_box, tokens),
        value_norm=witness.value_norm.double(),
    )


def _stored(radius: Tensor) -> Tensor:
    return round_up(radius, torch.float32)


def _page_max(error: Tensor) -> Tensor:
    batch, heads, tokens, channels = error.shape
    padded = torch.nn.functional.pad(error, (0, 0, 0, -tokens % PAGE_TOKENS))
    return padded.reshape(batch, heads, -1, PAGE_TOKENS, channels).amax(3)


def _repeat(per_page: Tensor, tokens: int) -> Tensor:
    return per_page.double().repeat_interleave(PAGE_TOKENS, 2)[:, :, :tokens]
