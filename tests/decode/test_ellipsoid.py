"""Ellipsoid algebra against points drawn from the sets."""

from __future__ import annotations

import pytest
import torch
from flint import arb

from proofkv_verify.decode.attention_half import exp_minus_linear
from proofkv_verify.decode.ellipsoid import (
    combine,
    gram_norm_upper,
    image,
    product_upper,
    rank_one,
    root,
    row_norms,
    spectral_upper,
    support,
)
from proofkv_verify.decode.maps import norm_jacobian, silu_parts
from proofkv_verify.decode.norm_half import norm_half
from proofkv_verify.decode.silu_range import FOURTH, SECOND, THIRD, derivatives, largest_derivatives

F64 = torch.float64


def matrix(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def psd(seed: int, size: int = 6, rank: int = 6) -> torch.Tensor:
    a = matrix(seed, size, rank)
    return a @ a.T


def points(p: torch.Tensor, seed: int, count: int = 200) -> torch.Tensor:
    z = matrix(seed, count, len(p))
    values, vectors = torch.linalg.eigh(p)
    half = vectors * values.clamp_min(0).sqrt()
    return (z / z.norm(dim=1, keepdim=True)) @ half.T


def depths(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (torch.linalg.solve(p, x.T).T * x).sum(1)


def test_combine_contains_aligned_and_random_sums() -> None:
    a, b, c = psd(1), psd(2, rank=2), rank_one(matrix(3, 6))
    total = combine([a, b, c, torch.zeros(6, 6, dtype=F64)])
    for direction in matrix(4, 100, 6):
        worst = sum(p @ direction / (direction @ p @ direction).sqrt() for p in (a, b, c))
        assert direction @ worst <= support(total, direction[None])[0]
    assert (depths(total, points(a, 5) + points(b, 6) + points(c, 7)) <= 1).all()


def test_combine_with_a_metric_contains_the_same_sums() -> None:
    a, b = psd(1), psd(2)
    w = matrix(8, 9, 6)
    total = combine([a[None], b[None]], (w.T @ w)[None])[0]
    assert (depths(total, points(a, 5) + points(b, 6)) <= 1).all()


def test_combine_of_one_part_is_that_part_up_to_slack() -> None:
    a = psd(1)
    assert (combine([a]) - a).abs().max() <= 1e-8 * a.trace()


def test_image_root_and_support_contain_the_mapped_points() -> None:
    p, a = psd(1), matrix(2, 4, 6)
    assert (depths(image(a, p), points(p, 3) @ a.T) <= 1).all()
    b = root(p)
    assert torch.linalg.eigvalsh(b @ b.T - p).min() > -1e-12
    rows = matrix(4, 50, 6)
    assert ((rows @ points(p, 5).T).abs().amax(1) <= support(p, rows)).all()


def test_root_of_the_point_is_zero_and_of_no_psd_matrix_is_nan() -> None:
    assert not root(torch.zeros(3, 3, dtype=F64)).any()
    assert root(torch.diag(torch.tensor([1.0, -1.0], dtype=F64))).isnan().all()


def test_spectral_upper_is_above_every_eigenvalue_and_within_the_eighth_or_fourth_root_of_the_size() -> None:
    for scale in (1.0, 1e-60, 1e80):
        s = matrix(1, 20, 9, 9) * scale
        s = s + s.mT
        exact = torch.linalg.eigvalsh(s).abs().amax(-1)
        for upper, power in ((spectral_upper(s), 8), (spectral_upper(s, squarings=1), 4)):
            assert (upper >= exact).all()
            assert (upper <= exact * 9 ** (1 / power) * (1 + 1e-6)).all()
    assert not spectral_upper(torch.zeros(2, 4, 4, dtype=F64)).any()


def test_gram_norm_upper_is_above_the_singular_values() -> None:
    for shape in ((5, 3, 8), (5, 8, 3)):
        a = matrix(2, *shape)
        assert (gram_norm_upper(a) >= torch.linalg.matrix_norm(a, 2)).all()


def largest_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The largest |(a z).(b z)| over |z| <= 1."""
    s = a.mT @ b
    return torch.linalg.eigvalsh((s + s.mT) / 2).abs().amax(-1)


def test_product_upper_is_above_the_largest_product_and_within_the_fourth_root_of_the_size() -> None:
    for shape in ((20, 3, 8), (20, 8, 5), (20, 1, 6)):
        a, b = matrix(1, *shape), matrix(2, *shape)
        for scale in (1.0, 1e-40, 1e40):
            exact, upper = largest_product(a, b) * scale, product_upper(a * scale, b)
            assert (upper >= exact).all()
            assert (upper <= exact * (2 * shape[1]) ** (1 / 4) * (1 + 1e-3)).all()
            assert scale != 1 or (upper / 2 < exact).all()
    zero = torch.zeros(2, 3, 4, dtype=F64)
    assert not product_upper(zero, matrix(1, 2, 3, 4)).any()
    assert product_upper(zero, zero * torch.nan).isnan().all()


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-4, 1e-5, 1e-6])
def test_product_upper_is_above_products_that_nearly_cancel(size: float) -> None:
    """b a quarter turn of a but for a little: the product nearly vanishes, and the powers of its matrix do."""
    for half in (2, 4):
        turn = torch.kron(torch.eye(half, dtype=F64), torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=F64))
        a, little = matrix(1, 10, 2 * half, 12), matrix(2, 10, 2 * half, 1) * matrix(3, 10, 1, 12)
        b = turn @ a + size * little
        assert (product_upper(a, b) >= largest_product(a, b)).all()


def test_row_norms_round_up() -> None:
    x = matrix(3, 100, 7)
    assert (row_norms(x).square() > x.square().sum(-1)).all()


def test_exp_minus_linear_is_above_the_exact_value() -> None:
    for x in [0.0, 1e-12, 1e-6, 1e-3, 0.0099999, 0.01, 0.3, 2.0, 8.0]:
        bound = float(exp_minus_linear(torch.tensor([x], dtype=F64))[0])
        exact = arb(x).exp() - 1 - arb(x)
        assert bool(arb(bound) >= exact.lower())
        assert bound <= float(exact.upper()) * (1 + 1e-6) + 1e-30


def test_norm_bound_contains_the_change_of_rmsnorm_over_the_ellipsoid() -> None:
    for seed, size in ((1, 0.01), (2, 0.1), (3, 0.3)):
        x = matrix(seed, 6) * 2
        rho = float((x @ x / 6 + 1e-5).sqrt())
        p = psd(seed + 10) * size**2 / 6
        bound = norm_half(x, rho, p)
        if bound.failed:
            continue
        for delta in points(p, seed + 20, 400):
            moved = x + delta
            change = moved / (moved @ moved / 6 + 1e-5).sqrt() - x / rho
            rest = change - norm_jacobian(x, rho) @ delta
            assert depths(bound.out, change[None])[0] <= 1
            rows = matrix(seed + 30, 8, 6)
            assert ((rows @ rest).abs() <= bound.support(rows) + 1e-14).all()


def test_norm_bound_fails_when_the_norm_could_vanish() -> None:
    x = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=F64)
    rho = float((x @ x / 4 + 1e-5).sqrt())
    assert norm_half(x, rho, torch.eye(4, dtype=F64)).failed
    assert norm_half(x, rho, torch.full((4, 4), torch.nan, dtype=F64)).failed


def test_silu_constants_bound_the_derivatives() -> None:
    u = torch.linspace(-30, 30, 400001, dtype=F64)
    second, third = derivatives(u)
    assert (silu_parts(u)[2] - second).abs().max() < 1e-14
    assert (second.diff() / u.diff() - (third[1:] + third[:-1]) / 2).abs().max() < 1e-6
    assert second.abs().max() <= SECOND
    assert 0.308 < third.abs().max() < THIRD
    assert 0.49 < (third.diff() / u.diff()).abs().max() < FOURTH


def test_largest_derivatives_are_above_a_fine_sample_of_the_interval_and_close_to_it() -> None:
    generator = torch.Generator().manual_seed(0)
    centre = torch.randn(300, generator=generator, dtype=F64) * 4
    reach = torch.rand(300, generator=generator, dtype=F64) ** 3 * 3
    sample = centre[:, None] + reach[:, None] * torch.linspace(-1, 1, 2001, dtype=F64)
    for bound, exact in zip(largest_derivatives(centre, reach), derivatives(sample), strict=True):
        assert (bound >= exact.abs().amax(1)).all()
        assert (bound <= exact.abs().amax(1) + 0.01).all()


def test_largest_derivatives_of_an_unbounded_interval_are_the_global_ones() -> None:
    bad = torch.tensor([torch.inf, torch.nan], dtype=F64)
    second, third = largest_derivatives(torch.zeros(2, dtype=F64), bad)
    assert (second == SECOND).all()
    assert (third >= 0.308).all()
