"""Pages: nested codes, radii that hold, bytes counted by hand, contradictions refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Pages, Scheme, compress, half_up, parse_scheme, spectral_norm_upper
from proofkv_verify.errors import InvalidInputError

LAYERS, HEADS, PAGES, SIZE, DIM = 2, 2, 3, 16, 8


def rows(seed: int = 0, scale: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (2, LAYERS, HEADS, PAGES, SIZE, DIM)
    return (torch.randn(shape, generator=generator) * scale).half().double()


def opened(scheme: Scheme, seed: int = 0) -> Opened:
    paged = rows(seed)
    return Opened(compress(paged, scheme), scheme, paged[:, :, :, 0, :5])


def assert_inside(found: Opened, truth: torch.Tensor) -> None:
    for layer in range(LAYERS):
        known, cache = found.sets(layer), found.cache(layer)
        for kind, restored, norm, box, sigma in (
            (0, cache.keys, known.key_norm, known.key_box, known.key_sigma),
            (1, cache.values, known.value_norm, known.value_box[..., None], known.value_sigma),
        ):
            error = truth[kind, layer].flatten(1, 2) - restored[:, : PAGES * SIZE]
            inside = slice(0, PAGES * SIZE)
            assert (error.abs() <= box[:, inside]).all()
            assert (error.norm(dim=-1) <= norm[:, inside]).all()
            assert (torch.linalg.matrix_norm(error.unflatten(1, (PAGES, SIZE)), 2) <= sigma).all()


@pytest.mark.parametrize("levels", [(4, 8, 16), (3, 5, 6, 7, 12, 15), (1, 2, 16), (16,), (8,)])
def test_every_sidecar_contains_the_error_at_every_level(levels: tuple[int, ...]) -> None:
    found = opened(Scheme(levels))
    assert_inside(found, rows())
    for level in found.scheme.ladder[1:]:
        found.refine(torch.full_like(found.levels, level))
        assert_inside(found, rows())


def test_the_last_rung_restores_the_rows_exactly() -> None:
    found = opened(Scheme((4, 8)))
    found.refine(torch.full_like(found.levels, 16))
    assert torch.equal(found.restored, rows())
    assert not found.sets(0).key_norm.any()


def test_refining_by_planes_equals_opening_at_the_finer_level() -> None:
    stepwise, at_once = opened(Scheme((3, 7, 11, 16))), opened(Scheme((11, 16)))
    for level in (7, 11):
        stepwise.refine(torch.full_like(stepwise.levels, level))
    assert torch.equal(stepwise.codes, at_once.codes)
    assert torch.equal(stepwise.restored, at_once.restored)


def test_bits_read_are_counted_by_hand() -> None:
    found = opened(Scheme((4, 8, 16)))
    units, elements = 2 * LAYERS * HEADS * PAGES, SIZE * DIM
    per_level = 16 * (SIZE + 1)
    scales = LAYERS * HEADS * PAGES * 32 * (DIM + SIZE)
    assert (found.payload_bits, found.sidecar_bits) == (units * 4 * elements, units * per_level + scales)
    wanted = found.levels.clone()
    wanted[0, 0, 0, 0], wanted[1, 1, 1, 2] = 8, 16
    assert found.refine(wanted) == 2
    assert found.payload_bits == units * 4 * elements + 4 * elements + 16 * elements
    assert found.sidecar_bits == units * per_level + scales + per_level
    found.begin_step(keep_levels=True)
    tail = 2 * LAYERS * HEADS * 5 * DIM
    assert found.payload_bits == ((units - 2) * 4 + 8 + 16) * elements + 16 * tail
    found.begin_step(keep_levels=False)
    assert found.payload_bits == units * 4 * elements + 16 * tail


def test_a_page_closes_when_its_last_row_is_appended_and_equals_a_page_compressed_at_once() -> None:
    scheme, whole = Scheme((4, 8, 16)), rows()
    found = Opened(compress(whole[:, :, :, :2], scheme), scheme, whole[:, :, :, 2, :0])
    for row in range(SIZE):
        assert found.levels.shape[3] == 2
        found.append(whole[:, :, :, 2, row])
    at_once = Opened(compress(whole, scheme), scheme, whole[:, :, :, 0, :0])
    assert torch.equal(found.restored, at_once.restored)
    assert torch.equal(found.pages.norms, at_once.pages.norms)


def test_a_cache_without_a_full_page_is_exact() -> None:
    empty = rows()[:, :, :, :0]
    found = Opened(compress(empty, Scheme()), Scheme(), rows()[:, :, :, 0, :7])
    assert torch.equal(found.cache(1).keys, rows()[0, 1, :, 0, :7])
    assert not found.sets(1).key_norm.any()
    assert found.payload_bits == 0


def test_a_constant_channel_restores_exactly() -> None:
    flat = rows()
    flat[0, :, :, :, :, 2] = 1.5
    found = Opened(compress(flat, Scheme((3, 16))), Scheme((3, 16)), flat[:, :, :, 0, :0])
    assert torch.equal(found.restored[0, ..., 2], flat[0, ..., 2])


@pytest.mark.parametrize(
    ("kind", "name"), [(0, "keys of layer 1, KV head 0, page 2"), (1, "values of layer 0, KV head 1, page 0")]
)
def test_a_sidecar_that_its_page_contradicts_is_an_error_that_names_the_page(kind: int, name: str) -> None:
    scheme = Scheme((4, 8, 16))
    pages = compress(rows(), scheme)
    norms = pages.norms.clone()
    at = (kind, 1, 0, 2) if kind == 0 else (kind, 0, 1, 0)
    norms[(slice(None), *at)] = 1e-6
    found = Opened(replace(pages, norms=norms), scheme, rows()[:, :, :, 0, :0])
    with pytest.raises(InvalidInputError, match=name):
        found.refine(torch.full_like(found.levels, 8))


@pytest.mark.parametrize("bad", [float("nan"), -1.0, float("inf")])
def test_a_sidecar_that_is_no_radius_is_refused_at_once(bad: float) -> None:
    pages = compress(rows(), Scheme())
    norms = pages.norms.clone()
    norms[0, 0, 0, 0, 0, 3] = bad
    with pytest.raises(InvalidInputError, match="keys of layer 0, KV head 0, page 0"):
        Opened(
            Pages(pages.planes, pages.zero, pages.width, norms, pages.sigmas, pages.rows),
            Scheme(),
            rows()[:, :, :, 0, :0],
        )


def test_half_up_is_the_least_float16_not_below() -> None:
    x = torch.tensor([0.0, 0.10005, 1.0, 1.0 + 2.0**-11, 1e-9, 65504.0], dtype=torch.float64)
    up = half_up(x)
    assert (up >= x).all()
    below = torch.nextafter(up.half(), torch.tensor(-torch.inf, dtype=torch.float16)).double()
    assert (below < x).all()
    with pytest.raises(InvalidInputError, match="float16"):
        half_up(torch.tensor([65505.0], dtype=torch.float64))


def test_spectral_norm_upper_is_tight_and_not_below_the_singular_value() -> None:
    generator = torch.Generator().manual_seed(3)
    for shape in ((5, 16, 8), (5, 8, 16), (5, 1, 7)):
        matrices = torch.randn(shape, generator=generator, dtype=torch.float64)
        exact = torch.linalg.matrix_norm(matrices, 2)
        upper = spectral_norm_upper(matrices)
        assert (upper >= exact).all()
        assert (upper <= exact * (1 + 1e-6)).all()


@pytest.mark.parametrize("text", ["8:4", "0:8", "4:17", "four", "", "4:4", "int"])
def test_a_ladder_that_does_not_increase_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"ladder|scheme"):
        parse_scheme(text)


def test_schemes_parse() -> None:
    assert parse_scheme("4:8:16").levels == (4, 8, 16)
    assert parse_scheme("int8").ladder == (8, 16)
    with pytest.raises(InvalidInputError, match="page size"):
        parse_scheme("int8", 0)


@pytest.mark.parametrize("bad", [4096.0, float("nan"), float("inf")])
def test_rows_that_cannot_be_restored_exactly_are_refused(bad: float) -> None:
    wrong = rows()
    wrong[0, 0, 0, 0, 0, 0] = bad
    with pytest.raises(InvalidInputError, match="cache row"):
        compress(wrong, Scheme())
