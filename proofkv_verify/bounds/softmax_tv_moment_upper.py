"""The dual cell certificate from three sums a bin: mass, mass times ratio, mass over ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proofkv_verify.bounds._bins import Bin, guarded, ratio_bins
from proofkv_verify.bounds._cells import cell_bound, spread
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
    in `softmax_tv_cell_upper` (bin edges that decrease and cells that do not cover [0, 1] give the value 1).

    Sound when: weights are positive; r_i >= 1; each exact-to-compressed weight ratio lies in [1/r_i, r_i].
    Source: docs/theory.md B2.
    Lean: ProofKV.tv_le_moment_cells
    """
    bins, condition = ratio_bins(x, m)
    value = cell_bound(x, m, lambda s: moment_dual(bins, s, m), lambda s: moment_multipliers(bins, s))
    return guarded(condition, value, m)


def moment_dual(bins: Sequence[Bin], s: Scalar, m: Math) -> Callable[[Scalar], Scalar]:
    """At s in [0, 1], the function mu -> mu s B minus the bins' bounds: at most psi_mu(s)."""
    held = s * m.sum(part.lowered for part in bins)
    excesses = [_excess(part, s, m) for part in bins]
    return lambda mu: mu * held - m.sum(excess(mu) for excess in excesses)


def _excess(part: Bin, s: Scalar, m: Math) -> Callable[[Scalar], Scalar]:
    """At s, the function mu -> an upper bound of the bin's sum p (mu g_s - 1)_+."""
    moment = (1 - s) * part.raised + s * part.lowered
    least = (1 - s) * part.left + s / part.right
    low, high = _gain(part.left, s), _gain(part.right, s)
    wide = part.right > part.left
    width = m.where(wide, part.right - part.left, 1)
    at_low = m.where(wide, (part.mass * part.right - part.raised) / width, 0)  # the chord's two weights
    at_high = m.where(wide, (part.raised - part.mass * part.left) / width, part.mass)

    def bound(mu: Scalar) -> Scalar:
        chord = at_low * m.max(mu * low - 1, 0) + at_high * m.max(mu * high - 1, 0)
        return m.where(mu * least >= 1, mu * moment - part.mass, chord)

    return bound


def _gain(ratio: Scalar, s: Scalar) -> Scalar:
    return (1 - s) * ratio + s / ratio


def moment_multipliers(bins: Sequence[Bin], s: Scalar) -> list[Scalar]:
    """Values of mu to try: 1/g_s at the upper edges of up to 24 bins."""
    return [1 / _gain(part.right, s) for part in spread(bins)]
