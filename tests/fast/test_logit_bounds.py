"""The three logit radii and the rounding radius of computed logits, against exact arithmetic."""

import math
from fractions import Fraction

import pytest
import torch

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.exact import lift_float
from proofkv_verify.fast.logit_abs_band_upper import logit_abs_band_upper
from proofkv_verify.fast.logit_abs_box_upper import logit_abs_box_upper
from proofkv_verify.fast.logit_abs_norm_upper import logit_abs_norm_upper
from proofkv_verify.fast.logits_with_error import logits_with_error
from tests.fast.battery import assert_not_below, exact, reference_ends
from tests.fast.cases import DTYPE_IDS, DTYPES

B, H, HKV, Q, K, D = 1, 4, 2, 2, 3, 6
BANDS = [[0, 3], [1, 4, 2, 5]]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
each_slug = pytest.mark.parametrize("slug", ["box", "band", "norm"])


def draw(shape, dtype, seed, size=1.0):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=g, dtype=torch.float64) * size).to(dtype)


def radii_of(slug, dtype, size):
    shape = {"box": (B, HKV, K, D), "band": (B, HKV, K, len(BANDS)), "norm": (B, HKV, K)}[slug]
    return draw(shape, dtype, 5, size).abs()


def fast(slug, queries, radii, scale, **more):
    if slug == "band":
        return logit_abs_band_upper(queries, radii, scale, BANDS, **more)
    return {"box": logit_abs_box_upper, "norm": logit_abs_norm_upper}[slug](queries, radii, scale, **more)


def reference(slug, queries, radii, scale, place, more):
    """The bound's reference value for (head, query, key)."""
    head, query, key = place
    kv, zero = head // (H // HKV), Fraction(0)
    group = tuple(exact(queries[0, h, query]) for h in range(kv * (H // HKV), (kv + 1) * (H // HKV)))
    mine = exact(radii[0, kv, key].reshape(-1))
    rho, norm = (more[n] for n in ("query_radius", "key_norm")) if more else (None, None)
    fields = {
        "queries": group,
        "softmax_scale": lift_float(scale),
        "rope_factor": lift_float(1.25),
        "cos": (),
        "sin": (),
        "box_radii": mine if slug == "box" else (zero,) * D,
        "norm_radii": tuple(exact(radii[0, j, key].reshape(-1))[0] if slug == "norm" else zero for j in range(HKV)),
        "band_radii": mine if slug == "band" else (zero,) * len(BANDS),
        "query_radius": zero if rho is None else exact(rho[0, head, query].reshape(1))[0],
        "key_norm": zero if norm is None else exact(norm[0, kv, key].reshape(1))[0],
    }
    return reference_ends(f"logit_abs_{slug}_upper", "logit_abs", fields, {"bands": BANDS, "query_head": head})


@each_slug
@each_dtype
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-42, 1e8])
@pytest.mark.parametrize("uncertain", [False, True], ids=["exact query", "uncertain query"])
def test_radius_is_not_below_the_formula_and_reads_the_right_kv_head(slug, dtype, size, uncertain):
    queries, radii, scale = draw((B, H, Q, D), dtype, 1), radii_of(slug, dtype, size), 0.3
    more = {}
    if uncertain:
        more = {"query_radius": draw((B, H, Q), dtype, 8).abs(), "key_norm": draw((B, HKV, K), dtype, 9).abs()}
    found = fast(slug, queries, radii, scale, rope_factor=1.25, **more)
    assert found.shape == (B, H, Q, K)
    assert found.dtype == dtype
    for place in [(0, 0, 0), (1, 1, 2), (2, 0, 1), (3, 1, 0)]:
        claimed, ends = float(found[(0, *place)]), reference(slug, queries, radii, scale, place, more)
        assert_not_below(claimed, ends, f"{slug} at {place}")
        share = Fraction(1, 2**18) if dtype == torch.float32 else Fraction(1, 2**46)
        spare = Fraction(1, 2**120) if dtype == torch.float32 else Fraction(1, 2**900)
        assert Fraction(claimed) <= ends[1] * (1 + share) + spare


@each_slug
def test_no_error_gives_exactly_zero_and_half_inputs_are_lifted(slug):
    queries = draw((B, H, Q, D), torch.float16, 1)
    found = fast(slug, queries, radii_of(slug, torch.float32, 0.0), 0.125)
    assert found.dtype == torch.float32
    assert bool((found == 0).all())


@each_slug
@pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf])
def test_an_unusable_radius_gives_infinity_at_its_key_only(slug, bad):
    queries, radii = draw((B, H, Q, D), torch.float32, 1), radii_of(slug, torch.float32, 1.0)
    expected = fast(slug, queries, radii, 0.5)
    radii[0, 1, 2].reshape(-1)[0] = bad
    found = fast(slug, queries, radii, 0.5)
    assert bool((found[:, 2:, :, 2] == math.inf).all())
    assert torch.equal(found[:, :2], expected[:, :2])
    assert torch.equal(found[..., :2], expected[..., :2])


