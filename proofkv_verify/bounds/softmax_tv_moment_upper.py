"""The dual cell certificate from three sums a bin: mass, mass times ratio, mass over ratio."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.bounds._bins import Bin, guarded, ratio_bins
from proofkv_verify.bounds._cells import cell_bound
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "softmax_tv",
    name="softmax_tv_moment_upper",
    hypotheses=("weights_positive", "ratios_at_least_one", "tilts_within_ratios"),
    lean="ProofKV.tv_le_moment_cells",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object, not a plain function)
    """TV <= the cell certificate whose sum p (mu g_s - 1)_+ over a bin [L, R] is bounded by three sums of the bin.

    The bin's part is mu((1-s)a + s b) - mass where mu((1-s)L + s/R) >= 1, else the chord of the convex function
    (mu g_s(r) - 1)_+ between L and R; a = sum p r, b = sum p/r. Bins as in `softmax_tv_histogram_upper`, cells as
    in `softmax_tv_cell_upper` (edges that are no bins or do not cover [0, 1] give the value 1).

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: B2.
    Lean: ProofKV.tv_le_moment_cells
    """
    bins, condition = ratio_bins(x, m)
    value = cell_bound(x, m, lambda mu, s: moment_dual(bins, mu, s, m), lambda s: moment_multipliers(bins, s))
    return guarded(condition, value, m)


def moment_dual(bins: Sequence[Bin], mu: Scalar, s: Scalar, m: Math) -> Scalar:
    """mu s B minus the bins' bounds: at most psi_mu(s) for every s in [0, 1]."""
    lowered = m.sum(part.lowered for part in bins)
    return mu * s * lowered - m.sum(_excess(part, mu, s, m) for part in bins)


def _excess(part: Bin, mu: Scalar, s: Scalar, m: Math) -> Scalar:
    linear = mu * ((1 - s) * part.raised + s * part.lowered) - part.mass
    left, right = (m.max(mu * _gain(r, s) - 1, 0) for r in (part.left, part.right))
    width = part.right - part.left
    chord = left * (part.mass * part.right - part.raised) + right * (part.raised - part.mass * part.left)
    crossing = m.where(width > 0, chord / m.where(width > 0, width, 1), right * part.mass)
    return m.where(mu * ((1 - s) * part.left + s / part.right) >= 1, linear, crossing)


def _gain(ratio: Scalar, s: Scalar) -> Scalar:
    return (1 - s) * ratio + s / ratio


def moment_multipliers(bins: Sequence[Bin], s: Scalar) -> list[Scalar]:
    """Values of mu to try: 1/g_s at the upper edge of each bin, where the best multipliers lie for many bins."""
    return [1 / _gain(part.right, s) for part in bins]
