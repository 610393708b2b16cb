"""Field faults A4, A11, A12, A13, A14: the values of the reports, and the kind of fault behind each."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
import torch
from flint import arb

from proofkv_verify.audit.attention_checks import (
    check_head_mapping,
    check_locality,
    check_mask,
    check_merge,
    check_scales,
)
from proofkv_verify.ball import BallMath, Real
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.attention import EMPTY, Spec, State, head_state, merge, visible

LN3 = BallMath().log(3)
PLAIN = Spec(Fraction(1))
UNREADABLE = object()  # a row of no kind: reading it is an error
TORCH = torch.Tensor


def right_attention(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float, **scales: float) -> TORCH:
    """Repeats KV heads in blocks, descales all three tensors, and gathers the live rows of each request."""
    queries = queries * scales.get("q_scale", 1.0)
    keys, values = keys * scales.get("k_scale", 1.0), values * scales.get("v_scale", 1.0)
    group = queries.shape[1] // keys.shape[1]
    out = torch.zeros(*queries.shape[:3], values.shape[3])
    for b in range(queries.shape[0]):
        for t in range(queries.shape[2]):
            live = mask[b, 0, t].nonzero().flatten()
            k, v = (tensor[b, :, live].repeat_interleave(group, dim=0) for tensor in (keys, values))
            weights = torch.softmax((queries[b, :, t, None] * k).sum(-1) * scale, dim=-1)
            out[b, :, t] = (weights[..., None] * v).sum(-2)
    return out


def right_merge(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    """Empty parts are the identity; an infinite log-sum-exp of any other kind is refused."""
    if bool(lse_a == math.inf) or bool(lse_b == math.inf) or bool(lse_a.isnan()) or bool(lse_b.isnan()):
        raise ValueError("a log-sum-exp must be finite, or -inf for no keys")
    top = torch.maximum(lse_a, lse_b)
    if bool(top == -math.inf):
        return torch.zeros_like(output_a), top
    wa, wb = (lse_a - top).exp(), (lse_b - top).exp()
    return (wa * output_a + wb * output_b) / (wa + wb), top + (wa + wb).log()


def row_a4(k_lost: bool, v_lost: bool) -> Real:
    """The row's attention output when a descale factor is not applied: stored k = 2 k, stored v = v / 2."""
    k, v = (2 if k_lost else 1), (4 if v_lost else 8)
    keys, values = [[Real(k), Real(0)], [Real(0), Real(0)]], [[Real(v)], [Real(0)]]
    return head_state([LN3, Real(0)], 1, keys, values, [0, 1], PLAIN).output[0]


@pytest.mark.parametrize(
    ("k_lost", "v_lost", "value"),
    [(False, False, "6"), (True, False, "36/5"), (False, True, "3"), (True, True, "18/5")],
)
def test_a4_the_row_has_its_values(k_lost: bool, v_lost: bool, value: str) -> None:
    gap = BallMath().abs(row_a4(k_lost, v_lost) - Fraction(value))
    assert (gap < Fraction(1, 10**13)).value


@pytest.mark.parametrize("lost", ["q_scale", "k_scale", "v_scale"])
def test_a4_an_attention_that_drops_a_descale_factor_is_caught(lost: str) -> None:
    def faulty(*args: Any, **scales: float) -> TORCH:
        return right_attention(*args, **{name: s for name, s in scales.items() if name != lost})

    fault = check_scales(faulty)
    assert fault is not None
    assert "scales" in fault.where


def test_a4_the_report_itself_is_the_first_fault_of_a_lost_key_scale() -> None:
    def faulty(*args: Any, k_scale: float, **scales: float) -> TORCH:
        return right_attention(*args, **scales)

    fault = check_scales(faulty)
    assert fault is not None
    assert (fault.expected[:7], round(float(fault.got), 4)) == ("about 6", 7.2)


def test_a4_the_correct_twin_passes_and_default_scales_of_one_hide_the_fault() -> None:
    assert check_scales(right_attention) is None
    unscaled = [torch.tensor(t).reshape(1, 1, -1, 1) for t in ([1.0], [1.0, 0.0], [8.0, 0.0])]
    mask = torch.ones(1, 1, 1, 2, dtype=torch.bool)
    kept = right_attention(*unscaled, mask, 1.0, k_scale=1.0, v_scale=1.0)
    assert torch.equal(kept, right_attention(*unscaled, mask, 1.0))


def test_a11_the_row_has_its_values() -> None:
    assert [visible(t, [0, 3]) for t in range(4)] == [[0], [0], [0], [0, 1]]


