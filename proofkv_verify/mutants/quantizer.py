"""Planted wrong variants of the quantizer step bound."""

from __future__ import annotations

from proofkv_verify.bounds.quantizer_step_upper import BOUND, encoder_error
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar

_SLUG = BOUND.name


@claim("quantizer_step", name="step_from_unrounded_scale", mutates=_SLUG)
def step_from_unrounded_scale(x: View, m: Math) -> Scalar:
    """Half of the scale before it was rounded for storage."""
    return m.max(encoder_error(x, m), x.divisor / 2) + x.roundoff * m.abs(x.scale * x.code + x.offset_out)


@claim("quantizer_step", name="step_from_stored_scale_only", mutates=_SLUG)
def step_from_stored_scale_only(x: View, m: Math) -> Scalar:
    """Half of the stored scale although the encoder divided by another one."""
    half = x.scale / 2
    offsets = m.abs(x.offset_in - x.offset_out)
    saturated = m.where((x.code >= x.code_max) | (x.code <= x.code_min), encoder_error(x, m), half)
    return saturated + offsets + x.roundoff * m.abs(x.scale * x.code + x.offset_out)


@claim("quantizer_step", name="step_without_saturation", mutates=_SLUG)
def step_without_saturation(x: View, m: Math) -> Scalar:
    """Half a step although the code may be clamped."""
    mismatch = m.abs(x.divisor - x.scale) * m.abs(x.code) + m.abs(x.offset_in - x.offset_out)
    return x.divisor / 2 + mismatch + x.roundoff * m.abs(x.scale * x.code + x.offset_out)


@claim("quantizer_step", name="step_without_zero_point_mismatch", mutates=_SLUG)
def step_without_zero_point_mismatch(x: View, m: Math) -> Scalar:
    """The decoder's offset taken to be the encoder's (zero point off by one step)."""
    mismatch = m.abs(x.divisor - x.scale) * m.abs(x.code)
    return encoder_error(x, m) + mismatch + x.roundoff * m.abs(x.scale * x.code + x.offset_out)


@claim("quantizer_step", name="step_without_dequantization_roundoff", mutates=_SLUG)
def step_without_dequantization_roundoff(x: View, m: Math) -> Scalar:
    """The radius of an exact dequantization although the kernel reads a rounded one."""
    return encoder_error(x, m) + m.abs(x.divisor - x.scale) * m.abs(x.code) + m.abs(x.offset_in - x.offset_out)


@claim("quantizer_step", name="step_quarter", mutates=_SLUG)
def step_quarter(x: View, m: Math) -> Scalar:
    """A quarter of a step, as if the rounding error were half as large."""
    return BOUND(x, m) - m.min(x.divisor / 4, encoder_error(x, m) / 2)


@claim("quantizer_step", name="step_relative_roundoff_of_step", mutates=_SLUG)
def step_relative_roundoff_of_step(x: View, m: Math) -> Scalar:
    """The dequantization roundoff applied to the step in place of the restored value."""
    mismatch = m.abs(x.divisor - x.scale) * m.abs(x.code) + m.abs(x.offset_in - x.offset_out)
    return encoder_error(x, m) + mismatch + x.roundoff * x.scale


MUTANTS: tuple[Claim, ...] = (
    step_from_unrounded_scale,
    step_from_stored_scale_only,
    step_without_saturation,
    step_without_zero_point_mismatch,
    step_without_dequantization_roundoff,
    step_quarter,
    step_relative_roundoff_of_step,
)
