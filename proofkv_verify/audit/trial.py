"""One run of a scheme on one case: what it restored, and the radii that its certificate would use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Any

import torch

from proofkv_verify.audit.data import Case
from proofkv_verify.audit.floats import difference, norm_upper
from proofkv_verify.errors import ProofkvError
from proofkv_verify.schemes.base import HasSidecar, Scheme, Sidecar, Streams

MOST_BANDS = 8


class SchemeError(ProofkvError):
    """A scheme raised, or returned something other than tensors of the shape that it was given."""


class RefusedError(SchemeError):
    """A scheme refused its input with a ValueError, as a scheme with a stated domain may."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A scheme's pages of a case and what they restore, on the CPU.

    Attributes:
        case: the input, untouched by the scheme.
        pages: whatever the scheme keeps.
        keys_hat: `[B, Hkv, T, D]` as restored.
        values_hat: as keys_hat.
    """

    case: Case
    pages: Any
    keys_hat: torch.Tensor
    values_hat: torch.Tensor


def run_case(scheme: Scheme, case: Case, device: str = "cpu") -> Trial:
    """Compresses and restores clones of a case's tensors, so that the case stays what it was.

    Raises:
        SchemeError: the result is not a pair of floating tensors of the input's shape.
    """
    pages = compress(scheme, case.keys.to(device, copy=True), case.values.to(device, copy=True))
    keys_hat, values_hat = restore(scheme, pages, case.keys.shape)
    return Trial(case, pages, keys_hat, values_hat)


def compress(scheme: Scheme, keys: torch.Tensor, values: torch.Tensor) -> Any:
    """The scheme's pages.

    Raises:
        RefusedError: the scheme raised a ValueError.
        SchemeError: it raised anything else.
    """
    return guarded("compress", lambda: scheme.compress(keys, values))


def append(scheme: Streams, pages: Any, keys: torch.Tensor, values: torch.Tensor) -> Any:
    """The scheme's pages with more tokens; raises as `compress`."""
    return guarded("append", lambda: scheme.append(pages, keys, values))


def restore(scheme: Scheme, pages: Any, shape: torch.Size) -> tuple[torch.Tensor, torch.Tensor]:
    """The restored pair on the CPU, checked for shape and dtype.

    Raises:
        SchemeError: not such a pair, or the scheme raised.
    """
    found = guarded("restore", lambda: scheme.restore(pages))
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise SchemeError(f"restore: expected (keys_hat, values_hat), got {type(found).__name__}")
    for name, tensor in zip(("keys_hat", "values_hat"), found, strict=True):
        if not isinstance(tensor, torch.Tensor) or not tensor.dtype.is_floating_point:
            got = getattr(tensor, "dtype", type(tensor).__name__)
            raise SchemeError(f"{name}: expected a floating tensor, got {got}")
        if tensor.shape != shape:
            raise SchemeError(f"{name}: expected shape {tuple(shape)}, got {tuple(tensor.shape)}")
    return found[0].detach().cpu(), found[1].detach().cpu()


def guarded(name: str, call: Callable[[], Any]) -> Any:
    """What a scheme's method returns; its exceptions become `RefusedError` (ValueError) or `SchemeError`."""
    try:
        return call()
    except ValueError as error:
        raise RefusedError(f"{name} refused its input: {error}") from error
    except Exception as error:
        raise SchemeError(f"{name} raised {type(error).__name__}: {error}") from error
    finally:
        # A scheme that flushes subnormal numbers to zero does so for itself only.
        torch.set_flush_denormal(False)


def declared_sidecar(scheme: Scheme, trial: Trial) -> Sidecar | None:
    """The radii that a scheme declares for its pages, on the CPU in float64; None if it declares none.

    Raises:
        SchemeError: a radius that is no float64 tensor of the documented shape.
    """
    return _sidecar(scheme, trial) if scheme.declaration.radii == "declared" else None


def streams(scheme: Scheme) -> Streams | None:
    """The scheme if it can extend pages; a user's scheme may carry `append = None`."""
    return scheme if isinstance(scheme, Streams) and callable(scheme.append) else None


def _sidecar(scheme: Scheme, trial: Trial) -> Sidecar | None:
    if not isinstance(scheme, HasSidecar):
        return None
    with_radii: HasSidecar = scheme
    found = guarded("sidecar", lambda: with_radii.sidecar(trial.pages))
    return Sidecar(**{name: _checked(name, getattr(found, name), trial) for name in Sidecar.__dataclass_fields__})


def radii_of(scheme: Scheme, trial: Trial) -> Sidecar:
    """What bounds may use: the radii that the pages carry, and measured ones for every field that they lack."""
    declared = _sidecar(scheme, trial) or Sidecar()
    measured = measured_sidecar(trial)
    names = Sidecar.__dataclass_fields__
    chosen = {name: getattr(declared, name) for name in names}
    return Sidecar(**{name: getattr(measured, name) if chosen[name] is None else chosen[name] for name in names})


def measured_sidecar(trial: Trial) -> Sidecar:
    """Radii measured from original and restored tensors, rounded up: sound for this case by construction."""
    key_gap = _gap_upper(trial.case.keys, trial.keys_hat)
    value_gap = _gap_upper(trial.case.values, trial.values_hat)
    odd = key_gap.shape[-1] % 2
    return Sidecar(
        key_box=key_gap,
        key_norm=norm_upper(key_gap),
        key_bands=None if odd else norm_upper(bands(key_gap, gcd(MOST_BANDS, key_gap.shape[-1] // 2))),
        value_box=value_gap,
        value_norm=norm_upper(value_gap),
    )


def bands(tensor: torch.Tensor, count: int) -> torch.Tensor:
    """`[..., D]` as `[..., count, D / count]`: band b holds the b-th share of the planes (i, i + D/2)."""
    planes = tensor.reshape(*tensor.shape[:-1], 2, count, tensor.shape[-1] // (2 * count))
    return planes.transpose(-3, -2).flatten(-2)


def band_indices(head_dim: int, count: int) -> list[list[int]]:
    """The coordinates of each band."""
    found = bands(torch.arange(head_dim), count)
    return [[int(i) for i in row] for row in found]


def _gap_upper(original: torch.Tensor, restored: torch.Tensor) -> torch.Tensor:
    high, low = difference(original, restored)
    up = torch.nextafter(high, torch.full_like(high, torch.inf))
    return torch.where(low > 0, up, high)


def _checked(name: str, tensor: Any, trial: Trial) -> torch.Tensor | None:
    if tensor is None:
        return None
    if not isinstance(tensor, torch.Tensor) or tensor.dtype is not torch.float64:
        raise SchemeError(f"sidecar {name}: expected a float64 tensor, got {getattr(tensor, 'dtype', type(tensor))}")
    shape = trial.case.keys.shape
    wanted = shape if name.endswith("_box") else shape[:3]
    got = tensor.shape[:-1] if name == "key_bands" else tensor.shape
    if got != wanted:
        raise SchemeError(f"sidecar {name}: expected shape {tuple(wanted)}, got {tuple(tensor.shape)}")
    return tensor.detach().cpu()
