"""The change of one attention logit when its key, and possibly its query, is known with an error only.

The stored key is rotated plane by plane before the dot product; a plane is a pair of coordinates, and coordinates
in no plane are not rotated (partial rotary embeddings). With keys stored after RoPE every plane has cos 1, sin 0.
`rope_factor` multiplies both the query's and the key's rotation (YaRN attention factor), `softmax_scale` the logit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Field, Kind, View
from proofkv_verify.scalar import Condition, Math, Scalar


def rotate(vector: list[Scalar], x: View) -> list[Scalar]:
    """The vector with each plane (i, j) turned: (c a - s b, s a + c b)."""
    turned = list(vector)
    for (i, j), c, s in zip(x.planes, x.cos, x.sin, strict=True):
        turned[i] = c * vector[i] - s * vector[j]
        turned[j] = s * vector[i] + c * vector[j]
    return turned


def logit_change(x: View, m: Math) -> Scalar:
    """|scale m^2 (<q + dq, R(k + e)> - <q, R k>)| for the query head `query_head`, rope factor m."""
    query = x.queries[x.query_head % len(x.queries)]
    exact_key = rotate([k + e for k, e in zip(x.key_hat, x.key_error, strict=True)], x)
    exact_query = [q + dq for q, dq in zip(query, x.query_error, strict=True)]
    change = _dot(exact_query, exact_key, m) - _dot(query, rotate(x.key_hat, x), m)
    return m.abs(x.softmax_scale * x.rope_factor * x.rope_factor * change)


def key_head(x: View) -> int:
    """The KV head that the query head reads: floor(h / group size)."""
    return int(x.query_head) // len(x.queries)


def _dot(a: list[Scalar], b: list[Scalar], m: Math) -> Scalar:
    return m.sum(s * t for s, t in zip(a, b, strict=True))


def _derive(x: View, _m: Math) -> View:
    if not x.queries:
        raise InvalidInputError("queries", "the query of at least one head", "none")
    size = len(x.queries[0])
    _require_coordinates("planes", x.planes, size)
    used = [i for plane in x.planes for i in plane]
    if any(len(plane) != 2 for plane in x.planes) or len(set(used)) != len(used):
        raise InvalidInputError("planes", "disjoint pairs of coordinates", x.planes)
    if len(x.planes) != len(x.cos):
        raise InvalidInputError("planes", f"{len(x.cos)} planes", len(x.planes))
    _require_coordinates("bands", x.bands, size)
    if len(x.bands) != len(x.band_radii):
        raise InvalidInputError("bands", f"{len(x.band_radii)} bands", len(x.bands))
    if not 0 <= x.query_head < len(x.queries) * len(x.norm_radii):
        raise InvalidInputError("query_head", f"0..{len(x.queries) * len(x.norm_radii) - 1}", x.query_head)
    return x


def _require_coordinates(name: str, parts: Sequence[Any], size: int) -> None:
    for part in parts:
        if not isinstance(part, list | tuple) or not all(type(i) is int and 0 <= i < size for i in part):
            raise InvalidInputError(name, f"lists of coordinates below {size}", parts)


def _known_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    found: list[tuple[str, Condition]] = [
        ("query_radius >= 0", x.query_radius >= 0),
        ("key_norm >= 0", x.key_norm >= 0),
    ]
    for name in ("box_radii", "norm_radii", "band_radii"):
        found.extend((f"{name}[{i}] >= 0", r >= 0) for i, r in enumerate(getattr(x, name)))
    for j, (c, s) in enumerate(zip(x.cos, x.sin, strict=True)):
        found.append((f"cos[{j}]^2 + sin[{j}]^2 == 1", (c * c + s * s <= 1) & (c * c + s * s >= 1)))
    return found


def _hidden_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    square = [e * e for e in x.key_error]
    radius = x.norm_radii[key_head(x)]
    found: list[tuple[str, Condition]] = [
        ("norm(key_error) <= norm_radii[head]", m.sum(square) <= radius * radius),
        ("norm(query_error) <= query_radius", m.sum(e * e for e in x.query_error) <= x.query_radius * x.query_radius),
        ("norm(key_hat) <= key_norm", m.sum(k * k for k in x.key_hat) <= x.key_norm * x.key_norm),
    ]
    for i, (e, r) in enumerate(zip(x.key_error, x.box_radii, strict=True)):
        found.append((f"abs(key_error[{i}]) <= box_radii[{i}]", m.abs(e) <= r))
    for b, (band, r) in enumerate(zip(x.bands, x.band_radii, strict=True)):
        found.append((f"norm of band {b} <= band_radii[{b}]", m.sum(square[i] for i in band) <= r * r))
    return found


LOGIT_ABS = Kind(
    name="logit_abs",
    doc="Absolute change of one attention logit: query exact or enclosed, key enclosed, RoPE planes, scale, GQA head.",
    fields=(
        Field("queries", ("group", "d"), "queries of the heads that share the KV head, as they enter the dot product"),
        Field("softmax_scale", (), "factor of the dot product, 1/sqrt(head_dim) unless the model says otherwise"),
        Field("rope_factor", (), "attention factor on cos and sin of both sides (1 without YaRN)"),
        Field("cos", ("planes",), "cosine of each plane's relative rotation"),
        Field("sin", ("planes",), "sine of each plane's relative rotation"),
        Field("box_radii", ("d",), "bound of each stored coordinate of the key error (before rotation)"),
        Field("norm_radii", ("kv_heads",), "Euclidean bound of the key error, one per KV head"),
        Field("band_radii", ("bands",), "Euclidean bound of the key error in each band"),
        Field("query_radius", (), "Euclidean bound of the query error"),
        Field("key_norm", (), "Euclidean bound of the compressed key"),
        Field("key_hat", ("d",), "compressed key", hidden=True),
        Field("key_error", ("d",), "exact minus compressed key, stored coordinates", hidden=True),
        Field("query_error", ("d",), "exact minus used query", hidden=True),
    ),
    relation="upper",
    derive=_derive,
    known_premises=_known_premises,
    hidden_premises=_hidden_premises,
    truth=logit_change,
    params={"planes": [], "bands": [], "query_head": 0},
)
