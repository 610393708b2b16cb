"""Rigorous float64 enclosures of the true quantities, many cases at a time: they screen, Arb judges what is close.

Every function returns (low, high) arrays with low <= true value <= high, for the inputs as exact real numbers.
Assumed: IEEE 754 double arithmetic, rounding to nearest; BLAS and `sum` add products in any order, fused or not (no
Strassen); crival's `exp` encloses. Bounds are a priori: with u = 2^-53 a sum of n terms is off by at most
gamma_n = n u / (1 - n u) times the sum of absolute values. Where the model says nothing (an attended NaN or infinity,
no attended token, an exponent that is hardly known) the enclosure is the whole range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import ival
import numpy as np
import numpy.typing as npt

from proofkv_verify.errors import ShapeError

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Enclosure: TypeAlias = tuple[Array, Array]

_U = 2.0**-53
_SPARE = 2.0**-900  # covers underflow of everything that is divided by a sum of weights (which is at least 1/2)
_ROWS = 1 << 13  # numbers in a block of rows: temporaries stay in cache


@dataclass(frozen=True, slots=True)
class Logits:
    """Logits [..., K] as computed, and a bound [..., K] (or broadcastable) of their distance to the true ones."""

    middle: Array
    radius: Array | float = 0.0


@dataclass(frozen=True, slots=True)
class _Weights:
    """Softmax weights p [..., K] as computed: each true one is within `error` [..., 1] relative, plus `_SPARE`."""

    p: Array
    error: Array


def dot_logits(queries: Array, keys: Array, scale: float) -> Logits:
    """scale <q, k> by BLAS, with |error| <= |scale| |q| |k| (gamma_D + 4 u) + an underflow term.

    Args:
        queries: [..., Q, D].
        keys: [..., K, D].
        scale: its exact value is meant.

    Returns:
        Logits [..., Q, K].
    """
    width = queries.shape[-1]
    middle = np.matmul(queries, np.swapaxes(keys, -1, -2)) * scale
    relative = abs(scale) * (_gamma(width) + 4 * _U) * (1 + 2.0**-20)
    q, k = (np.sqrt(np.einsum("...d,...d->...", x, x)) + 2.0**-500 for x in (queries, keys))
    norms = (relative * q)[..., :, None] * k[..., None, :]
    return Logits(middle, norms + (abs(scale) + 1) * (width + 2) * 2.0**-1000)


def total_variation(logits: Logits | Array, logits_hat: Logits | Array, mask: Mask | None = None) -> Enclosure:
    """(1/2) sum |softmax(s)_i - softmax(s_hat)_i| of each row.

    Args:
        logits: exact logits [..., K].
        logits_hat: compressed logits [..., K], the same shape.
        mask: bool [..., K] or broadcastable, True = attend; entries at False are not read.

    Returns:
        Enclosure [...] inside [0, 1].
    """
    return _by_rows(_tv_block, logits, logits_hat, mask)


def attention_output(queries: Array, keys: Array, values: Array, scale: float, mask: Mask | None = None) -> Enclosure:
    """softmax(scale q k^T) v of a head, or of a batch of heads.

    Args:
        queries: [..., Q, D].
        keys: [..., K, D].
        values: [..., K, Dv].
        scale: factor of the dot product.
        mask: bool [..., Q, K] or broadcastable, True = attend.

    Returns:
        Enclosure [..., Q, Dv].
    """
    middle, radius = _mean(_softmax(dot_logits(queries, keys, scale), mask), _live_values(values, mask))
    return _ends(middle, radius, -np.inf, np.inf)


def output_error_l2(
    logits: Logits | Array, logits_hat: Logits | Array, values: Array, values_hat: Array, mask: Mask | None = None
) -> Enclosure:
    """Euclidean norm of softmax(s) v - softmax(s_hat) v_hat, each row.

    Args:
        logits: exact logits [..., Q, K], or [..., K] for one query a head.
        logits_hat: compressed logits, the same shape.
        values: exact values [..., K, D].
        values_hat: compressed values, the same shape.
        mask: bool, broadcastable to the logits, True = attend.

    Returns:
        Enclosure of the shape of the logits without K, at least 0.
    """
    middle, radius = _output_difference(logits, logits_hat, values, values_hat, mask)
    width = middle.shape[-1]
    norm, spread = (np.sqrt(np.einsum("...d,...d->...", x, x)) for x in (middle, radius))
    return _ends(norm, (spread + norm * (_gamma(width) + 4 * _U)) * (1 + 2.0**-20) + 2.0**-500, 0.0, np.inf)


def output_error_linf(
    logits: Logits | Array, logits_hat: Logits | Array, values: Array, values_hat: Array, mask: Mask | None = None
) -> Enclosure:
    """Largest absolute coordinate of softmax(s) v - softmax(s_hat) v_hat, each row; as `output_error_l2`."""
    middle, radius = _output_difference(logits, logits_hat, values, values_hat, mask)
    size = np.abs(middle)
    low, high = np.maximum(size - radius, 0.0).max(-1), (size + radius).max(-1)
    spare = high * 4 * _U + _SPARE
    return _ends((low + high) / 2, (high - low) / 2 + spare, 0.0, np.inf)


def screen(claimed: Array, truth: Enclosure) -> npt.NDArray[np.int8]:
    """What an enclosure of the truth says of claimed upper bounds: 1 sound here, -1 too small, 0 Arb must decide.

    A claimed NaN is -1; a claimed +inf is 1.
    """
    low, high = truth
    with np.errstate(invalid="ignore"):
        below = (claimed < low) | np.isnan(claimed)
        return np.where(below, -1, np.where((claimed >= high) | (claimed == np.inf), 1, 0)).astype(np.int8)


def _gamma(n: int) -> float:
    return n * _U / (1 - n * _U) * (1 + 2.0**-40)


def _as_logits(logits: Logits | Array) -> Logits:
    return logits if isinstance(logits, Logits) else Logits(np.asarray(logits, dtype=np.float64))


def _softmax(logits: Logits, mask: Mask | None) -> _Weights:
    """Weights from one exponential each; rows that the model does not cover have an infinite error."""
    s, radius = logits.middle, logits.radius
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        top = (s if mask is None else np.where(mask, s, -np.inf)).max(-1, keepdims=True)
        t = s - top
        if mask is not None:
            t, radius = np.where(mask, t, 0.0), np.where(mask, radius, 0.0)
        least = t.min(-1, keepdims=True)  # NaN where one is in the row
        if not np.isfinite(least).all():
            t = np.where(np.isfinite(t), t, 0.0)
        w = ival.exp(ival.Interval(t)).hi
        if mask is not None:
            w = np.where(mask, w, 0.0)
        widest = radius if isinstance(radius, float) else np.broadcast_to(radius, s.shape).max(-1, keepdims=True)
        error = _weight_error(widest - least * _U, s.shape[-1])
        p = w / w.sum(-1, keepdims=True)
        return _Weights(p, np.where(np.isfinite(top), error, np.inf))


def _weight_error(distance: Array, count: int) -> Array:
    """Relative error of a weight: exponents within d = radius + u |t| give e^d, both in the weight and in their sum.

    exp's upper end is within 2 u of the true exponential; e^d - 1 <= d + d^2 for d <= 1/2; the sum adds gamma_K, the
    division u. The factor 1.01 covers products of these where their sum is below 1/200; otherwise nothing is known.
    """
    d = distance * (1 + 2.0**-40)
    error = (2 * (d + d * d + 3 * _U) + _gamma(count) + 2 * _U) * 1.01
    return np.where((error >= 0) & (error < 0.005), error, np.inf)


def _tv_block(a: Logits, b: Logits, mask: Mask | None) -> Enclosure:
    p, q = _softmax(a, mask), _softmax(b, mask)
    with np.errstate(invalid="ignore"):
        middle = np.abs(p.p - q.p).sum(-1) / 2
        radius = (p.error + q.error)[..., 0] * 0.51 + middle * (_gamma(p.p.shape[-1]) + 4 * _U) + _SPARE
    return _ends(middle, radius, 0.0, 1.0)


def _live_values(values: Array, mask: Mask | None) -> Array:
    """Values with 0 in place of tokens that no query of the head attends (0 times their NaN would be NaN)."""
    if mask is None:
        return values
    seen: Mask = np.any(np.atleast_2d(mask), axis=-2)
    return np.where(seen[..., None], values, 0.0)


def _mean(weights: _Weights, values: Array) -> Enclosure:
    """sum p v as computed, and a bound of its error."""
    with np.errstate(invalid="ignore"):
        middle, size = np.matmul(weights.p, values), np.matmul(weights.p, np.abs(values))
        count = weights.p.shape[-1]
        share = weights.error * (1 + 2.0**-20) + _gamma(count) + 4 * _U
        largest = np.abs(values).max((-1, -2), initial=0.0)[..., None, None]
        return middle, size * share * (1 + _gamma(count) + 8 * _U) + (largest + 1) * count * _SPARE


def _output_difference(
    logits: Logits | Array, logits_hat: Logits | Array, values: Array, values_hat: Array, mask: Mask | None
) -> Enclosure:
    a, b = _as_logits(logits), _as_logits(logits_hat)
    if a.middle.shape != b.middle.shape or values.shape != values_hat.shape:
        raise ShapeError("logits_hat and values_hat", f"{a.middle.shape} and {values.shape}", b.middle.shape)
    one_query = a.middle.ndim == values.ndim - 1
    if one_query:
        a, b = _with_query_axis(a), _with_query_axis(b)
        mask = None if mask is None else mask[..., None, :]
    exact, first = _mean(_softmax(a, mask), _live_values(values, mask))
    hat, second = _mean(_softmax(b, mask), _live_values(values_hat, mask))
    with np.errstate(invalid="ignore"):
        middle = exact - hat
        radius = (first + second + np.abs(middle) * _U) * (1 + 4 * _U)
    return (middle[..., 0, :], radius[..., 0, :]) if one_query else (middle, radius)


def _with_query_axis(x: Logits) -> Logits:
    radius = x.radius if isinstance(x.radius, float) else np.broadcast_to(x.radius, x.middle.shape)[..., None, :]
    return Logits(x.middle[..., None, :], radius)


def _ends(middle: Array, radius: Array, least: float, most: float) -> Enclosure:
    """middle -+ radius rounded outward, cut to [least, most]; the whole range where either is NaN or infinite."""
    with np.errstate(invalid="ignore", over="ignore"):
        low = np.nextafter(middle - radius, -np.inf)
        high = np.nextafter(middle + radius, np.inf)
        known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.maximum(low, least), least), np.where(known, np.minimum(high, most), most)


def _by_rows(
    block: Callable[[Logits, Logits, Mask | None], Enclosure],
    logits: Logits | Array,
    logits_hat: Logits | Array,
    mask: Mask | None,
) -> Enclosure:
    pair = [_as_logits(x) for x in (logits, logits_hat)]
    shape = pair[0].middle.shape
    if pair[1].middle.shape != shape or len(shape) == 0:
        raise ShapeError("logits_hat", f"the shape {shape}", pair[1].middle.shape)
    if shape[-1] == 0:
        return np.zeros(shape[:-1]), np.ones(shape[:-1])
    flat = [_flat_logits(x) for x in pair]
    live = None if mask is None else np.broadcast_to(mask, shape).reshape(-1, shape[-1])
    found = np.empty((2, flat[0].middle.shape[0]))
    step = max(1, _ROWS // shape[-1])
    for start in range(0, found.shape[1], step):
        rows = slice(start, start + step)
        exact, hat = (_rows(x, rows) for x in flat)
        found[:, rows] = block(exact, hat, None if live is None else live[rows])
    return found[0].reshape(shape[:-1]), found[1].reshape(shape[:-1])


def _flat_logits(x: Logits) -> Logits:
    width, radius = x.middle.shape[-1], x.radius
    if not isinstance(radius, float):
        radius = np.broadcast_to(radius, x.middle.shape).reshape(-1, width)
    return Logits(x.middle.reshape(-1, width), radius)


def _rows(x: Logits, rows: slice) -> Logits:
    return Logits(x.middle[rows], x.radius if isinstance(x.radius, float) else x.radius[rows])