def right_mask(queries: Sequence[int], keys: Sequence[int], window: int | None) -> TORCH:
    gap = torch.tensor(queries)[:, None] - torch.tensor(keys)[None, :]
    return (gap >= 0) & (gap < (window if window is not None else 1 << 30))


def bottom_right(queries: Sequence[int], keys: Sequence[int], window: int | None) -> TORCH:
    """Takes the kept keys for the last len(keys) positions."""
    start = len(queries) - len(keys)
    return right_mask(queries, [start + i for i in range(len(keys))], window)


def off_by_one_window(queries: Sequence[int], keys: Sequence[int], window: int | None) -> TORCH:
    return right_mask(queries, keys, None if window is None else window + 1)


def test_a11_masks_from_row_numbers_and_wrong_windows_are_caught_and_the_correct_twin_passes() -> None:
    fault = check_mask(bottom_right)
    assert fault is not None
    assert fault.where == "query at 0, keys at [0, 3], window None"
    assert check_mask(off_by_one_window) is not None
    assert check_mask(lambda q, k, _w: right_mask(q, k, None)) is not None
    assert check_mask(right_mask) is None


def test_a12_the_row_has_its_values() -> None:
    queries, keys = torch.ones(1, 4, 1, 2), torch.ones(1, 2, 2, 2)
    values = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 2, 2)
    mask = torch.ones(1, 1, 1, 2, dtype=torch.bool)
    assert right_attention(queries, keys, values, mask, 1.0)[0, :, 0, 0].tolist() == [0, 0, 1, 1]
    assert tiled(queries, keys, values, mask, 1.0)[0, :, 0, 0].tolist() == [0, 1, 0, 1]


def tiled(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
    """KV heads tiled (0, 1, 0, 1) where they must be repeated (0, 0, 1, 1)."""
    group = queries.shape[1] // keys.shape[1]
    return right_attention(queries, keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1), mask, scale)


def test_a12_tiled_kv_heads_are_caught_and_the_correct_twin_passes() -> None:
    fault = check_head_mapping(tiled)
    assert fault is not None
    assert (fault.where, fault.expected, fault.got) == ("Hq 4, Hkv 2: head 1, coordinate 0", "0", "1.0")
    assert check_head_mapping(right_attention) is None


