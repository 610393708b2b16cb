"""Field faults A3, A5, A6, A7 in schemes: the values of the reports, and the kind of fault behind each.

For each kind a scheme is planted that has the fault; the check refutes it, and passes its correct twin.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from proofkv_verify.check import check_number
from proofkv_verify.exact import lift_tensor
from proofkv_verify.kinds import Instance
from proofkv_verify.schemes.compare import first_violation
from proofkv_verify.schemes.exhaust import exhaust_scheme
from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.size import tensor_bytes
from proofkv_verify.schemes.user import load_scheme, wrap
from proofkv_verify.verdict import Refuted, Verified
from tests.schemes.scheme_inputs import flush_to_zero, normal

__all__ = ["flush_to_zero"]
EXAMPLES = Path(__file__).parents[2] / "examples"
ROW_A3 = torch.tensor([-5.3191e-37, -1.2519e-36, 2.8094e-36, 9.1835e-40, 1.0433e-37] + [0.0] * 27)
ROW_A5 = torch.tensor([0.9, -0.9, 1.5, -1.5, 126.6, 127.0])
FP8_SCHEMES = ("fp8_e4m3fn", "fp8_e5m2", "fp8_e4m3fn:scale=fp16", "fp8_e4m3fn:scale=bf16,scale_rounding=nearest")


def example(name):
    return load_scheme(str(EXAMPLES / "unsound" / f"{name}.py:scheme"))[0]


def row(numbers):
    return numbers.reshape(1, 1, 1, -1)


def channel(numbers):
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def violation(scheme, keys):
    """The first element of the keys that comes back non-finite or beyond its declared radius."""
    pages = scheme.compress(keys.clone(), keys.clone())
    return first_violation(keys, scheme.restore(pages)[0], scheme.sidecar(pages).key_box)


def assert_replays(found):
    """The violation is a counterexample in the trusted core too: error against radius, in rationals."""
    fields = {"left": (found.original,), "right": (found.restored,)}
    verdict = check_number(Instance("element_error", fields), found.radius).verdict
    assert isinstance(verdict, Refuted), (found, verdict)


@dataclass(frozen=True)
class Affine:
    """A small int8 scheme whose faults are switched on one by one; each token is a group."""

    round: str = "nearest"
    range_floor: float = 0.0
    inverse_dtype: torch.dtype | None = None
    least_scale: float = 2.0**-126

    def compress(self, keys, values):
        return {"dtype": keys.dtype, "sides": [self.encode(x.float()) for x in (keys, values)]}

    def encode(self, x):
        low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        span = (high - low).clamp(min=self.range_floor)
        scale = (span / 255).clamp(min=self.least_scale)
        quotient = (x - low) * self.inverse(span) if self.inverse_dtype else (x - low) / scale
        codes = quotient.round() if self.round == "nearest" else quotient.trunc()
        return codes.clamp(0, 255), scale, low

    def inverse(self, span):
        return (255 / span).to(self.inverse_dtype).float()

    def restore(self, pages):
        return tuple((codes * scale + low).to(pages["dtype"]) for codes, scale, low in pages["sides"])

    def sidecar(self, pages):
        codes, scale, low = pages["sides"][0]
        # Half a step; the fp32 quotient, product and sum round by less than 2^-20; the cast by half an eps.
        size = (codes * scale).double().abs() + low.double().abs()
        cast = (codes * scale + low).double().abs() * torch.finfo(pages["dtype"]).eps / 2
        return {"key_box": scale.double() * 0.5001 + size * 2.0**-20 + cast * 1.001 + 2.0**-120}


# A3: the scale of a tiny group is subnormal, is flushed to 0, and its inverse is infinite.


@pytest.mark.parametrize("text", FP8_SCHEMES)
def test_a3_tiny_rows_come_back_finite_and_within_their_radius(text):
    scheme = scheme_named(text)
    assert violation(scheme, row(ROW_A3)) is None
    assert violation(scheme, row(ROW_A3).bfloat16()) is None


@pytest.mark.parametrize("text", FP8_SCHEMES)
def test_a3_tiny_rows_are_within_their_radius_while_subnormals_are_flushed(text, flush_to_zero):
    assert float(torch.tensor([2.0**-126]) * 0.5) == 0  # flushing is on
    scheme = scheme_named(text)
    assert violation(scheme, row(ROW_A3)) is None
    scale = scheme.compress(row(ROW_A3), row(ROW_A3)).keys.tiles.scale
    assert float(scale) > 0
    assert bool(torch.isfinite(1 / scale.float()))


def test_a3_row_is_coded_to_its_leading_bits():
    scheme = scheme_named("fp8_e4m3fn")
    restored = scheme.restore(scheme.compress(row(ROW_A3), row(ROW_A3)))[0].flatten()
    for x, y in zip(ROW_A3[:3], restored[:3], strict=True):
        assert abs(float(y) / float(x) - 1) < 2.0**-4


@dataclass(frozen=True)
class Blocks:
    """Block codes e4m3 with a power-of-two scale in fp32, as MX kernels do; the fault multiplies by its inverse."""

    by_inverse: bool

    def compress(self, keys, values):
        return [self.encode(x.float()) for x in (keys, values)]

    def encode(self, x):
        amax = x.double().abs().amax(-1, keepdim=True)
        scale = torch.exp2(amax.log2().floor() - 8).float()
        if self.by_inverse:
            quotient = x * (1 / scale)
        else:
            scale = scale.clamp(min=2.0**-126)
            quotient = x / scale
        return quotient.clamp(-448, 448).to(torch.float8_e4m3fn), scale

    def restore(self, pages):
        return tuple(codes.float() * scale for codes, scale in pages)

    def sidecar(self, pages):
        codes, scale = pages[0]
        clipped = scale.double() * 64  # the floor rule reaches 512 where the largest code is 448
        return {"key_box": codes.double().abs() * scale.double() * 2.0**-3 + clipped + 2.0**-120}


def test_a3_kind_a_flushed_scale_is_refuted_and_its_twin_is_not(flush_to_zero):
    bug, twin = wrap(Blocks(by_inverse=True), "bug"), wrap(Blocks(by_inverse=False), "twin")
    assert violation(bug, row(ROW_A3)) is not None
    restored = bug.restore(bug.compress(row(ROW_A3), row(ROW_A3)))[0].flatten()
    assert bool(restored[5:].isnan().all())  # 0 * inf
    assert violation(twin, row(ROW_A3)) is None
    ordinary = normal(torch.float32, (1, 2, 8, 32))
    assert violation(bug, ordinary) is None
    assert violation(twin, ordinary) is None


# A5: the store truncates toward zero where it must round.


def test_a5_row_has_the_reported_codes_and_error():
    scheme = scheme_named("int8")
    pages = scheme.compress(row(ROW_A5), row(ROW_A5))
    restored = scheme.restore(pages)[0].flatten()
    assert float(pages.keys.tiles.scale) == 1.0
    assert restored.tolist() == [1.0, -1.0, 2.0, -2.0, 127.0, 127.0]
    assert violation(scheme, row(ROW_A5)) is None
    errors = [abs(a - b) for a, b in zip(lift_tensor(ROW_A5).values, lift_tensor(restored).values, strict=True)]
    assert max(errors) == Fraction(1, 2)


def test_a5_truncation_is_refuted_on_the_row_with_error_0_9():
    found = violation(example("truncation"), row(ROW_A5))
    assert found is not None
    assert (found.index, found.restored) == ((0, 0, 0, 0), 0)
    assert found.original == lift_tensor(ROW_A5).values[0]
    assert found.radius < Fraction(51, 100)
    assert_replays(found)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a5_kind_truncation_is_refuted_at_any_scale_and_its_twin_is_not(dtype):
    bug, twin = wrap(Affine(round="truncate"), "bug"), wrap(Affine(), "twin")
    for reach in (0.875, 100.0, 2.0**14):
        found = exhaust_scheme(bug, dtype, reach).violation
        assert found is not None
        assert_replays(found)
        assert exhaust_scheme(twin, dtype, reach).violation is None


# A6: a constant channel makes max = min; the range is then 0, or is replaced by one whose inverse overflows fp16.

A6_CHANNELS = {
    "constant 100": [100.0] * 16,
    "constant 0": [0.0] * 16,
    "one 100.0625": [100.0] * 15 + [100.0625],
    "one -0.0": [0.0] * 15 + [-0.0],
}


@pytest.mark.parametrize("text", ["int8_channel:tokens=16", "int8_block:tokens=16", "int4_kivi", "int2_kivi"])
@pytest.mark.parametrize("scale", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("name", list(A6_CHANNELS))
def test_a6_degenerate_channels_come_back_within_the_stated_step(text, scale, name):
    options = f"{text}{',' if ':' in text else ':'}scale={scale}"
    options += ",group=16,residual=16" if "kivi" in text else ",symmetric=no"
    scheme = scheme_named(options)
    keys = channel(A6_CHANNELS[name]).half()
    pages = scheme.compress(keys, keys)
    assert pages.keys.tiles.shape[2] == 16
    assert violation(scheme, keys) is None
    box = scheme.sidecar(pages).key_box
    assert float(box.max()) < 0.022  # half of .0625 / 3, and one cast of 100 at most
    if name.startswith("constant"):
        assert torch.equal(scheme.restore(pages)[0], keys)


def test_a6_the_inverses_of_the_report_are_these_fp16_numbers():
    assert torch.tensor(255 / 0.001).half().item() == float("inf")
    assert torch.tensor(255 / 0.004).half().item() == 63744.0


@pytest.mark.parametrize("name", ["constant 100", "constant 0"])
def test_a6_kind_an_inverse_that_overflows_is_refuted_and_its_twin_is_not(name):
    keys = row(torch.tensor(A6_CHANNELS[name]))
    bug = wrap(Affine(range_floor=0.001, inverse_dtype=torch.float16), "bug")
    found = violation(bug, keys)
    assert found is not None
    assert not isinstance(found.restored, Fraction)
    for floor in (0.004, 1.0):
        assert violation(wrap(Affine(range_floor=floor, inverse_dtype=torch.float16), "twin"), keys) is None


def test_a6_kind_a_scale_of_zero_is_refuted_and_its_twin_is_not():
    keys = row(torch.full((16,), 100.0))
    bug, twin = wrap(Affine(least_scale=0.0), "bug"), wrap(Affine(), "twin")
    found = violation(bug, keys)
    assert found is not None
    assert violation(twin, keys) is None


def test_a6_kind_a_lost_constant_is_refuted():
    class Loses(Affine):
        def restore(self, pages):
            # 0 * code, and the offset is dropped where the scale says that there is nothing to add to.
            return tuple(torch.where(s > self.least_scale, c * s + low, 0.0) for c, s, low in pages["sides"])

    found = violation(wrap(Loses(), "bug"), row(torch.full((16,), 100.0)))
    assert found is not None
    assert (found.original, found.restored) == (100, 0)
    assert_replays(found)


# A7: groups run along tokens; flushed token by token, min = max in every group and nothing is quantized.

A7_KEYS = [float(t) for t in range(64)]


def streamed(scheme, keys, first):
    pages = scheme.compress(keys[:, :, :first], keys[:, :, :first])
    for token in keys[:, :, first:].split(1, 2):
        pages = scheme.append(pages, token, token)
    return pages


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a7_row_has_the_reported_error_one_shot_and_streamed(dtype):
    scheme = scheme_named("int2_kivi:group=32,residual=32,scale=fp32")
    keys = channel(A7_KEYS).to(dtype)
    whole, stream = scheme.compress(keys, keys), streamed(scheme, keys, 32)
    assert torch.equal(whole.keys.tiles.codes, stream.keys.tiles.codes)
    assert torch.equal(scheme.restore(whole)[0], scheme.restore(stream)[0])
    error = (scheme.restore(stream)[0].double() - keys.double()).abs()[0, 0, 32:]
    if dtype != torch.bfloat16:  # bf16 cannot hold 42.33 to better than 1/8
        assert round(float(error.max()), 4) == 5.0
    assert 4.9 < float(error.max()) < 5.17
    box = scheme.sidecar(stream).key_box[0, 0, 32:]
    assert float(box.min()) >= 31 / 6
    assert violation(scheme, keys) is None


def test_a7_bytes_are_those_of_two_bits():
    scheme = scheme_named("int2_kivi:group=32,residual=32,scale=fp16")
    keys = channel(A7_KEYS).half()
    pages = streamed(scheme, keys, 32)
    # 64 codes of one channel a token take a byte each row; two groups with scale and offset.
    assert pages.keys.num_bytes == 64 + 2 * (2 + 2)
    wide = normal(torch.float16, (1, 1, 64, 32))
    pages = streamed(scheme, wide, 32)
    assert pages.keys.num_bytes == 64 * 32 // 4 + 2 * 32 * (2 + 2)


def test_a7_kind_a_one_token_flush_is_refuted_by_chunks_by_bytes_and_by_no_change():
    bug = example("one_token_flush")
    keys = channel(A7_KEYS)
    whole, stream = bug.compress(keys, keys), streamed(bug, keys, 32)
    a, b = bug.restore(whole)[0], bug.restore(stream)[0]
    assert float((a - keys).abs()[0, 0, 32:].max()) > 4.9
    assert torch.equal(b[:, :, 32:], keys[:, :, 32:])  # the "2-bit" tokens are exact
    fields = {"left": lift_tensor(a).values, "right": lift_tensor(b).values}
    verdict = check_number(Instance("element_error", fields), Fraction(0)).verdict
    assert isinstance(verdict, Refuted)
    assert stream.num_bytes < tensor_bytes(stream.payload) // 8
    assert violation(bug, keys) is None  # its radius is right, which is why only these checks find it


def test_a7_kind_the_correct_twin_passes_the_same_checks():
    twin = scheme_named("int2_kivi:group=32,residual=32,scale=fp32")
    keys = channel(A7_KEYS)
    whole, stream = twin.compress(keys, keys), streamed(twin, keys, 32)
    fields = {
        "left": lift_tensor(twin.restore(whole)[0]).values,
        "right": lift_tensor(twin.restore(stream)[0]).values,
    }
    verdict = check_number(Instance("element_error", fields), Fraction(0)).verdict
    assert isinstance(verdict, Verified)
    assert stream.num_bytes == tensor_bytes(stream)
    assert not torch.equal(twin.restore(stream)[0][:, :, 32:], keys[:, :, 32:])


# The unsound examples: each is refuted by the check that its first line names.

RADIUS_EXAMPLES = ("truncation", "unrounded_scale", "saturation_ignored", "wrong_axis", "wrong_dtype", "tiled_heads")


@pytest.mark.parametrize("name", RADIUS_EXAMPLES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_examples_with_a_wrong_radius_are_refuted_exactly(name, dtype):
    found = violation(example(name), normal(dtype, (2, 3, 70, 16), 1, 4.0))
    assert found is not None
    assert_replays(found)


def test_m19_an_unrounded_scale_is_refuted_at_the_reported_row_and_the_stored_one_is_not():
    keys = row(torch.tensor([128.0542, 126.4999 * 1.0083008]))
    found = violation(example("unrounded_scale"), keys)
    assert found is not None
    assert found.index[-1] == 1
    stored, exact_step = Fraction(129, 128), Fraction(128.0542) / 127
    assert abs(found.original - found.restored) / exact_step > Fraction(56, 100)
    assert found.restored == 126 * stored
    assert violation(scheme_named("int8:scale=fp16,scale_rounding=nearest"), keys) is None


def test_example_in_place_is_refuted_against_the_callers_copy():
    scheme = example("in_place")
    keys = normal(torch.float16, (1, 2, 8, 16), 1)
    given = keys.clone()
    pages = scheme.compress(given, given.clone())
    assert not torch.equal(given, keys)
    assert first_violation(keys, scheme.restore(pages)[0], scheme.sidecar(pages).key_box) is not None
    assert first_violation(given, scheme.restore(pages)[0], scheme.sidecar(pages).key_box) is None


def test_example_nondeterministic_differs_between_two_reads():
    scheme = example("nondeterministic")
    keys = normal(torch.float16, (1, 2, 8, 16), 1)
    pages = scheme.compress(keys, keys)
    assert not torch.equal(scheme.restore(pages)[0], scheme.restore(pages)[0])
    assert violation(scheme, keys) is None


def test_example_batch_scale_depends_on_the_other_request():
    scheme = example("batch_scale")
    keys = normal(torch.float16, (2, 2, 8, 16), 1)
    keys[1] *= 100
    alone = scheme.restore(scheme.compress(keys[:1].clone(), keys[:1].clone()))[0]
    batched = scheme.restore(scheme.compress(keys.clone(), keys.clone()))[0]
    assert not torch.equal(alone[0], batched[0])
    assert violation(scheme, keys) is None


def test_example_tiled_heads_is_right_where_hkv_is_one_or_two():
    scheme = example("tiled_heads")
    for heads in (1, 2):
        assert violation(scheme, normal(torch.float16, (2, heads, 8, 16), 1)) is None
