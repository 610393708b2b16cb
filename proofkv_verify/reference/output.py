"""The error of the attention output when keys and values are both compressed."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.kinds import Field, Kind, View
from proofkv_verify.reference.weights import (
    WEIGHT_FIELDS,
    derive_weights,
    exact_weights,
    known_weight_premises,
    tilt_premises,
)
from proofkv_verify.scalar import Condition, Math, Scalar

_VALUES = Field("values_hat", ("n", "d"), "compressed values")
_ERRORS = Field("value_errors", ("n", "d"), "exact minus compressed values", hidden=True)
_NORM_RADII = Field("value_radii", ("n",), "Euclidean norm bound of each value error")
_BOX_RADII = Field("value_box", ("n", "d"), "absolute bound of each coordinate of the value error")


def output_error(x: View, m: Math) -> list[Scalar]:
    """The coordinates of sum_i q_i (v_i + e_i) - sum_i p_i v_i, with q the exact weights."""
    exact = exact_weights(x, m)
    return [_coordinate(x, m, exact, c) for c in range(len(x.values_hat[0]))]


def output_l2(x: View, m: Math) -> Scalar:
    """The Euclidean norm of the output error."""
    return m.sqrt(m.sum(e * e for e in output_error(x, m)))


def output_linf(x: View, m: Math) -> Scalar:
    """The largest absolute coordinate of the output error."""
    return m.max(0, *(m.abs(e) for e in output_error(x, m)))


def _coordinate(x: View, m: Math, exact: list[Scalar], c: int) -> Scalar:
    rows = zip(exact, x.weights, x.values_hat, x.value_errors, strict=True)
    return m.sum(q * (v[c] + e[c]) - p * v[c] for q, p, v, e in rows)


def _known_norm_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    radii = [(f"value_radii[{i}] >= 0", radius >= 0) for i, radius in enumerate(x.value_radii)]
    return [*known_weight_premises(x, m), *radii]


def _hidden_norm_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    found = list(tilt_premises(x, m))
    for i, (error, radius) in enumerate(zip(x.value_errors, x.value_radii, strict=True)):
        found.append((f"norm(value_errors[{i}]) <= value_radii[{i}]", m.sum(e * e for e in error) <= radius * radius))
    return found


def _known_box_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    found = list(known_weight_premises(x, m))
    for i, radii in enumerate(x.value_box):
        found.extend((f"value_box[{i}][{c}] >= 0", radius >= 0) for c, radius in enumerate(radii))
    return found


def _hidden_box_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    found = list(tilt_premises(x, m))
    for i, (error, radii) in enumerate(zip(x.value_errors, x.value_box, strict=True)):
        for c, (e, radius) in enumerate(zip(error, radii, strict=True)):
            found.append((f"abs(value_errors[{i}][{c}]) <= value_box[{i}][{c}]", m.abs(e) <= radius))
    return found


ATTENTION_L2 = Kind(
    name="attention_l2",
    doc="Euclidean norm of the attention output error, keys and values compressed, one head, one query.",
    fields=(*WEIGHT_FIELDS, _VALUES, _NORM_RADII, _ERRORS),
    relation="upper",
    derive=derive_weights,
    known_premises=_known_norm_premises,
    hidden_premises=_hidden_norm_premises,
    truth=output_l2,
    params={"sum_to_one": False},
)

ATTENTION_LINF = Kind(
    name="attention_linf",
    doc="Largest absolute coordinate of the attention output error, keys and values compressed, one head, one query.",
    fields=(*WEIGHT_FIELDS, _VALUES, _BOX_RADII, _ERRORS),
    relation="upper",
    derive=derive_weights,
    known_premises=_known_box_premises,
    hidden_premises=_hidden_box_premises,
    truth=output_linf,
    params={"sum_to_one": False},
)