@each_slug
def test_a_query_with_nan_gives_infinity(slug):
    queries = draw((B, H, Q, D), torch.float32, 1)
    queries[0, 0, 0, 0] = math.nan
    found = fast(slug, queries, radii_of(slug, torch.float32, 1.0), 0.5)
    assert bool((found[0, 0, 0] == math.inf).all())
    assert bool(torch.isfinite(found[0, 1:]).all())


@each_dtype
@pytest.mark.parametrize("size", [1.0, 1e-25, 300.0])
def test_computed_logits_are_within_their_radius(dtype, size):
    queries, keys, scale = draw((B, H, 5, 64), dtype, 2, size), draw((B, HKV, 7, 64), dtype, 3, size), 0.1
    logits, radius = logits_with_error(queries, keys, scale)
    q, k, factor = exact(queries), exact(keys), lift_float(scale)
    for h, i, j in [(h, i, j) for h in range(H) for i in range(5) for j in range(7)]:
        true = factor * sum(a * b for a, b in zip(q[0][h][i], k[0][h // (H // HKV)][j], strict=True))
        error = abs(Fraction(float(logits[0, h, i, j])) - true)
        assert error <= Fraction(float(radius[0, h, i, j])), (h, i, j)
    norms = queries.double().norm(dim=-1).amax() * keys.double().norm(dim=-1).amax() * scale
    unit = 2.0**-24 if dtype == torch.float32 else 2.0**-53
    assert float(radius.max()) <= 80 * unit * float(norms) + 2.0**-110


def test_a_cancelling_product_in_fp32_needs_the_radius():
    queries, keys = torch.tensor([[[[1e4, 1.0, -1e4]]]]), torch.tensor([[[[1e4, 0.1, 1e4]]]])
    logits, radius = logits_with_error(queries, keys, 1.0)
    assert abs(Fraction(float(logits)) - Fraction(float(keys[0, 0, 0, 1]))) <= Fraction(float(radius))
    assert float(radius) > 1


def test_a_logit_that_overflows_has_an_infinite_radius():
    wide = torch.full((1, 1, 1, 2), 3e38)
    assert logits_with_error(wide, wide, 1.0)[1].item() == math.inf


ONES = torch.ones(1, 2, 1, 4)


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: logit_abs_norm_upper(ONES[0], torch.ones(1, 1, 1), 1.0), ShapeError, "queries"),
        (lambda: logit_abs_norm_upper(ONES, torch.ones(1, 1, 1, 4), 1.0), ShapeError, "radii"),
        (lambda: logit_abs_norm_upper(ONES, torch.ones(1, 3, 1), 1.0), ShapeError, "KV heads"),
        (lambda: logit_abs_norm_upper(ONES, torch.ones(1, 1, 1), math.inf), InvalidInputError, "softmax_scale"),
        (lambda: logit_abs_norm_upper(ONES, torch.ones(1, 1, 1), 1.0, rope_factor=math.nan), InvalidInputError, "rope"),
        (
            lambda: logit_abs_norm_upper(ONES, torch.ones(1, 1, 1), 1.0, query_radius=torch.ones(1, 2, 1)),
            InvalidInputError,
            "both or none",
        ),
        (lambda: logit_abs_box_upper(ONES, torch.ones(1, 1, 1, 3), 1.0), ShapeError, "4 coordinates"),
        (
            lambda: logit_abs_band_upper(ONES, torch.ones(1, 1, 1, 2), 1.0, [[0, 1], [2]]),
            InvalidInputError,
            "partition",
        ),
        (lambda: logit_abs_band_upper(ONES, torch.ones(1, 1, 1, 3), 1.0, [[0, 1], [2, 3]]), ShapeError, "2 bands"),
        (lambda: logits_with_error(ONES, torch.ones(1, 1, 1, 4), 1e-40), InvalidInputError, "softmax_scale"),
    ],
)
def test_bad_arguments_name_the_argument(call, error, named):
    with pytest.raises(error, match=named):
        call()
