"""Quantities of recorded observations: what a scheme did to data, with no model of the scheme."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.kinds import Field, Kind, View, as_given
from proofkv_verify.scalar import Condition, Math, Scalar


def _no_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    return []


def _largest_difference(x: View, m: Math) -> Scalar:
    return m.max(0, *(m.abs(a - b) for a, b in zip(x.left, x.right, strict=True)))


def _distance(x: View, m: Math) -> Scalar:
    return m.sqrt(m.sum((a - b) * (a - b) for a, b in zip(x.left, x.right, strict=True)))


def _non_finite(x: View, m: Math) -> Scalar:
    return m.const(1 if x.restored in ("nan", "inf", "-inf") else 0)


def _unchanged(x: View, m: Math) -> Scalar:
    return m.where(_largest_difference(x, m) <= 0, 1, 0)


def _total(x: View, m: Math) -> Scalar:
    return m.sum(x.parts)


_LEFT = Field("left", ("n",), "original, or first result")
_RIGHT = Field("right", ("n",), "restored, or second result")

ELEMENT_ERROR = Kind(
    name="element_error",
    doc="Largest absolute difference of two recorded vectors (a declared radius, or 0 for results that must be equal).",
    fields=(_LEFT, _RIGHT),
    relation="upper",
    derive=as_given,
    known_premises=_no_premises,
    hidden_premises=_no_premises,
    truth=_largest_difference,
)

VECTOR_ERROR = Kind(
    name="vector_error",
    doc="Euclidean distance of two recorded vectors.",
    fields=(_LEFT, _RIGHT),
    relation="upper",
    derive=as_given,
    known_premises=_no_premises,
    hidden_premises=_no_premises,
    truth=_distance,
)

NON_FINITE = Kind(
    name="non_finite",
    doc="1 if a finite input came back as NaN or infinity (recorded as text), else 0.",
    fields=(Field("left", ("n",), "finite input"),),
    relation="upper",
    derive=as_given,
    known_premises=_no_premises,
    hidden_premises=_no_premises,
    truth=_non_finite,
    params={"restored": ""},
)

UNCHANGED = Kind(
    name="unchanged",
    doc="1 if two recorded vectors that must differ are equal, else 0.",
    fields=(_LEFT, _RIGHT),
    relation="upper",
    derive=as_given,
    known_premises=_no_premises,
    hidden_premises=_no_premises,
    truth=_unchanged,
)

STORED_BYTES = Kind(
    name="stored_bytes",
    doc="Bytes that the parts of recorded pages take together.",
    fields=(Field("parts", ("n",), "bytes of each part", integer=True),),
    relation="upper",
    derive=as_given,
    known_premises=_no_premises,
    hidden_premises=_no_premises,
    truth=_total,
)
