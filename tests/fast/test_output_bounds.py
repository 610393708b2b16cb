"""The output bounds: not below their formulas, tight where they claim to be, GQA, masks, poison, chunks."""

import math
from fractions import Fraction

import pytest
import torch

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast.attention_l2_upper import attention_certificate, attention_l2_upper
from proofkv_verify.fast.attention_linf_exact_upper import attention_linf_exact_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_odds_upper import softmax_tv_odds_upper
from tests.fast.battery import assert_not_below, exact, reference_ends
from tests.fast.cases import DTYPE_IDS, DTYPES, corner_rows, random_rows

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
D = 3


def value_data(row, seed, size=0.1):
    g = torch.Generator().manual_seed(seed)
    n = row.logits.numel()
    values = torch.randn(1, 1, n, D, generator=g, dtype=torch.float64)
    box = torch.rand(1, 1, n, D, generator=g, dtype=torch.float64) * size
    return values.to(row.logits.dtype), box.to(row.logits.dtype)


def fields_of(row, values, **radii):
    found = {"logits_hat": exact(row.logits), "logit_radii": exact(row.radii), "values_hat": exact(values[0, 0])}
    return found | {name: exact(radius[0, 0]) for name, radius in radii.items()}


def rows_of(dtype):
    return [*corner_rows(dtype), *random_rows(dtype, 8, seed=21)]


@each_dtype
@pytest.mark.parametrize("size", [0.0, 0.1, 10.0])
def test_linf_is_not_below_its_formula_and_close_to_it(dtype, size):
    for k, row in enumerate(rows_of(dtype)):
        values, box = value_data(row, k, size)
        claimed = float(attention_linf_exact_upper(*row.batched, values, box))
        ends = reference_ends("attention_linf_exact_upper", "attention_linf", fields_of(row, values, value_box=box))
        assert_not_below(claimed, ends, row.name)
        assert Fraction(claimed) <= ends[1] * (1 + Fraction(1, 2**20)) + Fraction(1, 2**40), row.name


@each_dtype
@pytest.mark.parametrize("tight", [False, True], ids=["streaming", "tight"])
def test_l2_is_not_below_its_formula_and_the_tight_form_is_close_to_it(dtype, tight):
    for k, row in enumerate(rows_of(dtype)):
        values, box = value_data(row, k)
        radii = box[..., 0].contiguous()
        claimed = float(attention_l2_upper(*row.batched, values, radii, tight=tight))
        ends = reference_ends("attention_l2_upper", "attention_l2", fields_of(row, values, value_radii=radii))
        assert_not_below(claimed, ends, row.name)
        if tight:
            assert Fraction(claimed) <= ends[1] * (1 + Fraction(1, 2**9)) + Fraction(1, 2**40), row.name


def test_streaming_l2_is_within_a_small_factor_of_the_tight_form():
    g = torch.Generator().manual_seed(3)
    s, c = torch.randn(1, 4, 2, 200, generator=g), torch.rand(1, 4, 2, 200, generator=g) * 0.05
    values, radii = torch.randn(1, 2, 200, 16, generator=g), torch.rand(1, 2, 200, generator=g) * 0.1
    fast, tight = (attention_l2_upper(s, c, values, radii, tight=t) for t in (False, True))
    assert bool((tight <= fast).all())
    assert bool((fast <= 3 * tight).all())


def test_the_certificate_is_the_two_bounds_of_one_pass():
    row = random_rows(torch.float32, 1)[0]
    values, box = value_data(row, 0)
    tv, l2 = attention_certificate(*row.batched, values, box[..., 0])
    widest = torch.full_like(row.batched[1], float(row.radii.max()))
    assert tv == torch.minimum(softmax_tv_mean_upper(*row.batched), softmax_tv_odds_upper(row.batched[0], widest))
    assert l2 == attention_l2_upper(*row.batched, values, box[..., 0])


BOUNDS = {
    "l2": lambda s, c, v, b, m=None: attention_l2_upper(s, c, v, b[..., 0], m),
    "l2 tight": lambda s, c, v, b, m=None: attention_l2_upper(s, c, v, b[..., 0], m, tight=True),
    "linf": attention_linf_exact_upper,
}
each_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


