"""Ellipsoids E(P) = {P^(1/2) z, |z| <= 1} in balls: sums, proved roots, and RMSNorm over one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from proofkv_verify.reference.matrix import form, identity, matrix, root, scale, spectral_upper, total, trace


class DivergedError(Exception):
    """No finite bound was shown; the step is not certified."""


def combine(parts: Sequence[arb_mat]) -> arb_mat:
    """The Minkowski sum of ellipsoids, each weighted by the root of its trace; points are skipped."""
    weights = [root(trace(p)).upper() for p in parts]
    size = total(weights)
    found = scale(parts[0], arb(0))
    for p, w in zip(parts, weights, strict=True):
        if bool(w > 0):
            found = found + scale(p, size / w)
    return found


def factor(p: arb_mat) -> arb_mat:
    """An exact lower triangular B with B B' >= P, found in floats and proved by diagonal dominance of B B' - P."""
    n, size = p.nrows(), float(trace(p).upper())
    if size == 0:
        return identity(n, 0)
    b = _cholesky([[float(x.mid()) for x in row] for row in p.tolist()], 1e-9 * size)
    found = matrix(b)
    rest = (found * found.transpose() - p).tolist()
    for i, row in enumerate(rest):
        if not bool(row[i] > total([abs(x) for j, x in enumerate(row) if j != i])):
            raise DivergedError("a matrix has no proved root")
    return found


def _cholesky(a: list[list[float]], shift: float) -> list[list[float]]:
    n = len(a)
    low = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - sum(x * y for x, y in zip(low[i][:j], low[j][:j], strict=True))
            if i == j:
                if not rest + shift > 0:
                    raise DivergedError("a matrix is not positive")
                low[i][i] = (rest + shift) ** 0.5
            else:
                low[i][j] = rest / low[j][j]
    return low


@dataclass(frozen=True, slots=True)
class Norm:
    """RMSNorm over an ellipsoid: Jacobian, ellipsoid behind it, and ellipsoids of its remainder."""

    jacobian: arb_mat
    out: arb_mat
    bent: arb_mat
    shrunk: arb_mat


def norm(x: arb_mat, rho: arb, p: arb_mat) -> Norm:
    """The change of x / rho over E(p), for tau < 0.9."""
    size = x.nrows() * rho * rho
    tau, mu = form(x.transpose(), p) / size, spectral_upper(p) / size
    if not bool(tau < arb(9) / 10):
        raise DivergedError("an RMS could vanish")
    alpha = (1 / (1 - tau) - 1).max(1 - (1 + 2 * tau + mu).rsqrt())
    beta = (mu / 2).max(tau * tau / (1 - tau))
    jacobian = scale(identity(x.nrows()) - x * scale(x.transpose(), 1 / size), 1 / rho)
    bent = scale(x * x.transpose(), (beta / rho) ** 2)
    shrunk = scale(p, (alpha / rho) ** 2)
    return Norm(jacobian, combine([jacobian * p * jacobian.transpose(), bent, shrunk]), bent, shrunk)
