"""The error of one element through an affine quantizer whose encoder and decoder may use different scales.

The encoder divides by `divisor` after subtracting `offset_in`, rounds to the nearest integer (either way at ties)
and clamps to [code_min, code_max]; the decoder returns scale * code + offset_out within a relative error
`roundoff` (the dtype of the dequantized tensor). `value_low <= value <= value_high` is what the encoder knew of
its group. A symmetric int8 quantizer has offsets 0; a zero point z is the offset -scale*z on each side.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.kinds import Field, Kind, View, as_given
from proofkv_verify.scalar import Condition, Math, Scalar


def element_error(x: View, m: Math) -> Scalar:
    """|value - restored|."""
    return m.abs(x.value - x.restored)


def _known_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    return [
        ("divisor > 0", x.divisor > 0),
        ("scale > 0", x.scale > 0),
        ("roundoff >= 0", x.roundoff >= 0),
        ("code_min <= code", x.code_min <= x.code),
        ("code <= code_max", x.code <= x.code_max),
        ("value_low <= value_high", x.value_low <= x.value_high),
    ]


def _hidden_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    half = m.const(1) / 2
    shifted = x.value - x.offset_in
    low_edge, high_edge = x.divisor * (x.code - half), x.divisor * (x.code + half)
    grid = x.scale * x.code + x.offset_out
    return [
        ("value_low <= value", x.value_low <= x.value),
        ("value <= value_high", x.value <= x.value_high),
        ("code is not above the rounded quotient", (x.code <= x.code_min) | (shifted >= low_edge)),
        ("code is not below the rounded quotient", (x.code >= x.code_max) | (shifted <= high_edge)),
        ("restored is the dequantized code", m.abs(x.restored - grid) <= x.roundoff * m.abs(grid)),
    ]


QUANTIZER_STEP = Kind(
    name="quantizer_step",
    doc="Absolute error of one element of an affine integer quantizer, scale as stored, saturation included.",
    fields=(
        Field("divisor", (), "scale by which the encoder divides"),
        Field("scale", (), "scale as stored and used by the decoder"),
        Field("offset_in", (), "offset that the encoder subtracts"),
        Field("offset_out", (), "offset that the decoder adds"),
        Field("code", (), "stored integer code", integer=True),
        Field("code_min", (), "smallest code", integer=True),
        Field("code_max", (), "largest code", integer=True),
        Field("value_low", (), "lower end of the group's range"),
        Field("value_high", (), "upper end of the group's range"),
        Field("roundoff", (), "relative error bound of the dequantization arithmetic"),
        Field("value", (), "exact element", hidden=True),
        Field("restored", (), "dequantized element", hidden=True),
    ),
    relation="upper",
    derive=as_given,
    known_premises=_known_premises,
    hidden_premises=_hidden_premises,
    truth=element_error,
)
