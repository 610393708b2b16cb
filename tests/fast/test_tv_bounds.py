"""Every TV bound: not below its formula on exact numbers, tight, and the same in any batch, layout and mask."""

import math
from fractions import Fraction

import pytest
import torch

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast.softmax_tv_cell_upper import softmax_tv_cell_upper
from proofkv_verify.fast.softmax_tv_hinge_upper import softmax_tv_hinge_upper
from proofkv_verify.fast.softmax_tv_histogram_upper import softmax_tv_histogram_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_moment_upper import softmax_tv_moment_upper
from proofkv_verify.fast.softmax_tv_optimum import softmax_tv_optimum
from tests.fast.battery import TV_BOUNDS, TV_EXACT, TV_IDS, assert_not_below, fast_value, scalar, tv_reference
from tests.fast.cases import DTYPE_IDS, DTYPES, Row, corner_rows, long_rows, random_rows

each_bound = pytest.mark.parametrize("bound", TV_BOUNDS, ids=TV_IDS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
streaming = pytest.mark.parametrize("bound", [b for b in TV_BOUNDS if b.streaming], ids=lambda b: b.slug)


def limit(bound, dtype, reference):
    """How far above the formula a fast value may be: rounding, and for bounds that search, their cells."""
    searched = {"softmax_tv_optimum", "softmax_tv_histogram_upper"}
    share = Fraction(1, 2**6) if bound.slug in searched else Fraction(1, 2 ** (14 if dtype == torch.float32 else 24))
    return reference[1] * (1 + share) + Fraction(1, 2**90)


@each_bound
@each_dtype
def test_fast_value_is_not_below_the_formula_at_the_corners(bound, dtype):
    for row in corner_rows(dtype):
        assert_not_below(fast_value(bound, row), tv_reference(bound, row), f"{bound.slug}, {row.name}")


@each_bound
@each_dtype
def test_fast_value_is_not_below_the_formula_on_random_rows_and_close_to_it(bound, dtype):
    for row in random_rows(dtype, 20 if bound.streaming else 8):
        claimed, reference = fast_value(bound, row), tv_reference(bound, row)
        assert_not_below(claimed, reference, f"{bound.slug}, {row.name}")
        top = limit(bound, dtype, reference)
        assert Fraction(claimed) <= top, f"{bound.slug}, {row.name}: {claimed!r} above {float(top)!r}"


@streaming
@each_dtype
def test_fast_value_is_not_below_the_formula_on_thousands_of_tokens(bound, dtype):
    for row in long_rows(dtype):
        claimed, reference = fast_value(bound, row), tv_reference(bound, row)
        assert_not_below(claimed, reference, f"{bound.slug}, {row.name}")
        assert Fraction(claimed) <= limit(bound, dtype, reference)


@each_bound
def test_a_radius_of_two_hundred_millionths_keeps_its_digits_in_fp32(bound):
    row = Row("tiny", torch.zeros(2), torch.full((2,), 2e-8))
    low, high = tv_reference(bound, row)
    assert low <= Fraction(fast_value(bound, row)) <= high * Fraction(1001, 1000)


@pytest.mark.parametrize("bound", [b for b in TV_BOUNDS if b.zero_at_zero], ids=lambda b: b.slug)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_radius_gives_exactly_zero(bound, dtype):
    logits = torch.tensor([[[[0.5, -3.0, 2.0]]]], dtype=dtype)
    found = bound.fast(logits, torch.zeros_like(logits), **bound.options(corner_rows(torch.float32)[0]))
    assert found.item() == 0
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@each_bound
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_inputs_mean_their_exact_values(bound, dtype):
    for row in random_rows(dtype, 3):
        lifted = Row(row.name, row.logits.float(), row.radii.float())
        claimed = scalar(bound.fast(*row.batched, **bound.options(lifted)))
        assert_not_below(claimed, tv_reference(bound, lifted), row.name)
        assert claimed == fast_value(bound, lifted)


@each_bound
def test_a_batch_gives_what_each_row_gives_alone(bound):
    rows = [row for row in random_rows(torch.float32, 40, seed=3) if row.logits.numel() == 4]
    options = bound.options(rows[0])
    batch = [torch.stack([getattr(row, name) for row in rows]).reshape(1, 1, -1, 4) for name in ("logits", "radii")]
    together = bound.fast(*batch, **options).reshape(-1)
    for k, row in enumerate(rows):
        assert together[k].item() == bound.fast(*row.batched, **options).item(), f"{bound.slug}, {row.name}"


@each_bound
def test_many_heads_and_queries_split_into_chunks_give_the_same(bound):
    g = torch.Generator().manual_seed(7)
    s, c = torch.randn(2, 3, 5, 700, generator=g), torch.rand(2, 3, 5, 700, generator=g)
    options = bound.options(Row("", s[0, 0, 0], c[0, 0, 0]))
    whole = bound.fast(s, c, **options)
    assert whole.shape == (2, 3, 5)
    assert torch.equal(whole[1, 2, 3], bound.fast(s[1, 2, 3], c[1, 2, 3], **options))


@each_bound
def test_strided_and_broadcast_inputs_give_the_same(bound):
    s, c = torch.randn(1, 2, 3, 8, generator=torch.Generator().manual_seed(2)), torch.rand(1, 1, 1, 8)
    options = bound.options(Row("", s[0, 0, 0], c[0, 0, 0]))
    wide = torch.full((1, 2, 3, 16), math.nan)
    wide[..., ::2] = s
    turned = s.transpose(1, 2).contiguous().transpose(1, 2)
    expected = bound.fast(s, c.expand_as(s).contiguous(), **options)
    for view in (wide[..., ::2], turned):
        assert torch.equal(bound.fast(view, c, **options), expected)


@each_bound
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e30, -1e30])
@pytest.mark.parametrize("poisoned", ["logits", "radii"])
def test_masked_entries_are_never_read(bound, poison, poisoned):
    for row in random_rows(torch.float32, 2, seed=5):
        s, c = (torch.cat([x, torch.full((2,), 0.5)]) for x in (row.logits, row.radii))
        (s if poisoned == "logits" else c)[-2:] = poison
        mask = torch.arange(s.numel()) < row.logits.numel()
        order = torch.randperm(s.numel(), generator=torch.Generator().manual_seed(1))
        s, c, mask = (x[order].reshape(1, 1, 1, -1) for x in (s, c, mask))
        claimed, reference = scalar(bound.fast(s, c, mask, **bound.options(row))), tv_reference(bound, row)
        assert_not_below(claimed, reference, f"{bound.slug}, {row.name}")
        assert Fraction(claimed) <= limit(bound, torch.float32, reference)


