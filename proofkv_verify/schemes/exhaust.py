"""Every fp16 or bf16 number through an elementwise scheme at a fixed scale, decided exactly.

`exhaust_step` asks the scheme's `step`; `exhaust_scheme` goes through compress, restore and sidecar themselves, with
the scale of every group pinned by elements of a chosen size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.schemes.base import HasSidecar, Scheme, Steps
from proofkv_verify.schemes.compare import Violation, first_violation
from proofkv_verify.schemes.rounding import storable

_SIXTEEN_BITS = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The outcome of trying all inputs.

    Attributes:
        inputs: how many numbers were tried (all 63488 finite ones of fp16 or 65280 of bf16, both zeros counted, or
            those within the reach).
        vacuous: how many of them got an infinite radius, of which nothing is claimed.
        violation: one input whose error exceeds its radius; None: there is none, which proves the radii for this dtype
            and this scale.
    """

    inputs: int
    vacuous: int
    violation: Violation | None


def exhaust_step(scheme: Steps, dtype: torch.dtype, scale: float) -> Exhausted:
    """For every finite number of a 16-bit dtype, |x - restored| <= radius at this scale, or the first exception.

    Args:
        scheme: its `step` is called once, with all inputs as one group.
        dtype: fp16 or bf16.
        scale: a number that the scheme's scale dtype holds.

    Raises:
        InvalidInputError: another dtype.
        ShapeError: `step` did not return one restored number and one radius for each input.
    """
    values = finite_numbers(dtype)
    _, restored, radius = scheme.step(values.clone(), scale)
    if restored.shape != values.shape or radius.shape != values.shape:
        raise ShapeError("step", f"restored and radius of shape {tuple(values.shape)}", (restored.shape, radius.shape))
    return Exhausted(len(values), _count_infinite(radius), first_violation(values, restored, radius))


def exhaust_scheme(scheme: Scheme, dtype: torch.dtype, reach: float) -> Exhausted:
    """For every number up to `reach`, |x - restored| <= key_box, through compress, restore and sidecar themselves.

    Each token is (x, reach, y, -reach), rotated by one channel from token to token, so that every group of one token
    or of four tokens has the ends -reach and reach, hence one scale throughout, whatever its axis.

    Args:
        scheme: one whose sidecar has a key_box and whose scales depend on the ends of groups alone.
        dtype: fp16 or bf16.
        reach: a positive number of that dtype.

    Raises:
        InvalidInputError: the reach is not such a number, or the sidecar has no key_box.
    """
    numbers = _within(finite_numbers(dtype), reach)
    keys = _pinned(numbers, reach, scheme.declaration.residual_window + 4 * scheme.declaration.group_tokens)
    pages = scheme.compress(keys.clone(), keys.clone())
    box = scheme.sidecar(pages).key_box if isinstance(scheme, HasSidecar) else None
    if box is None:
        raise InvalidInputError("sidecar", "a key_box", "none")
    return Exhausted(len(numbers), _count_infinite(box), first_violation(keys, scheme.restore(pages)[0], box))


def finite_numbers(dtype: torch.dtype) -> Tensor:
    """All finite numbers of fp16 or bf16 in the order of their codes, both zeros included."""
    if dtype not in _SIXTEEN_BITS:
        raise InvalidInputError("dtype", "fp16 or bf16", dtype)
    numbers = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    return numbers[torch.isfinite(numbers)]


def _within(numbers: Tensor, reach: float) -> Tensor:
    if not reach > 0:
        raise InvalidInputError("reach", "a positive number", reach)
    return numbers[numbers.abs() <= storable(reach, numbers.dtype, "reach")]


def _pinned(numbers: Tensor, reach: float, padding: int) -> Tensor:
    """`[1, 1, T, 4]`, `padding` tokens of pins last, so that none of the numbers stays in a residual."""
    tail = torch.full((2 * padding + len(numbers) % 2,), reach, dtype=numbers.dtype)
    pairs = torch.cat([numbers, tail]).reshape(-1, 2)
    pins = torch.full_like(pairs, reach)
    rows = torch.stack([pairs[:, 0], pins[:, 0], pairs[:, 1], -pins[:, 1]], 1)
    channel = (torch.arange(4) + torch.arange(len(rows))[:, None]) % 4
    return rows.gather(1, channel)[None, None]


def _count_infinite(radius: Tensor) -> int:
    return int((radius == torch.inf).sum())