def batch(seed=5, heads=4, kv_heads=2, queries=3, tokens=9):
    g = torch.Generator().manual_seed(seed)
    s, c = torch.randn(2, heads, queries, tokens, generator=g), torch.rand(2, heads, queries, tokens, generator=g)
    values, box = torch.randn(2, kv_heads, tokens, D, generator=g), torch.rand(2, kv_heads, tokens, D, generator=g)
    return s, c, values, box


@each_bound
def test_query_heads_read_their_own_kv_head_and_rows_do_not_mix(bound):
    s, c, values, box = batch()
    whole = bound(s, c, values, box)
    assert whole.shape == s.shape[:3]
    for b, h, q in [(0, 0, 0), (0, 1, 2), (1, 2, 1), (1, 3, 0)]:
        kv = slice(h // 2, h // 2 + 1)
        parts = [x[b : b + 1, h : h + 1, q : q + 1] for x in (s, c)]
        alone = bound(*parts, *(x[b : b + 1, kv] for x in (values, box)))
        assert alone.item() == whole[b, h, q].item(), (b, h, q)


@each_bound
@pytest.mark.parametrize("poison", [math.nan, math.inf, 1e30])
def test_tokens_masked_everywhere_are_never_read(bound, poison):
    s, c, values, box = batch(queries=1)
    kept = torch.tensor([True] * 6 + [False] * 3)
    expected = bound(s[..., :6], c[..., :6], values[:, :, :6], box[:, :, :6])
    for name in ("s", "c", "values", "box"):
        data = {"s": s.clone(), "c": c.clone(), "values": values.clone(), "box": box.clone()}
        data[name][..., 6:, :] = poison if name in ("values", "box") else data[name][..., 6:, :]
        if name in ("s", "c"):
            data[name][..., 6:] = poison
        found = bound(*data.values(), kept)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


@each_bound
def test_a_row_does_not_see_the_poison_of_tokens_that_other_rows_attend(bound):
    s, c, values, box = batch(tokens=4, queries=2)
    mask = torch.tensor([[True, True, False, False], [True, True, True, True]])
    values[:, :, 3] = math.nan
    found = bound(s, c, values, box, mask)
    assert bool(torch.isfinite(found[:, :, 0]).all())
    assert bool((found[:, :, 1] == math.inf).all())


@each_bound
def test_what_is_not_known_gives_infinity(bound):
    s, c, values, box = batch(queries=1)
    s[0, 0, 0, 0] = math.nan
    c[0, 1, 0, 0] = -1
    box[1, 0, 0] = -1
    found = bound(s, c, values, box)
    assert bool((found[0, :2] == math.inf).all())
    assert bool((found[1, :2] == math.inf).all())
    assert bool(torch.isfinite(found[0, 2:]).all())
    nothing = torch.zeros(s.shape[-1], dtype=torch.bool)
    assert bool((bound(s, c, values, box, nothing) == math.inf).all())
    empty = batch(tokens=0)
    assert bool((bound(*empty) == math.inf).all())


@each_bound
def test_exact_keys_and_values_give_zero(bound):
    s, c, values, box = batch()
    assert bool((bound(s, c * 0, values, box * 0) == 0).all())


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda s, c, v, b: attention_l2_upper(s[0], c[0], v, b[..., 0]), "logits_hat"),
        (lambda s, c, v, b: attention_l2_upper(s, c, v[:, :, :2], b[:, :, :2, 0]), "values_hat"),
        (attention_l2_upper, "value_radii"),
        (lambda s, c, v, b: attention_l2_upper(s[:, :3], c[:, :3], v, b[..., 0]), "KV heads"),
        (lambda s, c, v, b: attention_linf_exact_upper(s, c, v, b[..., 0]), "value_box"),
    ],
)
def test_bad_shapes_name_the_argument(call, named):
    with pytest.raises(ShapeError, match=named):
        call(*batch())