@each_bound
@pytest.mark.parametrize(
    ("logits", "radii", "mask"),
    [
        ([0.0, math.nan], [0.1, 0.1], None),
        ([0.0, 1.0], [0.1, math.nan], None),
        ([0.0, math.inf], [0.1, 0.1], None),
        ([0.0, 1.0], [0.1, math.inf], None),
        ([0.0, 1.0], [0.1, -0.1], None),
        ([-math.inf, -math.inf], [0.1, 0.1], None),
        ([0.0, 1.0], [0.1, 0.1], [False, False]),
        ([0.0, math.nan], [0.1, 0.1], [False, True]),
    ],
)
def test_a_row_about_which_nothing_is_known_gives_infinity_and_leaves_its_neighbour_alone(bound, logits, radii, mask):
    s, c = torch.tensor([[0.0, 1.0], logits]), torch.tensor([[0.5, 0.25], radii])
    m = None if mask is None else torch.tensor([[True, True], mask])
    found = bound.fast(s, c, m, **bound.options(Row("", s[0], c[0])))
    assert found[1] == math.inf
    assert found[0] == bound.fast(s[:1], c[:1], **bound.options(Row("", s[0], c[0])))[0]


@each_bound
def test_a_row_without_tokens_gives_infinity(bound):
    empty = torch.zeros(2, 3, 1, 0)
    found = bound.fast(empty, empty, **bound.options(corner_rows(torch.float32)[0]))
    assert found.shape == (2, 3, 1)
    assert bool((found == math.inf).all())


