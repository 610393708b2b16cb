"""Matrices of balls: the few operations that the reference model and its enclosure need beside + - and *."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat


def matrix(rows: Sequence[Sequence[float | arb]]) -> arb_mat:
    """A matrix from rows; a float means its exact binary value."""
    return arb_mat([[x if isinstance(x, arb) else arb(x) for x in row] for row in rows])


def column(values: Sequence[float | arb]) -> arb_mat:
    """A column vector."""
    return matrix([[x] for x in values])


def identity(size: int, value: arb | int = 1) -> arb_mat:
    """A multiple of the identity."""
    return arb_mat([[arb(value) if i == j else arb(0) for j in range(size)] for i in range(size)])


def scale_rows(weights: Sequence[arb], a: arb_mat) -> arb_mat:
    """diag(weights) A."""
    return arb_mat([[w * x for x in row] for w, row in zip(weights, a.tolist(), strict=True)])


def scale(a: arb_mat, factor: arb) -> arb_mat:
    """factor A."""
    return arb_mat(a.nrows(), a.ncols(), [factor * x for x in a.entries()])


def hadamard(a: arb_mat, b: arb_mat) -> arb_mat:
    """The entrywise product."""
    return arb_mat(a.nrows(), a.ncols(), [x * y for x, y in zip(a.entries(), b.entries(), strict=True)])


def stack(blocks: Sequence[arb_mat]) -> arb_mat:
    """The blocks one below the other."""
    return arb_mat([row for block in blocks for row in block.tolist()])


def trace(a: arb_mat) -> arb:
    """The sum of the diagonal."""
    return total([a[i, i] for i in range(a.nrows())])


def total(values: Sequence[arb]) -> arb:
    """The sum of balls, 0 for none."""
    return sum(values, arb(0))


def root(value: arb) -> arb:
    """The square root of a number known not to be negative."""
    return value.nonnegative_part().sqrt()


def square_sum(a: arb_mat) -> arb:
    """The squared Frobenius norm."""
    return total([x * x for x in a.entries()])


def row_lengths(a: arb_mat) -> list[arb]:
    """The L2 norm of each row."""
    return [root(total([x * x for x in row])) for row in a.tolist()]


def spectral_upper(a: arb_mat) -> arb:
    """At least the largest |eigenvalue| of a symmetric matrix: (tr A^8)^(1/8)."""
    fourth = a * a
    fourth = fourth * fourth
    return root(root(root(square_sum(fourth))))


def gram_upper(a: arb_mat) -> arb:
    """At least the spectral norm of a matrix."""
    gram = a * a.transpose() if a.nrows() <= a.ncols() else a.transpose() * a
    return root(spectral_upper(gram))


def form(a: arb_mat, p: arb_mat) -> arb:
    """sqrt(a P a') for a row a."""
    return root((a * p * a.transpose())[0, 0])


def upper(value: arb) -> arb:
    """The upper end, as an exact number."""
    return value.upper()
