"""Checks of an attention or merge function against the reference: wiring faults that shapes and tolerances hide.

Each check runs the function on small inputs chosen so that one kind of fault shows, compares with the exact
reference, and returns the first fault or None. None means that these inputs show nothing, not that the function is
right. The functions under test get torch tensors:

- attention(queries [B, Hq, Q, D], keys [B, Hkv, T, D], values [B, Hkv, T, D], mask [B, 1, Q, T] bool, True = attend,
  softmax_scale) -> [B, Hq, Q, D];
- scaled attention: the same with q_scale, k_scale, v_scale by name, for tensors stored as true value / scale;
- merge(output_a [D], lse_a [], output_b, lse_b) -> (output, lse), an empty part being (zeros, -inf);
- mask(query_positions, key_positions, window or None) -> bool [Q, T].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import TypeAlias

import torch

from proofkv_verify.ball import Real
from proofkv_verify.exact import lift_float
from proofkv_verify.numerals import brief_text
from proofkv_verify.reference.attention import EMPTY, Spec, State, head_state, kv_head, merge, visible

Attention: TypeAlias = Callable[..., torch.Tensor]
Merge: TypeAlias = Callable[..., tuple[torch.Tensor, torch.Tensor]]
MaskRule: TypeAlias = Callable[[Sequence[int], Sequence[int], int | None], torch.Tensor]
ALLOWANCE = Fraction(1, 64)
"""How far a result may lie from the reference: these checks look for wiring, not for rounding."""
POISONS = (math.nan, 1e30, -1e30, math.inf)
_EMPTY = (torch.zeros(1), torch.tensor(-math.inf))


@dataclass(frozen=True, slots=True)
class AttentionFault:
    """The first element that a check found wrong.

    Attributes:
        where: the case and the element.
        expected: what the reference gives, as text (exact, or its nearest float).
        got: what the function returned.
    """

    where: str
    expected: str
    got: str


def check_scales(attention: Attention) -> AttentionFault | None:
    """Distinct scales of queries, keys and values (1/4, 1/2, 2 in every order) change nothing in the result.

    The first case has the value 6; with the key scale lost it is 7.2, with the value scale lost 3, with both 3.6.
    """
    queries, keys, values = _row_of_scales()
    for scales in [(1.0, 0.5, 2.0), *permutations((0.25, 0.5, 2.0)), (1.0, 1.0, 1.0)]:
        stored = [t / s for t, s in zip((queries, keys, values), scales, strict=True)]
        q_scale, k_scale, v_scale = scales
        found = attention(*stored, _open_mask(1, 2), 1.0, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale)
        expected = _reference(queries, keys, values, _open_mask(1, 2), 1.0)
        fault = _compare(found, expected, f"q, k, v scales {scales}")
        if fault is not None:
            return fault
    return None


def check_head_mapping(attention: Attention) -> AttentionFault | None:
    """Query head h reads KV head floor(h / (Hq / Hkv)): values that name their KV head come back in blocks."""
    for heads, kv_heads in ((4, 2), (6, 3), (6, 2), (3, 3), (3, 1)):
        names = torch.arange(kv_heads, dtype=torch.float32)
        values = names[None, :, None, None].expand(1, kv_heads, 4, 2).contiguous()
        keys = torch.ones(1, kv_heads, 4, 2)
        found = attention(torch.ones(1, heads, 1, 2), keys, values, _open_mask(1, 4), 0.5)
        expected = [[Real(kv_head(h, heads, kv_heads))] * 2 for h in range(heads)]
        fault = _compare(found, expected, f"Hq {heads}, Hkv {kv_heads}")
        if fault is not None:
            return fault
    return None


def check_locality(attention: Attention) -> AttentionFault | None:
    """Dead entries (masked keys and values, another request of the batch) may hold NaN, inf or 1e30: nothing moves."""
    clean = _local_case(0.0, ("keys", "values", "request"))
    before = attention(*clean, 1.0)
    queries, keys, values, mask = clean
    fault = _compare(before, _reference(queries, keys, values, mask, 1.0), "clean dead entries")
    for poison, place in product(POISONS, ("keys", "values", "request")):
        if fault is not None:
            return fault
        after = attention(*_local_case(poison, (place,)), 1.0)
        fault = _moved(before[0], after[0], f"{poison} in dead {place}")
    return fault


def check_merge(merge_states: Merge) -> AttentionFault | None:
    """The merge is that of the reference: empty parts are its identity, and a part marked +inf or NaN is refused.

    Refusing means raising ValueError, an empty part's meaning for +inf (the other part comes back), or NaN for NaN.
    """
    for a, b in _merge_cases():
        fault = _compare_states(merge_states(*a, *b), _merged(a, b), f"merge of {_text(a)} and {_text(b)}")
        if fault is not None:
            return fault
    return _check_marked(merge_states)


def check_mask(mask: MaskRule) -> AttentionFault | None:
    """Masks follow positions and not row numbers: causal, windows of W at W - 1, W and W + 1, evicted rows."""
    for keys, window in ([0, 3], None), ([0, 1, 2, 3, 4], 3), ([0, 1, 2, 3, 4], None), ([4, 0, 2], 3), ([2, 5], 1):
        queries = list(range(6))
        found = mask(queries, keys, window)
        for at, t in enumerate(queries):
            seen = [i for i in range(len(keys)) if bool(found[at, i])]
            if seen != visible(t, keys, window):
                where = f"query at {t}, keys at {keys}, window {window}"
                return AttentionFault(where, f"rows {visible(t, keys, window)}", f"rows {seen}")
    return None


def _row_of_scales() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    queries = torch.tensor([math.log(3.0), 0.0]).reshape(1, 1, 1, 2)
    keys = torch.tensor([[1.0, 0.0], [0.0, 0.0]]).reshape(1, 1, 2, 2)
    values = torch.tensor([[8.0, 0.0], [0.0, 0.0]]).reshape(1, 1, 2, 2)
    return queries, keys, values


def _local_case(poison: float, places: Iterable[str]) -> tuple[torch.Tensor, ...]:
    """Two requests, of which only the first two keys of the first one are live; every value there is 1."""
    queries, keys, values = torch.zeros(2, 2, 1, 2), torch.zeros(2, 1, 4, 2), torch.ones(2, 1, 4, 2)
    mask = _open_mask(1, 4).repeat(2, 1, 1, 1)
    mask[0, :, :, 2:] = False
    if "keys" in places:
        keys[0, :, 2:] = poison
    if "values" in places:
        values[0, :, 2:] = poison
    if "request" in places:
        queries[1], keys[1], values[1] = poison, poison, poison
    return queries, keys, values, mask


def _open_mask(queries: int, keys: int) -> torch.Tensor:
    return torch.ones(1, 1, queries, keys, dtype=torch.bool)


def _reference(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, scale: float
) -> list[list[Real]]:
    """One row per query head of the first request, single query: reads the keys that the mask shows."""
    heads, kv_heads = queries.shape[1], keys.shape[1]
    live = [i for i in range(keys.shape[2]) if bool(mask[0, 0, 0, i])]
    spec, found = Spec(lift_float(scale, "softmax_scale")), []
    for h in range(heads):
        k = kv_head(h, heads, kv_heads)
        seen_keys, seen_values = ([_reals(tensor[0, k, i]) for i in live] for tensor in (keys, values))
        state = head_state(_reals(queries[0, h, 0]), len(live), seen_keys, seen_values, range(len(live)), spec)
        found.append(list(state.output))
    return found


def _reals(row: torch.Tensor) -> list[Real]:
    return [Real(lift_float(float(x), "tensor")) for x in row]


def _compare(found: torch.Tensor, expected: Sequence[Sequence[Real]], case: str) -> AttentionFault | None:
    for h, row in enumerate(expected):
        for c, right in enumerate(row):
            got = float(found[0, h, 0, c])
            if not _near(got, right):
                return AttentionFault(f"{case}: head {h}, coordinate {c}", _show(right), repr(got))
    return None


def _moved(before: torch.Tensor, after: torch.Tensor, case: str) -> AttentionFault | None:
    for index in (before != after).nonzero()[:1]:
        place = tuple(int(i) for i in index)
        return AttentionFault(f"{case}: element {list(place)}", repr(float(before[place])), repr(float(after[place])))
    return None


def _merge_cases() -> Iterator[tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]]:
    parts = [_EMPTY, _part(5.0, 1.25), _part(-3.0, 1.25), _part(2.0, -80.0), _part(1.0, 900.0), _part(-1.0, -900.0)]
    yield from product(parts, repeat=2)


def _part(output: float, lse: float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([output]), torch.tensor(lse)


def _merged(a: tuple[torch.Tensor, torch.Tensor], b: tuple[torch.Tensor, torch.Tensor]) -> State:
    return merge(_state(a), _state(b))


def _state(part: tuple[torch.Tensor, torch.Tensor]) -> State:
    output, lse = part
    return EMPTY if float(lse) == -math.inf else State(Real(lift_float(float(lse), "lse")), tuple(_reals(output)))


def _compare_states(found: tuple[torch.Tensor, torch.Tensor], expected: State, case: str) -> AttentionFault | None:
    output, lse = float(found[0][0]), float(found[1])
    if expected.lse is None:
        same = (output, lse) == (0.0, -math.inf)
        return None if same else AttentionFault(case, "(0, -inf)", f"({output}, {lse})")
    if _near(output, expected.output[0]) and _near(lse, expected.lse):
        return None
    return AttentionFault(case, f"({_show(expected.output[0])}, {_show(expected.lse)})", f"({output}, {lse})")


def _check_marked(merge_states: Merge) -> AttentionFault | None:
    good = _part(5.0, 1.25)
    for lse, flip in product((math.inf, math.nan), (False, True)):
        marked = _part(0.0, lse)
        pair = (marked, good) if flip else (good, marked)
        try:
            output, total = (float(t) for t in merge_states(*pair[0], *pair[1]))
        except ValueError:
            continue
        fine = (output, total) == (5.0, 1.25) if lse == math.inf else math.isnan(output) and math.isnan(total)
        if not fine:
            meant = "(5, 1.25)" if lse == math.inf else "(nan, nan)"
            case = f"merge of {_text(pair[0])} and {_text(pair[1])}"
            return AttentionFault(case, f"ValueError or {meant}", f"({output}, {total})")
    return None


def _text(part: tuple[torch.Tensor, torch.Tensor]) -> str:
    return f"({float(part[0][0])}, {float(part[1])})"


def _near(got: float, right: Real) -> bool:
    if not math.isfinite(got):
        return False
    gap = Real(lift_float(got, "result")) - right
    return ((gap <= ALLOWANCE) & (gap >= -ALLOWANCE)).value is True


def _show(right: Real) -> str:
    if right.exact is not None:
        return brief_text(right.exact)
    low = right.lower()
    return "unbounded" if low is None else f"about {float(low):.9g}"
