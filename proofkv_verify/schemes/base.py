"""What a scheme is: pages, the numbers they restore, and the error radii that travel with them.

Tensors are `[B, Hkv, T, D]`: batch_size, num_kv_heads, seq_len, head_dim. A scheme must have `name`, `declaration`,
`compress` and `restore`; the small protocols below name what it may have besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError

Radii = Literal["declared", "measured", "none"]
SIDECAR_FIELDS = ("key_box", "key_norm", "key_bands", "value_box", "value_norm")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The arithmetic that a scheme declares; the audit holds it to that.

    Attributes:
        bits: width of a stored code (16 for the identity on 16-bit keys; 0: not stated).
        elementwise: whether, for a fixed scale, each element is coded without regard to the others (see `Steps`).
        scale_dtype: "fp32", "fp16", "bf16", or "none".
        overflow: what a value beyond the largest code does: "saturate", "nan", "error", or "none".
        rounding: how quotients become codes, "nearest_even" for all built-in schemes.
        restored_dtype: dtype of restored tensors, "input" for that of the original.
        residual_window: this many newest tokens, or fewer, may be kept at full precision; a test on no more tokens
            than this shows nothing.
        group_tokens: how many neighbouring tokens may share a scale (1: a token never depends on another token).
        radii: "declared" (computed from the pages alone), "measured" (from original and restored), or "none".
        notes: one sentence for the reader of a report.
    """

    bits: int = 0
    elementwise: bool = False
    scale_dtype: str = "none"
    overflow: str = "none"
    rounding: str = "not stated"
    restored_dtype: str = "input"
    residual_window: int = 0
    group_tokens: int = 1
    radii: Radii = "none"
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Upper bounds on what pages lose; float64, rounded up; a field that is None is not claimed.

    Attributes:
        key_box: `[B, Hkv, T, D]`, |keys - keys_hat| of each element (a box per page is repeated for its tokens).
        key_norm: `[B, Hkv, T]`, the Euclidean norm of keys - keys_hat of each token.
        key_bands: `[B, Hkv, T, nb]`, the norm inside each band; a band is nb-th of the rotation planes (i, i + D/2),
            neighbouring i together, so the numbers hold before and after half-split RoPE.
        value_box: `[B, Hkv, T, D]`, as `key_box` for values.
        value_norm: `[B, Hkv, T]`, as `key_norm` for values.
    """

    key_box: Tensor | None = None
    key_norm: Tensor | None = None
    key_bands: Tensor | None = None
    value_box: Tensor | None = None
    value_norm: Tensor | None = None


class Pages(Protocol):
    """What a scheme keeps; opaque but for its size."""

    @property
    def num_bytes(self) -> int | None:
        """Bytes of codes, scales, zero points, full-precision residual and stored sidecars; None: not stated."""

    @property
    def seq_len(self) -> int:
        """How many tokens the pages hold."""


@runtime_checkable
class Scheme(Protocol):
    """A lossy cache: `compress` then `restore`. Neither changes its arguments."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def declaration(self) -> Declaration:
        """The arithmetic it declares."""

    def compress(self, keys: Tensor, values: Tensor) -> Any:
        """The pages of keys and values `[B, Hkv, T, D]` (fp16, bf16 or fp32)."""

    def restore(self, pages: Any) -> tuple[Tensor, Tensor]:
        """(keys_hat, values_hat) `[B, Hkv, T, D]`: the very numbers that attention will read."""


@runtime_checkable
class HasSidecar(Protocol):
    """A scheme with error radii."""

    def sidecar(self, pages: Any) -> Sidecar:
        """The claimed radii of these pages."""


@runtime_checkable
class Streams(Protocol):
    """A scheme that can extend pages."""

    def append(self, pages: Any, keys: Tensor, values: Tensor) -> Any:
        """New pages with these tokens at the end; the old pages stay valid."""


@runtime_checkable
class Steps(Protocol):
    """A scheme whose coding is elementwise once the scale is fixed, so that all inputs can be tried."""

    def step(self, values: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
        """(codes, restored, radius) of a vector for one stored scale; radius is float64.

        The whole vector counts as one group: where elements saturate, its extremes bound their error.
        """


def check_keys_values(keys: Tensor, values: Tensor) -> None:
    """Refuses tensors that are not a pair `[B, Hkv, T, D]` of one floating dtype.

    Raises:
        ShapeError: wrong rank, or sizes of keys and values that differ before the last axis.
        InvalidInputError: a dtype other than fp16, bf16, fp32.
    """
    for name, tensor in (("keys", keys), ("values", values)):
        if tensor.dim() != 4:
            raise ShapeError(name, "4 dimensions [B, H, T, D]", tensor.dim())
        if str(tensor.dtype) not in ("torch.float16", "torch.bfloat16", "torch.float32"):
            raise InvalidInputError(name, "dtype fp16, bf16 or fp32", tensor.dtype)
    if keys.shape[:3] != values.shape[:3]:
        raise ShapeError("values", f"the first three sizes of keys, {tuple(keys.shape[:3])}", tuple(values.shape))
    if keys.dtype != values.dtype:
        raise InvalidInputError("values", f"the dtype of keys, {keys.dtype}", values.dtype)
