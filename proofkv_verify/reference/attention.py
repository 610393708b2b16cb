"""Attention as the package means it, on rationals and balls, with a state that merges.

Order of operations for one query head h at position t: the KV head is floor(h / group size); a key at position u is
visible if u <= t and, with a window W, t - u < W; its score is the dot product times the scale, then the soft-cap
cap * tanh(score / cap) if there is one; weights are exp(score - log-sum-exp over the visible keys); the output is the
weighted sum of the values. Keys that are not visible are never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from proofkv_verify.ball import BallMath, Real
from proofkv_verify.errors import InvalidInputError, ShapeError

_MATH = BallMath()


@dataclass(frozen=True, slots=True)
class Spec:
    """What attention does beside the dot products.

    Attributes:
        scale: factor of the dot product.
        soft_cap: positive cap of the scores, or None.
        window: number of positions that a query sees, itself included, or None for all.
    """

    scale: Fraction
    soft_cap: Fraction | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if self.soft_cap is not None and self.soft_cap <= 0:
            raise InvalidInputError("soft_cap", "a positive number or None", self.soft_cap)
        if self.window is not None and self.window < 1:
            raise InvalidInputError("window", "at least 1 or None", self.window)


@dataclass(frozen=True, slots=True)
class State:
    """Attention over some keys: log-sum-exp of the scores and normalised output; no keys at all is `EMPTY`."""

    lse: Real | None
    output: tuple[Real, ...]


EMPTY = State(None, ())


def kv_head(head: int, num_heads: int, num_kv_heads: int) -> int:
    """The KV head that a query head reads: floor(head / (num_heads / num_kv_heads))."""
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise InvalidInputError("num_heads", f"a multiple of num_kv_heads = {num_kv_heads}", num_heads)
    if not 0 <= head < num_heads:
        raise InvalidInputError("head", f"0..{num_heads - 1}", head)
    return head // (num_heads // num_kv_heads)


def visible(query_position: int, key_positions: Sequence[int], window: int | None = None) -> list[int]:
    """Indices of the keys that a query sees, from positions and not from row numbers."""
    reach = query_position if window is None else window - 1
    return [i for i, u in enumerate(key_positions) if 0 <= query_position - u <= reach]


def score(query: Sequence[Real], key: Sequence[Real], spec: Spec) -> Real:
    """The score of one key: scaled dot product, then soft-cap."""
    raw = dot(query, key) * spec.scale
    return raw if spec.soft_cap is None else _MATH.tanh(raw / spec.soft_cap) * spec.soft_cap


def dot(a: Sequence[Real], b: Sequence[Real]) -> Real:
    """The dot product of two vectors of one length."""
    if len(a) != len(b):
        raise ShapeError("key", f"{len(a)} coordinates", len(b))
    return _MATH.sum(x * y for x, y in zip(a, b, strict=True))


def attend(scores: Sequence[Real], values: Sequence[Sequence[Real]]) -> State:
    """The state over these keys; no keys give `EMPTY`, which is not a number and not a zero output."""
    if len(scores) != len(values):
        raise ShapeError("values", f"{len(scores)} rows", len(values))
    if not scores:
        return EMPTY
    top = _MATH.max(*scores)
    weights = [_MATH.exp(s - top) for s in scores]
    total = _MATH.sum(weights)
    output = tuple(dot(weights, [v[c] for v in values]) / total for c in range(len(values[0])))
    return State(top + _MATH.log(total), output)


def merge(a: State, b: State) -> State:
    """The state over both sets of keys; associative, commutative, `EMPTY` is the identity.

    Raises:
        InvalidInputError: a log-sum-exp that is not a finite number (an empty part marked +inf, a NaN).
    """
    for name, state in (("first", a), ("second", b)):
        if state.lse is not None and not state.lse.is_finite():
            raise InvalidInputError(f"lse of the {name} part", "a finite number, or EMPTY for no keys", state.lse)
    if a.lse is None:
        return b
    if b.lse is None:
        return a
    if len(a.output) != len(b.output):
        raise ShapeError("output", f"{len(a.output)} coordinates", len(b.output))
    top = _MATH.max(a.lse, b.lse)
    wa, wb = _MATH.exp(a.lse - top), _MATH.exp(b.lse - top)
    total = wa + wb
    output = tuple((wa * x + wb * y) / total for x, y in zip(a.output, b.output, strict=True))
    return State(top + _MATH.log(total), output)


def head_state(
    query: Sequence[Real],
    query_position: int,
    keys: Sequence[Sequence[Real]],
    values: Sequence[Sequence[Real]],
    key_positions: Sequence[int],
    spec: Spec,
) -> State:
    """One query of one head over a cache: reads the visible rows only."""
    live = visible(query_position, key_positions, spec.window)
    return attend([score(query, keys[i], spec) for i in live], [values[i] for i in live])
