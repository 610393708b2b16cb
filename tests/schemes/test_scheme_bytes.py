"""Byte counts of pages against counts by hand: codes, scales, offsets, excesses, residual."""

import pytest
import torch

from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.size import tensor_bytes
from proofkv_verify.schemes.user import wrap
from tests.schemes.scheme_inputs import normal

B, H, T, D = 2, 3, 150, 64
ELEMENTS = B * H * T * D
ROWS = B * H * T


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("identity", 2 * ELEMENTS * 2),
        # one byte an element, one scale a token
        ("int8", 2 * (ELEMENTS + ROWS * 4)),
        ("int8:scale=fp16", 2 * (ELEMENTS + ROWS * 2)),
        ("int8:scale=bf16,symmetric=no", 2 * (ELEMENTS + ROWS * 2 * 2)),
        # int8 with one fp16 scale a 32 channels: 64 + 4 bytes a token and head
        ("int8:scale=fp16,group=32", 2 * ROWS * (64 + 2 * 2)),
        # 128 tokens coded in two runs of 64, 22 tokens of fp16 left over
        ("int8_channel", 2 * B * H * (128 * D + 2 * D * 4 + 22 * D * 2)),
        # 144 tokens coded in nine runs, two tiles of 32 channels each, 6 left over
        ("int8_block:scale=fp16", 2 * B * H * (144 * D + 9 * 2 * 2 + 6 * D * 2)),
        # keys: 128 coded, 4 groups of 32 tokens x 64 channels with scale and offset, 22 left;
        # values: 118 coded, 2 groups a token, 32 in the window
        (
            "int4_kivi",
            B * H * (128 * D // 2 + 4 * D * 4 + 22 * D * 2) + B * H * (118 * D // 2 + 118 * 2 * 4 + 32 * D * 2),
        ),
        (
            "int2_kivi:scale=fp32,residual=64",
            B * H * (128 * D // 4 + 4 * D * 8 + 22 * D * 2) + B * H * (86 * D // 4 + 86 * 2 * 8 + 64 * D * 2),
        ),
        ("fp8_e4m3fn", 2 * (ELEMENTS + ROWS * 4)),
        ("fp8_e5m2:scale=fp16,key_scale=1,value_scale=0.5/1/2", 2 * ELEMENTS + 2 + 3 * 2),
    ],
)
def test_page_bytes_equal_a_count_by_hand(text, expected):
    keys = normal(torch.float16, (B, H, T, D))
    pages = scheme_named(text).compress(keys, keys)
    assert pages.num_bytes == expected
    assert tensor_bytes(pages) == expected


def test_saturated_groups_and_poisoned_elements_are_paid_for():
    keys = normal(torch.float16, (1, 1, 4, 8))
    scheme = scheme_named("fp8_e4m3fn:key_scale=0.0009765625,value_scale=1")
    keys[0, 0, 0, 0] = torch.nan
    pages = scheme.compress(keys, keys)
    assert pages.keys.num_bytes == 32 + 4 + 4 * 4 + 32  # codes, one scale, an excess a token, a mask
    assert pages.values.num_bytes == 32 + 4 + 32


def test_packed_widths_that_do_not_fill_a_byte_are_padded():
    keys = normal(torch.float16, (1, 1, 8, 5))
    pages = scheme_named("int2_kivi:group=8,residual=8,scale=fp16").compress(keys, keys)
    assert pages.keys.num_bytes == 8 * 2 + 5 * 4


def test_tensor_bytes_counts_shared_and_expanded_tensors_once():
    x = torch.zeros(4, 8, dtype=torch.float16)
    assert tensor_bytes({"a": x, "b": [x, (x,)]}) == 64
    assert tensor_bytes(x[:1].expand(100, 8)) == 16
    assert tensor_bytes(x[:, :2]) == 16
    assert tensor_bytes({"no": "tensor"}) is None


def test_a_stated_size_is_kept_and_the_measured_witness_is_added():
    class Stated:
        num_bytes = 7

        def __init__(self, keys, values):
            self.pair = (keys, values)

    class Measured:
        def compress(self, keys, values):
            return Stated(keys, values)

        def restore(self, pages):
            return pages.pair

    keys = normal(torch.float16, (1, 2, 20, 8))
    pages = wrap(Measured(), "measured").compress(keys, keys)
    # fp32: boxes of 2 pages x 8 channels, 4 bands and a norm a token for keys; a box and a norm for values
    assert pages.num_bytes == 7 + 4 * 2 * (2 * 8 + 20 * 4 + 20 + 2 * 8 + 20)
    assert tensor_bytes(pages.payload) == 2 * 2 * 20 * 8 if pages.payload.pair[0] is not keys else 2 * 20 * 8 * 2
