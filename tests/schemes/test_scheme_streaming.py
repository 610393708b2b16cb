"""One shot = streamed in any split, a row alone = the row in a batch, a view = its copy; nothing is coded twice."""

import pytest
import torch

from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.size import tensor_bytes
from tests.schemes.scheme_inputs import DTYPES, SMALL, TOKENS, normal

NAMES = [f"{name}:{options}" if options else name for name, options in SMALL.items()]
SPLITS = ([TOKENS], [1] * TOKENS, [0, 7, 0, 33], [8, 8, 24], [32, *[1] * 8], [39, 1], [9, 15, 16])


def stored(pages):
    """Every stored tensor of a page, in order."""
    found = []
    for side in (pages.keys, pages.values):
        tensors = (side,) if isinstance(side, torch.Tensor) else (*_tiles(side.tiles), side.residual)
        found.extend(tensors)
    return found


def _tiles(tiles):
    return tuple(t for t in (tiles.codes, tiles.scale, tiles.offset, tiles.excess, tiles.poison) if t is not None)


def assert_same(pages, others):
    assert len(stored(pages)) == len(stored(others))
    for a, b in zip(stored(pages), stored(others), strict=True):
        assert a.dtype == b.dtype
        assert torch.equal(a, b) or bool((a == b)[~a.isnan()].all())


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("text", NAMES)
def test_streamed_pages_equal_one_shot_pages(text, split):
    scheme = scheme_named(text)
    keys, values = normal(torch.float16, seed=1), normal(torch.float16, seed=2)
    pages = None
    for k, v in zip(keys.split(split, 2), values.split(split, 2), strict=True):
        pages = scheme.compress(k, v) if pages is None else scheme.append(pages, k, v)
    whole = scheme.compress(keys, values)
    assert_same(pages, whole)
    assert (pages.seq_len, pages.num_bytes) == (TOKENS, whole.num_bytes)


@pytest.mark.parametrize(
    "text", ["int8:scale=bf16,symmetric=no,scale_rounding=nearest", "fp8_e4m3fn:key_scale=0.0009765625"]
)
def test_streaming_joins_excesses_and_poison_of_some_chunks_only(text):
    scheme = scheme_named(text)
    keys = normal(torch.float32, seed=3)
    keys[:, :, 20:] *= 100
    keys[0, 0, 5, 0] = torch.nan
    pages = scheme.compress(keys[:, :, :10], keys[:, :, :10])
    for start in (10, 20, 30):
        pages = scheme.append(pages, keys[:, :, start : start + 10], keys[:, :, start : start + 10])
    assert_same(pages, scheme.compress(keys, keys))


@pytest.mark.parametrize("text", NAMES)
def test_append_leaves_the_old_pages_and_the_inputs_as_they_were(text):
    scheme = scheme_named(text)
    keys = normal(torch.float32)
    before = keys.clone()
    old = scheme.compress(keys[:, :, :20], keys[:, :, :20])
    first = [t.clone() for t in scheme.restore(old)]
    scheme.append(old, keys[:, :, 20:], keys[:, :, 20:])
    assert all(torch.equal(a, b) for a, b in zip(first, scheme.restore(old), strict=True))
    assert torch.equal(keys, before)


@pytest.mark.parametrize("text", NAMES)
def test_pages_do_not_change_when_the_caller_overwrites_its_tensors(text):
    scheme = scheme_named(text)
    keys, values = normal(torch.float16, seed=1), normal(torch.float16, seed=2)
    pages = scheme.compress(keys, values)
    first = [t.clone() for t in scheme.restore(pages)]
    keys.zero_()
    values.zero_()
    assert all(torch.equal(a, b) for a, b in zip(first, scheme.restore(pages), strict=True))


@pytest.mark.parametrize("text", NAMES)
def test_restored_tensors_do_not_share_memory_with_pages(text):
    scheme = scheme_named(text)
    keys = normal(torch.float16)
    pages = scheme.compress(keys, keys)
    restored = scheme.restore(pages)
    first = [t.clone() for t in restored]
    for tensor in restored:
        tensor.zero_()
    assert all(torch.equal(a, b) for a, b in zip(first, scheme.restore(pages), strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", NAMES)
def test_a_row_alone_equals_the_row_in_a_batch_and_a_head_alone_the_head(text, dtype):
    scheme = scheme_named(text)
    keys = normal(dtype, (3, 3, TOKENS, 8))
    keys[1] *= 1000
    whole = scheme.restore(scheme.compress(keys, keys))
    for b in range(3):
        alone = scheme.restore(scheme.compress(keys[b : b + 1], keys[b : b + 1]))
        assert torch.equal(alone[0][0], whole[0][b])
        assert torch.equal(alone[1][0], whole[1][b])
        head = scheme.restore(scheme.compress(keys[:, b : b + 1], keys[:, b : b + 1]))
        assert torch.equal(head[0][:, 0], whole[0][:, b])


@pytest.mark.parametrize("text", NAMES)
def test_a_strided_view_equals_its_copy(text):
    scheme = scheme_named(text)
    base = normal(torch.float16, (2, TOKENS, 3, 16))
    view = base.transpose(1, 2)[..., ::2]
    assert not view.is_contiguous()
    assert_same(scheme.compress(view, view), scheme.compress(view.contiguous(), view.contiguous()))


@pytest.mark.parametrize("text", NAMES)
def test_no_token_group_looks_outside_itself(text):
    """Poison with NaN and 1e30 one group of tokens: no number outside the group moves."""
    scheme = scheme_named(text)
    group = scheme.declaration.group_tokens
    keys = normal(torch.float32)
    clean = scheme.restore(scheme.compress(keys, keys))
    for value in (torch.nan, 1e30):
        dirty = keys.clone()
        dirty[:, :, group : 2 * group] = value
        dirty[1] = value
        came = scheme.restore(scheme.compress(dirty, dirty))
        for a, b in zip(clean, came, strict=True):
            assert torch.equal(a[0, :, :group], b[0, :, :group])
            assert torch.equal(a[0, :, 2 * group :], b[0, :, 2 * group :])


@pytest.mark.parametrize("text", NAMES)
def test_empty_pages_hold_nothing(text):
    scheme = scheme_named(text)
    empty = torch.zeros(2, 2, 0, 8)
    pages = scheme.compress(empty, empty)
    assert (pages.seq_len, pages.num_bytes) == (0, 0)
    assert scheme.restore(pages)[0].shape == empty.shape
    assert scheme.sidecar(pages).key_norm.shape == (2, 2, 0)


@pytest.mark.parametrize("text", [n for n in NAMES if n != "identity"])
def test_something_is_lost_and_something_is_saved(text):
    scheme = scheme_named(text)
    keys = normal(torch.float16, (1, 2, 256, 64))
    pages = scheme.compress(keys, keys)
    assert not torch.equal(scheme.restore(pages)[0], keys)
    assert not torch.equal(scheme.restore(pages)[1], keys)
    assert pages.num_bytes < 2 * keys.numel() * 2
    assert pages.num_bytes == tensor_bytes(pages)


def test_append_refuses_other_sizes_and_dtypes():
    scheme = scheme_named("int8")
    keys = normal(torch.float16)
    pages = scheme.compress(keys, keys)
    with pytest.raises(ValueError, match=r"keys: expected the dtype of the pages, torch\.float16, got torch\.float32"):
        scheme.append(pages, keys.float(), keys.float())
    with pytest.raises(ValueError, match="keys: expected the sizes of the pages"):
        scheme.append(pages, keys[..., :4], keys[..., :4])
