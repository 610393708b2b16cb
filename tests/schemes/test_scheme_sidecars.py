"""Sidecars bound exact norms, are implied by no less than the elements, and measured witnesses hide nothing."""

import pytest
import torch

from proofkv_verify.exact import lift_tensor
from proofkv_verify.schemes.compare import first_violation
from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.witness import PAGE_TOKENS, bands_up, measure, sidecar_of_witness
from tests.schemes.scheme_inputs import SMALL, flush_to_zero, normal

__all__ = ["flush_to_zero"]
NAMES = [f"{name}:{options}" if options else name for name, options in SMALL.items()]


def exact_errors(x, x_hat):
    """|x - x_hat| as rationals: rows of tokens."""
    size = x.shape[-1]
    pairs = zip(lift_tensor(x).values, lift_tensor(x_hat).values, strict=True)
    flat = [abs(a - b) for a, b in pairs]
    return [flat[i : i + size] for i in range(0, len(flat), size)]


def assert_sidecar_bounds(sidecar, pairs):
    for (x, x_hat), box, norm in zip(
        pairs, (sidecar.key_box, sidecar.value_box), (sidecar.key_norm, sidecar.value_norm), strict=True
    ):
        rows = exact_errors(x, x_hat)
        for row, radii, radius in zip(rows, _rows(box), lift_tensor(norm).values, strict=True):
            assert all(e <= r for e, r in zip(row, radii, strict=True))
            assert sum(e * e for e in row) <= radius**2
    (keys, keys_hat), _ = pairs
    planes, count = keys.shape[-1] // 2, sidecar.key_bands.shape[-1]
    for row, radii in zip(exact_errors(keys, keys_hat), _rows(sidecar.key_bands), strict=True):
        for b, radius in enumerate(radii):
            members = range(b * planes // count, (b + 1) * planes // count)
            assert sum(row[i] ** 2 + row[i + planes] ** 2 for i in members) <= radius**2


def _rows(tensor):
    size = tensor.shape[-1]
    flat = lift_tensor(tensor).values
    return [flat[i : i + size] for i in range(0, len(flat), size)]


@pytest.mark.parametrize("text", NAMES)
def test_every_sidecar_field_bounds_the_exact_error(text):
    scheme = scheme_named(text)
    size = (1, 2, 24, 12)
    keys, values = normal(torch.float16, size, 1), normal(torch.float16, size, 2, 20.0)
    pages = scheme.compress(keys, values)
    keys_hat, values_hat = scheme.restore(pages)
    assert_sidecar_bounds(scheme.sidecar(pages), ((keys, keys_hat), (values, values_hat)))


@pytest.mark.parametrize("text", NAMES)
def test_sidecars_have_the_documented_shapes_and_dtype(text):
    scheme = scheme_named(text)
    keys = normal(torch.bfloat16, (2, 3, 21, 24))
    sidecar = scheme.sidecar(scheme.compress(keys, keys))
    assert sidecar.key_box.shape == sidecar.value_box.shape == keys.shape
    assert sidecar.key_norm.shape == sidecar.value_norm.shape == keys.shape[:3]
    assert sidecar.key_bands.shape == (2, 3, 21, 4)  # 12 planes: gcd(8, 12) bands
    fields = (sidecar.key_box, sidecar.key_norm, sidecar.key_bands, sidecar.value_box, sidecar.value_norm)
    assert all(f.dtype == torch.float64 for f in fields)


def test_bands_are_runs_of_half_split_rotation_planes():
    error = torch.zeros(1, 1, 1, 32, dtype=torch.float64)
    error[..., 3], error[..., 19] = 3.0, 4.0  # plane 3 is (3, 3 + 16); 8 bands of 2 planes
    bands = bands_up(error)
    assert bands is not None
    assert bands.shape[-1] == 8
    assert [round(float(b), 6) for b in bands.flatten()] == [0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_band_norms_survive_rotation_while_a_box_does_not():
    """Mutant of pre-RoPE boxes on rotated keys: at 45 degrees (.1, -.1) has a coordinate .1414 > .1."""
    error = torch.tensor([0.1, -0.1], dtype=torch.float64)
    turn = torch.tensor([[1.0, -1.0], [1.0, 1.0]], dtype=torch.float64) / 2**0.5
    rotated = turn @ error
    assert float(rotated.abs().max()) > 0.1
    bands = bands_up(error.reshape(1, 1, 1, 2))
    assert bands is not None
    assert float(rotated.norm()) <= float(bands)


def test_odd_head_dim_has_no_bands():
    keys = normal(torch.float32, (1, 1, 8, 5))
    scheme = scheme_named("int8")
    assert scheme.sidecar(scheme.compress(keys, keys)).key_bands is None


@pytest.mark.parametrize("restored_dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_measured_witness_bounds_the_exact_error(restored_dtype):
    size = (1, 2, PAGE_TOKENS + 5, 8)
    keys, values = normal(torch.float16, size, 1), normal(torch.float16, size, 2)
    keys_hat, values_hat = ((t.double() * 1.001 + 1e-4).to(restored_dtype) for t in (keys, values))
    witness = measure(keys, values, keys_hat, values_hat)
    assert_sidecar_bounds(sidecar_of_witness(witness), ((keys, keys_hat), (values, values_hat)))


def test_m20_a_witness_from_fp32_misses_what_bf16_loses():
    """s = .0236, k = 144 s: fp32 dequantization is exact to 1e-7, the bf16 number that is read is .0078 away."""
    keys = torch.tensor([3.3984]).reshape(1, 1, 1, 1)
    fp32 = (torch.tensor([144.0]) * 0.0236).reshape(1, 1, 1, 1)
    read = fp32.bfloat16()
    too_small = sidecar_of_witness(measure(keys, keys, fp32, fp32))
    measured = sidecar_of_witness(measure(keys, keys, read, read))
    assert first_violation(keys, read, too_small.key_box) is not None
    assert first_violation(keys, read, measured.key_box) is None
    assert 0.0077 < float(measured.key_box) < 0.0079


def test_a_measured_box_is_the_maximum_over_its_page():
    keys = torch.zeros(1, 1, 2 * PAGE_TOKENS, 2)
    keys_hat = keys.clone()
    keys_hat[0, 0, 3, 1] = 0.5
    keys_hat[0, 0, PAGE_TOKENS, 0] = 0.25
    box = sidecar_of_witness(measure(keys, keys, keys_hat, keys)).key_box
    assert box is not None
    assert torch.equal((box > 0.4)[0, 0, :, 1], torch.arange(2 * PAGE_TOKENS) < PAGE_TOKENS)
    assert torch.equal((box > 0.2)[0, 0, :, 0], torch.arange(2 * PAGE_TOKENS) >= PAGE_TOKENS)


def test_a_measured_witness_is_zero_where_nothing_changed_and_infinite_at_nan():
    keys = normal(torch.float16, (1, 1, 2 * PAGE_TOKENS, 4))
    keys_hat = keys.clone()
    keys_hat[0, 0, -1, 0] = torch.nan
    witness = measure(keys, keys, keys_hat, keys)
    assert float(witness.value_norm.max()) == 0
    assert float(witness.key_norm[0, 0, -1]) == torch.inf
    assert float(witness.key_norm[0, 0, :-1].max()) == 0


def test_a_measured_witness_sees_subnormal_differences_while_flushing(flush_to_zero):
    keys = torch.tensor([1], dtype=torch.int32).view(torch.float32).reshape(1, 1, 1, 1)
    sidecar = sidecar_of_witness(measure(keys, keys, torch.zeros_like(keys), keys))
    assert first_violation(keys, torch.zeros_like(keys), sidecar.key_box) is None
    assert float(sidecar.key_norm) > 0
