"""Rows of tokens: checks, masks, chunks; the row sums of the streaming bounds and what they enclose.

A streaming bound makes one pass over chunks of rows that gives a few raw sums a row (`reduce`), and then works on all
rows at once (`finish`): the many small outward-rounded steps are taken once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast.rounding import (
    FP64,
    Model,
    down,
    float_above,
    float_below,
    gamma,
    model_of,
    returned_above,
    returned_below,
    up,
)

Reduce: TypeAlias = Callable[[Tensor, Tensor], Sequence[Tensor]]  # logits [r, K], radii [r, K] -> some [r]
_HALF = (torch.float16, torch.bfloat16)
_CHUNK = {"cpu": 1 << 17}
_CHUNK_ELSEWHERE = 1 << 25
_BLOCK = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Raw sums of rows of softmax weights w = exp(fl(s - max)), and the error model that turns them into bounds.

    Attributes:
        mass: float64 [R], the computed sum of weights.
        count: tokens in a row, masked ones included (they have weight 0).
        model: of the weights; each is within `weight_error` relative plus 2 tiny of the true one.
    """

    mass: Tensor
    count: int
    model: Model

    @property
    def mass_lower(self) -> Tensor:
        """At most the true sum of weights."""
        return down(self.mass * shrinkage(self.count, self.model)) - spare(self.count, self.model)

    def mean_upper(self, total: Tensor, error: Fraction, largest: Tensor) -> Tensor:
        """An upper bound of sum p_i x_i, the mean under the softmax weights; exactly 0 where `largest` is 0.

        Args:
            total: float64 [R], `row_sum` of the rounded products w x, with x >= 0 as computed.
            error: the true x is at most x (1 + error) + 2 tiny, and 0 where `largest` is 0.
            largest: float64 [R], at least every computed x of the row.
        """
        top = up(total * growth(self.count, self.model, error))
        top = up(top + up((largest + 1) * spare(self.count, self.model)))
        return torch.where(largest == 0, 0.0, up(top / self.mass_lower))


def sum_error(count: int, model: Model) -> Fraction:
    """Relative error of `row_sum` on non-negative terms: float32 in blocks, then float64."""
    inner = Fraction(0) if model is FP64 or count < _BLOCK else gamma(_BLOCK, model.unit)
    outer = gamma(count, FP64.unit)
    return inner + outer + inner * outer


@functools.lru_cache(maxsize=4096)
def growth(count: int, model: Model, error: Fraction) -> float:
    """Upper factor from a computed sum of products w x to the true one: weight, x, product and sum errors."""
    return float_above((1 + model.weight_error) * (1 + error) / ((1 - model.unit) * (1 - sum_error(count, model))))


@functools.lru_cache(maxsize=4096)
def shrinkage(count: int, model: Model) -> float:
    """Lower factor from a computed sum of weights to the true one."""
    return float_below((1 - model.weight_error) / (1 + sum_error(count, model)))


def spare(count: int, model: Model) -> float:
    """What underflow may have taken from a sum of products with factors at most 1."""
    return float_above(4 * count * model.tiny)


