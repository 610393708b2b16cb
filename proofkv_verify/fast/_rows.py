"""Rows of tokens: checks, masks, chunks; softmax weights and mean excesses with their rounding errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast.rounding import (
    FP64,
    Model,
    float_above,
    gamma,
    model_of,
    returned_above,
    returned_below,
    scaled_down,
    scaled_up,
    up,
)

RowBound: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # logits [r, K], radii [r, K] -> float64 [r]
_HALF = (torch.float16, torch.bfloat16)
_CHUNK = {"cpu": 1 << 16}
_CHUNK_ELSEWHERE = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Softmax weights relative to the row's maximum, as computed, and the sums they enclose.

    Attributes:
        weights: [r, K], exp(fl(s - max)): within `model.weight_error` relative plus 2 tiny of the true weight.
        mass_lower: float64 [r], at most the true sum of weights.
    """

    weights: Tensor
    mass_lower: Tensor
    model: Model

    @property
    def count(self) -> int:
        """Tokens in a row, masked ones included (they have weight 0)."""
        return int(self.weights.shape[-1])


def upper_rows(
    compute: RowBound, logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None, *, double: bool = False
) -> Tensor:
    """Applies a bound to every row, a chunk of rows at a time.

    Args:
        compute: the bound of a chunk; it sees logit -inf and radius 0 at masked tokens.
        logits_hat: [..., K].
        logit_radii: [..., K], broadcastable to the logits.
        mask: bool, broadcastable to the logits, True = attend; None = all.
        double: whether `compute` wants float64.

    Returns:
        [...] in float64 if an input is float64, else float32, rounded up; +inf where a live entry is NaN, a live
        radius is negative or infinite, the largest live logit is infinite, or no token is live.
    """
    logits, radii, live = checked(logits_hat, logit_radii, mask)

    def one(s: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        return (compute(s.double(), c.double()) if double else compute(s, c),)

    (found,) = _over_chunks(one, logits, radii, live, (math.inf,))
    return returned_above(found, logits.dtype).reshape(logits.shape[:-1])


def lower_and_upper_rows(
    compute: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """As `upper_rows` in float64, for a bracket; (-inf, +inf) stands where `upper_rows` has +inf."""
    logits, radii, live = checked(logits_hat, logit_radii, mask)

    def both(s: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        return compute(s.double(), c.double())

    low, high = _over_chunks(both, logits, radii, live, (-math.inf, math.inf))
    shape = logits.shape[:-1]
    return returned_below(low, logits.dtype).reshape(shape), returned_above(high, logits.dtype).reshape(shape)


def _over_chunks(
    compute: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
    logits: Tensor,
    radii: Tensor,
    live: Tensor | None,
    unknown: tuple[float, ...],
) -> list[Tensor]:
    s_all, c_all = flat(logits), flat(radii)
    live_all = None if live is None else flat(live)
    found = [s_all.new_full(s_all.shape[:1], u, dtype=torch.float64) for u in unknown]
    for part in row_chunks(s_all):
        s, c = s_all[part], c_all[part]
        if live_all is not None:
            s, c = without_dead(s, c, live_all[part])
        bad = unusable(s, c)
        for whole, value, fallback in zip(found, compute(s, c), unknown, strict=True):
            whole[part] = torch.where(bad, fallback, value)
    return found


def checked(logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The logits and radii in one dtype (float32 or float64), and all three in the shape of the logits."""
    if logits_hat.ndim == 0:
        raise ShapeError("logits_hat", "at least 1 dimension [..., K]", 0)
    dtype = torch.promote_types(lifted(logits_hat, "logits_hat").dtype, lifted(logit_radii, "logit_radii").dtype)
    logits, radii = logits_hat.to(dtype), logit_radii.to(dtype)
    if mask is not None and mask.dtype != torch.bool:
        raise InvalidInputError("mask", "a bool tensor, True = attend", mask.dtype)
    radii = broadcast(radii, logits.shape, "logit_radii")
    return logits, radii, None if mask is None else broadcast(mask, logits.shape, "mask")


def lifted(tensor: Tensor, name: str) -> Tensor:
    """The tensor in float32 or float64, value for value (float16 and bfloat16 are lifted to float32)."""
    if tensor.dtype in _HALF:
        return tensor.float()
    if tensor.dtype not in (torch.float32, torch.float64):
        raise InvalidInputError(name, "float16, bfloat16, float32 or float64", tensor.dtype)
    return tensor


def broadcast(tensor: Tensor, shape: torch.Size, name: str) -> Tensor:
    """The tensor expanded to the shape."""
    try:
        return tensor.broadcast_to(shape)
    except RuntimeError:
        raise ShapeError(name, f"a shape that broadcasts to {tuple(shape)}", tuple(tensor.shape)) from None


def flat(tensor: Tensor) -> Tensor:
    """[..., K] as [rows, K], also where K is 0."""
    return tensor.reshape(math.prod(tensor.shape[:-1]), tensor.shape[-1])


def row_chunks(rows: Tensor) -> Iterator[slice]:
    """Slices of rows whose temporaries stay small (in cache on a CPU); none where a row has no token."""
    if rows.shape[-1] == 0:
        return
    size = max(1, _CHUNK.get(rows.device.type, _CHUNK_ELSEWHERE) // rows.shape[-1])
    for start in range(0, rows.shape[0], size):
        yield slice(start, start + size)


def without_dead(s: Tensor, c: Tensor, live: Tensor) -> tuple[Tensor, Tensor]:
    """Logit -inf and radius 0 at masked tokens: chosen, not multiplied, since 0 * NaN is NaN."""
    return torch.where(live, s, -math.inf), torch.where(live, c, 0)


def unusable(s: Tensor, c: Tensor) -> Tensor:
    """Rows about which nothing can be said (see `upper_rows`); amax and amin hand NaN on."""
    return ~(torch.isfinite(s.amax(-1)) & (c.amin(-1) >= 0) & torch.isfinite(c.amax(-1)))


def softmax_rows(s: Tensor) -> Rows:
    """Weights of the logits [r, K] relative to each row's maximum."""
    model = model_of(s.dtype)
    weights = torch.exp(s - s.amax(-1, keepdim=True))
    total = weights.sum(-1, dtype=torch.float64)
    n = int(s.shape[-1])
    shrink = (1 - model.weight_error) / (1 + gamma(n, FP64.unit))
    lower = scaled_down(total, shrink) - float_above(4 * n * model.tiny)
    return Rows(weights, lower, model)


def mean_upper(rows: Rows, x: Tensor, error: Fraction, largest: Tensor) -> Tensor:
    """An upper bound of sum p_i x_i, the mean under the softmax weights.

    Args:
        rows: the weights.
        x: [r, K] >= 0, as computed: the true one is at most x (1 + error) + tiny, and 0 where all of x is 0.
        error: see x.
        largest: float64 [r], the largest x.

    Returns:
        float64 [r]; exactly 0 where largest is 0.
    """
    m, n = rows.model, rows.count
    total = (rows.weights * x).sum(-1, dtype=torch.float64)
    grow = (1 + m.weight_error) * (1 + error) / ((1 - m.unit) * (1 - gamma(n, FP64.unit)))
    spare = up((largest + 1) * float_above(4 * n * m.tiny))
    top = up(scaled_up(total, grow) + spare)
    return torch.where(largest == 0, 0.0, up(top / rows.mass_lower))


def excess(c: Tensor) -> tuple[Tensor, Tensor]:
    """r - 1 = expm1(c) as computed (relative error `exp_error`), and its largest entry a row in float64.

    The largest entry is 0 only where every radius is 0.
    """
    e = torch.expm1(c)
    least = torch.where(c.amax(-1) > 0, float(model_of(c.dtype).tiny), 0.0)
    return e, torch.maximum(e.amax(-1), least.to(c.dtype)).double()


def mean_excess_upper(s: Tensor, c: Tensor) -> Tensor:
    """An upper bound of alpha = sum p_i (r_i - 1) = A - 1, without cancellation at small radii; float64 [r]."""
    rows = softmax_rows(s)
    e, largest = excess(c)
    return mean_upper(rows, e, rows.model.exp_error, largest)
