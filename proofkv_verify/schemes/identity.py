"""The scheme that keeps everything: every claim about it must hold with radius 0."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.schemes.base import Declaration, Sidecar, check_keys_values
from proofkv_verify.schemes.witness import sidecar_of_boxes

_DECLARATION = Declaration(
    elementwise=True, rounding="none", radii="declared", notes="keeps every bit: nothing is lost or saved"
)


@dataclass(frozen=True, slots=True)
class PlainPages:
    """Copies of the tensors."""

    keys: Tensor
    values: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes of both."""
        return sum(t.numel() * t.element_size() for t in (self.keys, self.values))

    @property
    def seq_len(self) -> int:
        """Number of tokens held."""
        return self.keys.shape[2]


@dataclass(frozen=True, slots=True)
class Identity:
    """keys_hat = keys and values_hat = values, bit for bit."""

    name: str = "identity"
    declaration: Declaration = _DECLARATION

    def compress(self, keys: Tensor, values: Tensor) -> PlainPages:
        """Pages with copies."""
        check_keys_values(keys, values)
        return PlainPages(keys.clone(), values.clone())

    def append(self, pages: PlainPages, keys: Tensor, values: Tensor) -> PlainPages:
        """Pages with these tokens at the end."""
        check_keys_values(keys, values)
        return PlainPages(torch.cat([pages.keys, keys], 2), torch.cat([pages.values, values], 2))

    def restore(self, pages: PlainPages) -> tuple[Tensor, Tensor]:
        """The originals."""
        return pages.keys.clone(), pages.values.clone()

    def sidecar(self, pages: PlainPages) -> Sidecar:
        """Zeros; infinite where the original is not finite, for no distance is known there."""
        return sidecar_of_boxes(_box(pages.keys), _box(pages.values))

    def step(self, values: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
        """The values themselves as codes and as restored numbers, radius 0."""
        return values.clone(), values.clone(), _box(values)


def _box(x: Tensor) -> Tensor:
    return torch.where(torch.isfinite(x), torch.zeros_like(x, dtype=torch.float64), torch.inf)
