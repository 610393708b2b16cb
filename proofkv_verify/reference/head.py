"""One attention head on balls by matrix products: scores, softmax, output, with masks.

The order of operations is that of `attention`: score = scale <q, k>, weights exp(score) over the attended keys divided
by their sum, output = weighted sum of values. Keys and values that no query attends are never read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from flint import arb, arb_mat, fmpq

from proofkv_verify.errors import InvalidInputError, ShapeError

Number: TypeAlias = float | Fraction
Matrix: TypeAlias = Sequence[Sequence[Number]]
Mask: TypeAlias = Sequence[Sequence[bool]]


def head_output(
    queries: Matrix, keys: Matrix, values: Matrix, scale: Number, mask: Mask | None = None
) -> list[list[arb]]:
    """softmax(scale q k^T) v, one row of balls a query, at the working precision.

    Args:
        queries: [Q][D] floats (their exact binary value is meant) or rationals.
        keys: [K][D].
        values: [K][Dv].
        scale: factor of the dot product.
        mask: [Q][K], True = attend; None = all.

    Raises:
        ShapeError: sizes that do not fit.
        InvalidInputError: an attended number is NaN or infinite, or a query attends no key.
    """
    live = _live(len(queries), len(keys), mask)
    seen = [any(row[j] for row in live) for j in range(len(keys))] if mask is not None else [True] * len(keys)
    q, k, v = _matrix(queries, "queries"), _matrix(keys, "keys", seen), _matrix(values, "values", seen)
    if q.ncols() != k.ncols() or k.nrows() != v.nrows():
        raise ShapeError("keys", f"{v.nrows()} rows of {q.ncols()} coordinates", (k.nrows(), k.ncols()))
    scores = q * k.transpose() * _ball(scale, "scale")
    weights = _weights(scores, live if mask is not None else None)
    totals = weights * arb_mat([[1]] * len(keys))
    summed = weights * v
    return [[summed[i, c] / totals[i, 0] for c in range(v.ncols())] for i in range(len(queries))]


def _weights(scores: arb_mat, live: Mask | None) -> arb_mat:
    if live is None:
        return arb_mat(scores.nrows(), scores.ncols(), [s.exp() for s in scores.entries()])
    zero = arb(0)
    kept = (inside for row in live for inside in row)
    entries = zip(scores.entries(), kept, strict=True)
    return arb_mat(scores.nrows(), scores.ncols(), [s.exp() if inside else zero for s, inside in entries])


def _live(num_queries: int, num_keys: int, mask: Mask | None) -> Mask:
    if not num_queries or not num_keys:
        raise ShapeError("queries and keys", "at least one of each", (num_queries, num_keys))
    if mask is None:
        return ()
    if len(mask) != num_queries or any(len(row) != num_keys for row in mask):
        raise ShapeError("mask", f"{num_queries} rows of {num_keys}", [len(row) for row in mask])
    for i, row in enumerate(mask):
        if not any(row):
            raise InvalidInputError(f"mask[{i}]", "at least one attended key", "none")
    return mask


def _matrix(rows: Matrix, name: str, seen: Sequence[bool] | None = None) -> arb_mat:
    width = len(rows[0])
    exact: list[list[float | arb]] = []
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ShapeError(f"{name}[{i}]", f"{width} numbers", len(row))
        if seen is not None and not seen[i]:
            exact.append([0.0] * width)
        else:
            exact.append([x if isinstance(x, float) else _ball(x, name) for x in row])
            if not all(math.isfinite(x) for x in row if isinstance(x, float)):
                raise InvalidInputError(f"{name}[{i}]", "finite numbers", list(row))
    return arb_mat(exact)


def _ball(value: Number, name: str) -> arb:
    if not isinstance(value, float):
        return arb(fmpq(value.numerator, value.denominator))
    if not math.isfinite(value):
        raise InvalidInputError(name, "a finite number", value)
    return arb(value)
