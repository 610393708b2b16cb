"""The dual cell certificate: a bound of T* for any intervals of weight ratios, any cells and any multipliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proofkv_verify.bounds._cells import cell_bound, spread
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_cell_upper",
    hypotheses=("weights_positive", "lower_positive", "tilts_within_bounds"),
    lean="ProofKV.tv_le_cells",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= max over cells [s0, s1] of max(s0 - psi(s0), s1 - psi(s1)), psi(s) = mu s B - sum p (mu g_s - 1)_+.

    Here g_s = (1-s) u + s l, B = sum p l, and the cells cover [0, 1]; each mu >= 0 is free. Uses `cell_edges` and
    `cell_mu` if given (edges that do not cover [0, 1] give the value 1, a negative mu counts as 0), else nine
    cells and the best of up to 24 values mu = 1/g_s(i) in each.

    Sound when: weights are positive; lower ends are positive; each weight ratio lies in [l_i, u_i].
    Source: docs/theory.md A3.
    Lean: ProofKV.tv_le_cells
    """
    return cell_bound(x, m, lambda s: dual(x, s, m), lambda s: _multipliers(x, s))


def dual(x: View, s: Scalar, m: Math) -> Callable[[Scalar], Scalar]:
    """At s, the function mu -> psi_mu(s) = mu s B - sum p (mu g_s - 1)_+."""
    rows = list(zip(x.weights, _gains(x, s), strict=True))
    held = s * m.sum(p * low for p, low in zip(x.weights, x.lower, strict=True))
    return lambda mu: mu * held - m.sum(p * m.max(mu * g - 1, 0) for p, g in rows)


def _gains(x: View, s: Scalar) -> list[Scalar]:
    return [(1 - s) * high + s * low for low, high in zip(x.lower, x.upper, strict=True)]


def _multipliers(x: View, s: Scalar) -> Sequence[Scalar]:
    return [1 / g for g in spread(_gains(x, s))]