def row_sum(x: Tensor) -> Tensor:
    """Sums over the last axis, in float64; float32 terms are first added in blocks of 64."""
    if x.dtype == torch.float64:
        return x.sum(-1)
    whole = x.shape[-1] // _BLOCK * _BLOCK
    blocks = x[:, :whole].reshape(x.shape[0], whole // _BLOCK, _BLOCK).sum(-1)
    return blocks.sum(-1, dtype=torch.float64) + x[:, whole:].sum(-1, dtype=torch.float64)


def weights_of(s: Tensor) -> Tensor:
    """exp(fl(s - max)) of each row."""
    return torch.sub(s, s.amax(-1, keepdim=True)).exp_()


def excess(c: Tensor) -> tuple[Tensor, Tensor]:
    """r - 1 = expm1(c) as computed (relative error `exp_error`), and its largest entry a row in float64.

    The largest entry is 0 only where every radius is 0.
    """
    e = torch.expm1(c)
    least = torch.where(c.amax(-1) > 0, float(model_of(c.dtype).tiny), 0.0)
    return e, torch.maximum(e.amax(-1), least.to(c.dtype)).double()


def mean_excess_sums(s: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The sums behind alpha = sum p_i (r_i - 1): mass, sum w (r - 1), largest r - 1."""
    w = weights_of(s)
    e, largest = excess(c)
    return row_sum(w), row_sum(w.mul_(e)), largest


def mean_excess_upper(sums: Sums, total: Tensor, largest: Tensor) -> Tensor:
    """An upper bound of alpha = A - 1, without cancellation at small radii."""
    return sums.mean_upper(total, sums.model.exp_error, largest)


def streamed_upper(
    reduce: Reduce,
    finish: Callable[..., Tensor],
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None,
) -> Tensor:
    """A streaming bound: `finish(sums, *rest)` on all rows, from `mass, *rest = reduce(s, c)` on chunks of them.

    Returns:
        As `upper_rows`.
    """
    logits, radii, live = checked(logits_hat, logit_radii, mask)
    model, count = model_of(logits.dtype), int(logits.shape[-1])
    usable, raw = over_chunks(reduce, logits, radii, live)
    if not raw:
        return logits.new_full(logits.shape[:-1], math.inf)
    value = torch.where(usable, finish(Sums(raw[0], count, model), *raw[1:]), math.inf)
    return returned_above(value, logits.dtype).reshape(logits.shape[:-1])


def upper_rows(
    compute: Callable[[Tensor, Tensor], Tensor], logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None
) -> Tensor:
    """Applies a bound to every row in float64, a chunk of rows at a time.

    Args:
        compute: the bound of a chunk; it sees logit -inf and radius 0 at masked tokens.
        logits_hat: [..., K].
        logit_radii: [..., K], broadcastable to the logits.
        mask: bool, broadcastable to the logits, True = attend; None = all.

    Returns:
        [...] in float64 if an input is float64, else float32, rounded up; +inf where a live entry is NaN, a live
        radius is negative or infinite, the largest live logit is infinite, or no token is live.
    """

    def both(s: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        value = compute(s, c)
        return value, value

    return lower_and_upper_rows(both, logits_hat, logit_radii, mask)[1]


def lower_and_upper_rows(
    compute: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """As `upper_rows`, for a bracket; (-inf, +inf) stands where `upper_rows` has +inf."""
    logits, radii, live = checked(logits_hat, logit_radii, mask)
    usable, raw = over_chunks(lambda s, c: compute(s.double(), c.double()), logits, radii, live)
    low, high = raw or (usable.double(), usable.double())
    low, high = torch.where(usable, low, -math.inf), torch.where(usable, high, math.inf)
    shape = logits.shape[:-1]
    return returned_below(low, logits.dtype).reshape(shape), returned_above(high, logits.dtype).reshape(shape)


def over_chunks(reduce: Reduce, logits: Tensor, radii: Tensor, live: Tensor | None) -> tuple[Tensor, list[Tensor]]:
    """Row numbers over all rows: bool [R] whether anything can be said, and what `reduce` gives (nothing if K = 0)."""
    s_all, c_all = flat(logits), flat(radii)
    live_all = None if live is None else flat(live)
    usable = s_all.new_zeros(s_all.shape[:1], dtype=torch.bool)
    found: list[Tensor] = []
    for part in row_chunks(s_all):
        s, c = s_all[part], c_all[part]
        if live_all is not None:
            s, c = without_dead(s, c, live_all[part])
        usable[part] = is_usable(s, c)
        values = reduce(s, c)
        found = found or [x.new_empty(s_all.shape[:1]) for x in values]
        for whole, value in zip(found, values, strict=True):
            whole[part] = value
    return usable, found


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


def is_usable(s: Tensor, c: Tensor) -> Tensor:
    """Rows about which something can be said (see `upper_rows`); amax and amin hand NaN on."""
    return torch.isfinite(s.amax(-1)) & (c.amin(-1) >= 0) & torch.isfinite(c.amax(-1))
