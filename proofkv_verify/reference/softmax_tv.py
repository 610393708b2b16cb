"""The total variation between compressed and exact attention weights."""

from __future__ import annotations

from proofkv_verify.kinds import Field, Kind, View
from proofkv_verify.reference.weights import (
    WEIGHT_FIELDS,
    derive_weights,
    exact_weights,
    known_weight_premises,
    tilt_premises,
)
from proofkv_verify.scalar import Math, Scalar


def total_variation(x: View, m: Math) -> Scalar:
    """(1/2) sum_i |p_i w_i / Z - p_i|, in [0, 1)."""
    pairs = zip(exact_weights(x, m), x.weights, strict=True)
    return m.sum(m.abs(q - p) for q, p in pairs) / 2


SOFTMAX_TV = Kind(
    name="softmax_tv",
    doc="Total variation between the softmax of compressed and of exact logits, one head, one query.",
    fields=(
        *WEIGHT_FIELDS,
        Field("previous_weights", ("n",), "weights of an earlier step, positive", optional=True),
        Field("outside_weights", ("k",), "weights of exact tokens outside the attention window", optional=True),
        Field("kappas", ("grid",), "free parameters >= 1 of the hinge bound", optional=True),
        Field("bin_edges", ("edges",), "increasing upper edges of ratio bins", optional=True),
        Field("cell_edges", ("cell_edges",), "increasing edges of cells that cover [0, 1]", optional=True),
        Field("cell_mu", ("cells",), "dual multiplier >= 0 of each cell", optional=True),
    ),
    relation="upper",
    derive=derive_weights,
    known_premises=known_weight_premises,
    hidden_premises=tilt_premises,
    truth=total_variation,
    params={"pages": [], "sum_to_one": False},
)
