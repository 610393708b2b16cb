"""The metadata of a trace file: one frozen dataclass, checked once, exact numbers as text."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Final, Literal

from proofkv_verify.errors import InvalidInputError

SCHEMA: Final = "proofkv-verify/trace/1"

RopeKind = Literal["half_split", "interleaved", "none"]
TraceDtype = Literal["float16", "bfloat16", "float32"]

_ROPE_KINDS: Final = ("half_split", "interleaved", "none")
_DTYPES: Final = ("float16", "bfloat16", "float32")
_EXACT: Final = re.compile(r"-?[0-9]+(/[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TraceMeta:
    """What the tensors of a trace mean: the geometry and the constants of the attention they feed.

    Attributes:
        model: Name of the model, free text.
        layer_ids: Index in the model of each recorded layer, strictly increasing.
        num_heads: Query heads.
        num_kv_heads: Key/value heads; divides ``num_heads``. Query head ``h`` reads KV head
            ``h // (num_heads // num_kv_heads)``.
        head_dim: Elements of one query, key or value vector.
        softmax_scale: Exact factor of the scores, before the soft-cap.
        rope_kind: Which dimensions turn as pair ``i``: ``half_split`` (i and i + rotary_dim/2),
            ``interleaved`` (2i and 2i + 1), or ``none``: no rotation, or one of another law.
        rope_theta: Base; pair ``i`` turns by ``position * rope_theta**(-2i/rotary_dim)`` radians.
        rope_factor: Attention factor m: cosines and sines of keys and queries are multiplied by it.
        rotary_dim: Leading dimensions that RoPE rotates; 0 when ``rope_kind`` is ``none``.
        stage: ``post_rope``: stored queries and keys are rotated already, as attention reads them.
        soft_cap: Exact c of ``c * tanh(score / c)``, or None.
        window: A query at position p sees the keys at ``(p - window, p]``; None: at all up to p.
        dtype: Element type of queries, keys and values.
        source: What text the trace was recorded on.
        licence: Licence of that text.
    """

    model: str
    layer_ids: tuple[int, ...]
    num_heads: int
    num_kv_heads: int
    head_dim: int
    softmax_scale: Fraction
    rope_kind: RopeKind
    rope_theta: Fraction | None
    rope_factor: Fraction
    rotary_dim: int
    stage: Literal["post_rope"]
    soft_cap: Fraction | None
    window: int | None
    dtype: TraceDtype
    source: str
    licence: str

    def __post_init__(self) -> None:
        """Refuse values that no attention layer has.

        Raises:
            InvalidInputError: Names the field, what was expected, and what came.
        """
        _check_geometry(self)
        _check_constants(self)
        _check_rope(self)

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head."""
        return self.num_heads // self.num_kv_heads


def meta_to_json(meta: TraceMeta) -> str:
    """Write metadata as a JSON object; fractions become exact ``p`` or ``p/q`` strings.

    Args:
        meta: Checked metadata.

    Returns:
        The JSON text, keys in field order.
    """
    return json.dumps({f.name: _plain(getattr(meta, f.name)) for f in fields(meta)})


def meta_from_json(text: str) -> TraceMeta:
    """Read metadata; unknown, missing and mistyped fields are refused.

    Args:
        text: JSON text as written by ``meta_to_json``.

    Returns:
        The checked metadata.

    Raises:
        InvalidInputError: Names the field, what was expected, and what came.
    """
    raw = _json_object(text)
    names = {f.name for f in fields(TraceMeta)}
    for name in sorted(names - raw.keys()):
        raise InvalidInputError(f"metadata.{name}", "a value", "nothing")
    for name in sorted(raw.keys() - names):
        raise InvalidInputError(f"metadata.{name}", f"a field of {SCHEMA}", "an unknown field")
    return _build(raw)


def _json_object(text: str) -> Mapping[str, object]:
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInputError("metadata", "a JSON object", f"other text ({error})") from error
    if not isinstance(raw, dict):
        raise InvalidInputError("metadata", "a JSON object", type(raw).__name__)
    return raw