@each_bound
def test_no_rows_give_no_numbers(bound):
    empty = torch.zeros(0, 3, 1, 4)
    assert bound.fast(empty, empty, **bound.options(corner_rows(torch.float32)[0])).shape == (0, 3, 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
def test_overflow_of_the_ratio_gives_no_small_number(dtype):
    radius = 2000.0
    for bound in TV_BOUNDS:
        row = Row("overflow", torch.zeros(2, dtype=dtype), torch.tensor([radius, 0.5], dtype=dtype))
        assert fast_value(bound, row) >= 1, bound.slug


def test_a_larger_radius_gives_no_smaller_bound():
    s = torch.randn(64, generator=torch.Generator().manual_seed(4))
    c = torch.rand(64, generator=torch.Generator().manual_seed(6))
    sizes = torch.tensor([0.0, 1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0]).reshape(-1, 1)
    for bound in TV_BOUNDS:
        if bound.zero_at_zero:
            found = bound.fast(s.expand(7, -1), c * sizes)
            assert bool((found[1:] * (1 + 1e-5) >= found[:-1]).all()), bound.slug


@each_dtype
def test_the_bracket_holds_the_optimum_of_small_rows(dtype):
    for row in [*corner_rows(dtype), *random_rows(dtype, 10, seed=9)]:
        lower, upper = (scalar(x) for x in softmax_tv_optimum(*row.batched, splits=12))
        best = tv_reference(TV_EXACT, row)
        assert Fraction(lower) <= best[1], row.name
        assert_not_below(upper, best, row.name)


def test_the_default_cells_bring_the_upper_end_to_the_fractional_optimum():
    bound = next(b for b in TV_BOUNDS if b.slug == "softmax_tv_optimum")
    for row in random_rows(torch.float64, 5, seed=10):
        upper, reference = scalar(softmax_tv_optimum(*row.batched)[1]), tv_reference(bound, row)
        assert reference[0] <= Fraction(upper) <= reference[1] * (1 + Fraction(1, 2**14)), row.name


def test_the_bracket_is_narrow_for_many_tokens():
    g = torch.Generator().manual_seed(11)
    s, c = torch.randn(8, 2000, generator=g), torch.rand(8, 2000, generator=g)
    lower, upper = softmax_tv_optimum(s, c)
    assert bool((upper <= lower * 1.001).all())


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 4.0])
def test_finer_bounds_are_closer_to_the_optimum(size):
    g = torch.Generator().manual_seed(12)
    s, c = torch.randn(16, 500, generator=g) * 2, torch.rand(16, 500, generator=g) * size
    optimum = softmax_tv_optimum(s, c)[1]
    for bound in TV_BOUNDS:
        assert bool((bound.fast(s, c) >= optimum * (1 - 1e-6)).all()), bound.slug
    assert bool((softmax_tv_moment_upper(s, c) <= optimum * 1.1).all())
    assert bool((softmax_tv_histogram_upper(s, c) <= optimum * 2).all())


def test_default_cells_and_bins_are_not_vacuous():
    g = torch.Generator().manual_seed(13)
    s, c = torch.randn(4, 300, generator=g), torch.rand(4, 300, generator=g) * 0.2
    mean = softmax_tv_mean_upper(s, c)
    assert bool((softmax_tv_cell_upper(s, c) < mean).all())
    assert bool((softmax_tv_hinge_upper(s, c) < mean).all())


def test_edges_that_do_not_cover_or_decrease_give_the_vacuous_one():
    s, c = torch.zeros(2), torch.full((2,), 0.1)
    assert softmax_tv_cell_upper(s, c, cell_edges=[0.2, 1.0], cell_mu=[1.0]) == 1
    assert softmax_tv_cell_upper(s, c, cell_edges=[0.0, 0.6, 0.5, 1.0], cell_mu=[1.0] * 3) == 1
    assert softmax_tv_moment_upper(s, c, bin_edges=[1.5, 1.2]) == 1
    assert softmax_tv_histogram_upper(s, c, bin_edges=[0.5, 1.2]) == 1
    assert softmax_tv_hinge_upper(s, c, kappas=[]) == 1


TWO = torch.zeros(2)


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: softmax_tv_mean_upper(TWO.long(), TWO), InvalidInputError, "logits_hat"),
        (lambda: softmax_tv_mean_upper(TWO[0], TWO[0]), ShapeError, "logits_hat"),
        (lambda: softmax_tv_mean_upper(TWO, torch.zeros(3)), ShapeError, "logit_radii"),
        (lambda: softmax_tv_mean_upper(TWO, TWO, torch.ones(2)), InvalidInputError, "mask"),
        (lambda: softmax_tv_mean_upper(TWO, TWO, torch.ones(3) > 0), ShapeError, "mask"),
        (lambda: softmax_tv_hinge_upper(TWO, TWO, kappas=[math.inf]), InvalidInputError, "kappas"),
        (lambda: softmax_tv_cell_upper(TWO, TWO, cell_mu=[1.0]), InvalidInputError, "both or none"),
        (lambda: softmax_tv_cell_upper(TWO, TWO, cell_edges=[0, 1], cell_mu=[1, 1]), ShapeError, "cell_mu"),
        (lambda: softmax_tv_cell_upper(TWO, TWO, cell_edges=[-1, 1], cell_mu=[1]), InvalidInputError, "cell_edges"),
        (lambda: softmax_tv_cell_upper(TWO, TWO, cell_edges=[0, 1], cell_mu=[math.nan]), InvalidInputError, "finite"),
        (lambda: softmax_tv_histogram_upper(TWO, TWO, bin_edges=[]), InvalidInputError, "edge"),
        (lambda: softmax_tv_histogram_upper(TWO, TWO, bin_edges=[math.nan]), InvalidInputError, "bin_edges"),
    ],
)
def test_bad_arguments_name_the_argument(call, error, named):
    with pytest.raises(error, match=named):
        call()
