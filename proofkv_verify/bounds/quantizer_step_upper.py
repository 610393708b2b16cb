"""|x - x_hat| from the stored code and scale: half a step, what the scales and offsets differ by, and saturation."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "quantizer_step",
    name="quantizer_step_upper",
    hypotheses=("scales_positive", "code_is_nearest_or_clamped", "value_in_group_range", "dequantization_roundoff"),
    lean="ProofKV.quantizer_restored_le",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object)
    """|x - x_hat| <= max(d/2, saturation excess) + |d - s| |c| + |o_in - o_out| + roundoff |s c + o_out|.

    With the decoder's scale equal to the divisor, equal offsets, exact dequantization and a code strictly inside its
    range this is s/2.

    Sound when: divisor d and stored scale s are positive; the code c is a nearest integer of (x - o_in)/d or the
    clamped end beyond which that lies; x lies in the group's range; the decoder returns s c + o_out within the
    relative error roundoff.
    Lean: ProofKV.quantizer_restored_le
    """
    restored = x.scale * x.code + x.offset_out
    mismatch = m.abs(x.divisor - x.scale) * m.abs(x.code) + m.abs(x.offset_in - x.offset_out)
    return encoder_error(x, m) + mismatch + x.roundoff * m.abs(restored)


def encoder_error(x: View, m: Math) -> Scalar:
    """|x - (d c + o_in)|: half a divisor inside the code range, the reach of the group's range at a clamped end."""
    half = x.divisor / 2
    grid = x.divisor * x.code + x.offset_in
    above = m.where(x.code >= x.code_max, x.value_high - grid, half)
    below = m.where(x.code <= x.code_min, grid - x.value_low, half)
    return m.max(half, above, below)