def _build(raw: Mapping[str, object]) -> TraceMeta:
    return TraceMeta(
        model=_text(raw, "model"),
        layer_ids=_layer_ids(raw["layer_ids"]),
        num_heads=_integer(raw, "num_heads"),
        num_kv_heads=_integer(raw, "num_kv_heads"),
        head_dim=_integer(raw, "head_dim"),
        softmax_scale=_exact(raw, "softmax_scale"),
        rope_kind=raw["rope_kind"],  # type: ignore[arg-type]  # checked in __post_init__
        rope_theta=None if raw["rope_theta"] is None else _exact(raw, "rope_theta"),
        rope_factor=_exact(raw, "rope_factor"),
        rotary_dim=_integer(raw, "rotary_dim"),
        stage=raw["stage"],  # type: ignore[arg-type]  # checked in __post_init__
        soft_cap=None if raw["soft_cap"] is None else _exact(raw, "soft_cap"),
        window=None if raw["window"] is None else _integer(raw, "window"),
        dtype=raw["dtype"],  # type: ignore[arg-type]  # checked in __post_init__
        source=_text(raw, "source"),
        licence=_text(raw, "licence"),
    )


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _text(raw: Mapping[str, object], name: str) -> str:
    value = raw[name]
    if not isinstance(value, str):
        raise InvalidInputError(f"metadata.{name}", "a string", repr(value))
    return value


def _integer(raw: Mapping[str, object], name: str) -> int:
    value = raw[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"metadata.{name}", "an integer", repr(value))
    return value


def _exact(raw: Mapping[str, object], name: str) -> Fraction:
    value = raw[name]
    if isinstance(value, str) and len(value) <= 4096 and _EXACT.fullmatch(value):
        numerator, _, denominator = value.partition("/")
        if denominator == "" or int(denominator) != 0:
            return Fraction(int(numerator), int(denominator or 1))
    raise InvalidInputError(f"metadata.{name}", 'an exact number as a string "p" or "p/q"', repr(value)[:80])


def _layer_ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise InvalidInputError("metadata.layer_ids", "a list of integers", repr(value)[:80])
    return tuple(value)


def _check(passed: bool, name: str, expected: str, got: object) -> None:
    if not passed:
        raise InvalidInputError(f"metadata.{name}", expected, repr(got)[:80])


def _check_geometry(meta: TraceMeta) -> None:
    ids = meta.layer_ids
    increasing = all(low < high for low, high in itertools.pairwise(ids))
    _check(
        bool(ids) and ids[0] >= 0 and increasing,
        "layer_ids",
        "at least one id, >= 0, strictly increasing",
        ids,
    )
    for name in ("num_heads", "num_kv_heads", "head_dim"):
        _check(getattr(meta, name) >= 1, name, "an integer >= 1", getattr(meta, name))
    _check(
        meta.num_heads % meta.num_kv_heads == 0,
        "num_heads",
        f"a multiple of num_kv_heads = {meta.num_kv_heads}",
        meta.num_heads,
    )


def _check_constants(meta: TraceMeta) -> None:
    _check(meta.softmax_scale > 0, "softmax_scale", "a number > 0", str(meta.softmax_scale))
    _check(meta.stage == "post_rope", "stage", "'post_rope' (rotate before saving)", meta.stage)
    _check(
        meta.soft_cap is None or meta.soft_cap > 0,
        "soft_cap",
        "null or a number > 0",
        meta.soft_cap,
    )
    _check(meta.window is None or meta.window >= 1, "window", "null or an integer >= 1", meta.window)
    _check(meta.dtype in _DTYPES, "dtype", f"one of {', '.join(_DTYPES)}", meta.dtype)


def _check_rope(meta: TraceMeta) -> None:
    kinds = ", ".join(_ROPE_KINDS)
    _check(meta.rope_kind in _ROPE_KINDS, "rope_kind", f"one of {kinds}", meta.rope_kind)
    _check(meta.rope_factor > 0, "rope_factor", "a number > 0", str(meta.rope_factor))
    if meta.rope_kind == "none":
        _check(meta.rotary_dim == 0, "rotary_dim", "0 without RoPE", meta.rotary_dim)
        _check(meta.rope_theta is None, "rope_theta", "null without RoPE", meta.rope_theta)
        _check(meta.rope_factor == 1, "rope_factor", "1 without RoPE", str(meta.rope_factor))
        return
    _check(
        2 <= meta.rotary_dim <= meta.head_dim and meta.rotary_dim % 2 == 0,
        "rotary_dim",
        f"an even number from 2 to head_dim = {meta.head_dim}",
        meta.rotary_dim,
    )
    positive = meta.rope_theta is not None and meta.rope_theta > 0
    _check(positive, "rope_theta", "a number > 0", meta.rope_theta)
