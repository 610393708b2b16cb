"""No built-in scheme understates an error, decided exactly, for every input dtype, scale dtype and rounding."""

from fractions import Fraction

import pytest
import torch

from proofkv_verify.exact import lift_tensor
from proofkv_verify.schemes.compare import first_violation
from proofkv_verify.schemes.registry import scheme_named
from tests.schemes.scheme_inputs import DTYPES, SHAPE, adversarial_batch, flush_to_zero, normal, scheme_texts

__all__ = ["flush_to_zero"]
TEXTS = list(scheme_texts())


def assert_radii_hold(scheme, keys, values, names=None):
    pages = scheme.compress(keys, values)
    sidecar = scheme.sidecar(pages)
    pairs = zip((keys, values), scheme.restore(pages), (sidecar.key_box, sidecar.value_box), strict=True)
    for original, restored, box in pairs:
        found = first_violation(original, restored, box)
        assert found is None, (found, names and names[found.index[0]])
        assert bool(torch.isfinite(restored).all())
        assert bool(torch.isfinite(box).all())
    return pages, sidecar


def assert_scales_are_usable(tiles):
    least = 2.0**-24 if tiles.scale.dtype == torch.float16 else 2.0**-126
    scale = tiles.scale.double()
    assert bool((scale >= least).all())
    assert bool(torch.isfinite(scale).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", TEXTS)
def test_radii_hold_and_all_is_finite_on_adversarial_tensors(text, dtype):
    names, keys = adversarial_batch(dtype)
    pages, _ = assert_radii_hold(scheme_named(text), keys, keys.flip(2), names)
    if text != "identity":
        assert_scales_are_usable(pages.keys.tiles)
        assert_scales_are_usable(pages.values.tiles)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("text", TEXTS)
def test_radii_hold_while_subnormals_are_flushed(text, dtype, flush_to_zero):
    names, keys = adversarial_batch(dtype)
    pages, _ = assert_radii_hold(scheme_named(text), keys, keys.flip(2), names)
    if text != "identity":
        assert_scales_are_usable(pages.keys.tiles)


@pytest.mark.parametrize("text", TEXTS)
def test_radii_computed_while_flushing_hold_for_numbers_restored_without(text):
    scheme = scheme_named(text)
    names, keys = adversarial_batch(torch.float32)
    pages = scheme.compress(keys, keys)
    restored = scheme.restore(pages)[0]
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    box = scheme.sidecar(pages).key_box
    torch.set_flush_denormal(False)
    found = first_violation(keys, restored, box)
    assert found is None, (found, names[found.index[0]])


@pytest.mark.parametrize("text", TEXTS)
def test_radii_hold_on_fractions_lifted_element_by_element(text):
    scheme = scheme_named(text)
    keys, values = normal(torch.float16, seed=1), normal(torch.float16, seed=2, magnitude=30.0)
    pages = scheme.compress(keys, values)
    box, hat = scheme.sidecar(pages).key_box, scheme.restore(pages)[0]
    triples = zip(lift_tensor(keys).values, lift_tensor(hat).values, lift_tensor(box).values, strict=True)
    for x, x_hat, radius in triples:
        assert abs(x - x_hat) <= radius, (x, x_hat, radius)


@pytest.mark.parametrize("text", [t for t in TEXTS if t.startswith("int") and "restored=" not in t])
def test_unsaturated_int_radii_are_within_one_percent_of_half_the_stored_step_plus_the_cast(text):
    scheme = scheme_named(text)
    keys = normal(torch.float32, seed=3)
    pages = scheme.compress(keys, keys)
    tiles = pages.keys.tiles
    if tiles.excess is not None:
        assert "nearest" in text  # rounding scales up leaves nothing beyond the grid
        return
    coded = tiles.shape[2]
    restored = scheme.restore(pages)[0][:, :, :coded]
    half_step = tiles.scale.double().max() / 2
    assert bool((scheme.sidecar(pages).key_box[:, :, :coded] <= half_step * 1.01 + restored.abs() * 2.0**-23).all())


def test_radius_is_tight_somewhere():
    keys = normal(torch.float32, (1, 1, 200, 64), seed=4)
    for text in TEXTS[1:]:
        scheme = scheme_named(text)
        if scheme.keys.spec.fixed and len(scheme.keys.spec.fixed) > 1:
            continue
        pages = scheme.compress(keys, keys)
        error = (keys.double() - scheme.restore(pages)[0].double()).abs()
        ratio = (error / scheme.sidecar(pages).key_box).nan_to_num().max()
        assert ratio > 0.9, (text, float(ratio))


def test_saturated_elements_get_their_real_error_from_the_group_range():
    # 255.9 / 255 is 1 in bf16: 255 steps end 0.9 below the element.
    scheme = scheme_named("int8:scale=bf16,symmetric=no,scale_rounding=nearest")
    keys = torch.zeros(1, 1, 1, 4)
    keys[..., 1:] = torch.tensor([255.9, 255.5, 100.0])
    pages, sidecar = assert_radii_hold(scheme, keys, keys)
    assert float(pages.keys.tiles.scale) == 1.0
    assert pages.keys.tiles.excess is not None
    # Code 0 is an end of the grid as well: from the pages alone it cannot be told from a saturated one.
    assert [round(float(r), 4) for r in sidecar.key_box.flatten()] == [0.9, 0.9, 0.9, 0.5]


def test_no_excess_is_stored_where_nothing_saturates():
    keys = normal(torch.float16)
    for text in ("int8", "int8:scale=bf16,symmetric=no", "int4_kivi", "fp8_e4m3fn", "fp8_e5m2:scale=bf16"):
        pages = scheme_named(text).compress(keys, keys)
        assert pages.keys.tiles.excess is None, text


def test_a_scale_that_its_dtype_cannot_hold_saturates_soundly():
    keys = torch.full(SHAPE, 3e38)
    keys[..., 0] = 1.0
    scheme = scheme_named("int8:scale=fp16")
    pages, sidecar = assert_radii_hold(scheme, keys, keys)
    assert float(pages.keys.tiles.scale.max()) == 65504
    assert float(sidecar.key_box.max()) > 2.9e38


def test_overflow_error_refuses_what_saturate_accepts():
    keys = torch.full(SHAPE, 3e38)
    with pytest.raises(ValueError, match="keys: expected values within the range of the stored scale"):
        scheme_named("int8:scale=fp16,overflow=error").compress(keys, keys)
    near = normal(torch.float16)
    scheme_named("int8:scale=fp16,overflow=error").compress(near, near)


def test_fp8_overflow_policies_saturate_nan_and_error():
    keys = torch.tensor([500.0, -1000.0, 464.0, 464.0625]).reshape(1, 1, 1, 4)
    one = "key_scale=1,value_scale=1"
    saturate = scheme_named(f"fp8_e4m3fn:{one}")
    assert saturate.restore(saturate.compress(keys, keys))[0].flatten().tolist() == [448.0, -448.0, 448.0, 448.0]
    box = saturate.sidecar(saturate.compress(keys, keys)).key_box.flatten()
    assert bool((box >= 552).all())
    nan = scheme_named(f"fp8_e4m3fn:{one},overflow=nan")
    pages = nan.compress(keys, keys)
    restored = nan.restore(pages)[0].flatten()
    assert restored.isnan().tolist() == [True, True, False, True]
    assert nan.sidecar(pages).key_box.flatten().isinf().tolist() == [True, True, False, True]
    with pytest.raises(ValueError, match="range of the stored scale"):
        scheme_named(f"fp8_e4m3fn:{one},overflow=error").compress(keys, keys)


def test_m21_clipped_fp8_has_error_52_and_no_smaller_radius():
    keys = torch.tensor([500.0]).reshape(1, 1, 1, 1)
    scheme = scheme_named("fp8_e4m3fn:key_scale=1,value_scale=1")
    pages = scheme.compress(keys, keys)
    assert float(scheme.restore(pages)[0]) == 448.0
    radius = lift_tensor(scheme.sidecar(pages).key_box).values[0]
    assert Fraction(52) <= radius <= Fraction(52) * (1 + Fraction(1, 2**20))


@pytest.mark.parametrize("text", [t for t in TEXTS if "nan" not in t])
def test_non_finite_elements_come_back_nan_with_infinite_radius_and_leave_others_alone(text):
    scheme = scheme_named(text)
    keys = normal(torch.float32, seed=5)
    poisoned = keys.clone()
    places = ((0, 0, 0, 3), (0, 1, 17, 0), (1, 0, TOKENS_LAST, 7))
    for place, value in zip(places, (torch.nan, torch.inf, -torch.inf), strict=True):
        poisoned[place] = value
    pages = scheme.compress(poisoned, poisoned)
    restored, box = scheme.restore(pages)[0], scheme.sidecar(pages).key_box
    for place in places:
        assert not bool(torch.isfinite(restored[place]))
        assert float(box[place]) == torch.inf
    assert int((~torch.isfinite(restored)).sum()) == len(places)
    assert first_violation(poisoned, restored, box) is None


TOKENS_LAST = SHAPE[2] - 1