def test_a12_the_first_kv_head_for_all_is_caught() -> None:
    def first_only(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
        return right_attention(queries, keys[:, :1], values[:, :1], mask, scale)

    assert check_head_mapping(first_only) is not None


def test_a13_the_row_has_its_values() -> None:
    five = State(Real(Fraction(5, 4)), (Real(5),))
    assert merge(EMPTY, EMPTY) is EMPTY
    assert merge(five, EMPTY) is five
    with pytest.raises(InvalidInputError, match="EMPTY for no keys"):
        merge(five, State(Real(arb.pos_inf()), (Real(0),)))


def merge_without_empty(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    """Subtracts the maximum without asking whether it is -inf."""
    top = torch.maximum(lse_a, lse_b)
    wa, wb = (lse_a - top).exp(), (lse_b - top).exp()
    return (wa * output_a + wb * output_b) / (wa + wb), top + (wa + wb).log()


def merge_that_trusts_infinity(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    """An empty part marked +inf wins over all keys."""
    if bool(lse_a == math.inf):
        return output_a, lse_a
    if bool(lse_b == math.inf):
        return output_b, lse_b
    return right_merge(output_a, lse_a, output_b, lse_b)


def merge_in_base_two(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    top = torch.maximum(lse_a, lse_b)
    if bool(top == -math.inf):
        return right_merge(output_a, lse_a, output_b, lse_b)
    wa, wb = (lse_a - top).exp2(), (lse_b - top).exp2()
    return (wa * output_a + wb * output_b) / (wa + wb), top + (wa + wb).log2()


def merge_without_a_shift(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    """exp(900) overflows."""
    if bool(torch.maximum(lse_a, lse_b) == -math.inf):
        return right_merge(output_a, lse_a, output_b, lse_b)
    wa, wb = lse_a.exp(), lse_b.exp()
    return (wa * output_a + wb * output_b) / (wa + wb), (wa + wb).log()


def merge_that_hides_nan(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
    empty = torch.tensor(-math.inf)
    lse_a, lse_b = (torch.where(lse.isnan(), empty, lse) for lse in (lse_a, lse_b))
    return right_merge(output_a, lse_a, output_b, lse_b)


@pytest.mark.parametrize(
    ("faulty", "where"),
    [
        (merge_without_empty, "merge of (0.0, -inf) and (0.0, -inf)"),
        (merge_that_trusts_infinity, "merge of (5.0, 1.25) and (0.0, inf)"),
        (merge_in_base_two, "merge of (5.0, 1.25) and (5.0, 1.25)"),
        (merge_without_a_shift, "merge of (0.0, -inf) and (1.0, 900.0)"),
        (merge_that_hides_nan, "merge of (5.0, 1.25) and (0.0, nan)"),
    ],
)
def test_a13_faulty_merges_are_caught(faulty: Any, where: str) -> None:
    fault = check_merge(faulty)
    assert fault is not None
    assert fault.where == where


def test_a13_a_merge_that_loses_the_smaller_part_is_caught() -> None:
    def larger_only(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
        right_merge(output_a, lse_a, output_b, lse_b)
        return (output_a, lse_a) if bool(lse_a >= lse_b) else (output_b, lse_b)

    assert check_merge(larger_only) is not None


def test_a13_the_correct_twin_passes_and_so_does_one_that_normalises() -> None:
    def normalising(output_a: TORCH, lse_a: TORCH, output_b: TORCH, lse_b: TORCH) -> tuple[TORCH, TORCH]:
        empty = torch.tensor(-math.inf)
        parts = [(o, torch.where(s == math.inf, empty, s)) for o, s in ((output_a, lse_a), (output_b, lse_b))]
        if bool(parts[0][1].isnan()) or bool(parts[1][1].isnan()):
            nan = torch.tensor(math.nan)
            return nan.reshape(1), nan
        return right_merge(*parts[0], *parts[1])

    assert check_merge(right_merge) is None
    assert check_merge(normalising) is None


def test_a14_the_reference_reads_the_live_rows_only() -> None:
    rows: list[Any] = [[Real(0)], [Real(0)], UNREADABLE]
    values: list[Any] = [[Real(1)], [Real(1)], UNREADABLE]
    assert head_state([Real(0)], 1, rows, values, [0, 1, 2], PLAIN).output[0].exact == 1


def masked_softmax(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
    """Weight 0 for what is masked, and then 0 * NaN = NaN."""
    group = queries.shape[1] // keys.shape[1]
    k, v = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
    scores = (queries @ k.transpose(-1, -2) * scale).masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


def additive_mask(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
    """Adds -inf to what is masked: a NaN key stays NaN. Values are cleaned."""
    cleaned = values.where(mask[:, 0, 0, :, None][:, None], torch.zeros(()))
    group = queries.shape[1] // keys.shape[1]
    k, v = keys.repeat_interleave(group, dim=1), cleaned.repeat_interleave(group, dim=1)
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return torch.softmax(queries @ k.transpose(-1, -2) * scale + bias, dim=-1) @ v


def mean_over_the_batch(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
    """Centres the keys by a statistic of the whole batch."""
    return right_attention(queries, keys - keys.mean(dim=0, keepdim=True), values, mask, scale)


@pytest.mark.parametrize("faulty", [masked_softmax, additive_mask, mean_over_the_batch])
def test_a14_an_attention_that_dead_entries_reach_is_caught(faulty: Any) -> None:
    assert check_locality(faulty) is not None


def test_a14_an_attention_that_ignores_the_mask_is_caught() -> None:
    def blind(queries: TORCH, keys: TORCH, values: TORCH, mask: TORCH, scale: float) -> TORCH:
        return right_attention(queries, keys, values, torch.ones_like(mask), scale)

    fault = check_locality(blind)
    assert fault is not None
    assert fault.where.startswith("clean dead entries")


def test_a14_the_correct_twin_passes() -> None:
    assert check_locality(right_attention) is None


@pytest.mark.parametrize("poisoned", ["keys", "values"])
def test_a14_torch_attention_with_a_boolean_mask_is_reached_so_a_fast_path_must_gather(poisoned: str) -> None:
    """A fact about the installed torch: if it ever returns 1 here, gathering is still right."""
    queries, keys, values = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2), torch.ones(1, 1, 3, 2)
    (keys if poisoned == "keys" else values)[0, 0, 2] = math.nan
    mask = torch.tensor([True, True, False]).reshape(1, 1, 1, 3)
    dense = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=1.0)
    live = [t[:, :, :2] for t in (keys, values)]
    gathered = torch.nn.functional.scaled_dot_product_attention(queries, *live, scale=1.0)
    assert gathered.flatten().tolist() == [1.0, 1.0]
    assert dense.isnan().all() or dense.flatten().tolist() == [1.0, 1.0]
