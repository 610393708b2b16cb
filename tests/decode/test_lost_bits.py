"""What rounding may lose: numbers too small for float32, coarser products, terms that cancel; each with a witness."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import adjoint, ellipsoid, mlp_half
from proofkv_verify.decode.ellipsoid import product_upper, single_precision, spectral_upper
from proofkv_verify.decode.mlp_half import MlpBound
from proofkv_verify.decode.norm_half import norm_half
from tests.decode.half import mutated
from tests.decode.test_ellipsoid import matrix, psd
from tests.decode.test_neurons import bound_of

F64 = torch.float64


def largest_bend(bound: MlpBound, w: Tensor) -> Tensor:
    """What `_bent` bounds, by eigenvalues of each direction's own forms in float64 `[R]`."""
    found = []
    for row in w / w.abs().amax(-1, keepdim=True):
        first = (bound.gate.T * row) @ bound.product
        square = (bound.gate.T * (row.abs() * bound.theta)) @ bound.gate
        forms = torch.stack([square + first, square - first])
        found.append(torch.linalg.eigvalsh((forms + forms.mT) / 2).abs().max())
    return torch.stack(found) * w.abs().amax(-1)


@pytest.mark.parametrize("size", [1e-18, 1e-21, 1e-24, 1e-28])
def test_a_direction_far_smaller_than_the_others_has_its_whole_bend(size: float) -> None:
    """In float32 its form is far below that of the other direction, and the squares of its entries are 0."""
    bound = bound_of(matrix(1, 24, 16), matrix(2, 24, 16), matrix(3, 24).abs())
    w = matrix(4, 2, 24) * torch.tensor([[1.0], [size]], dtype=F64)
    assert (adjoint._bent(bound, w) >= largest_bend(bound, w)).all()
    assert (adjoint._bent(bound, w) <= largest_bend(bound, w) * 1.4).all()


def crossed_neurons(size: float) -> MlpBound:
    """Two neurons, the gate of one and the product of the other nearly 0, along one coordinate."""
    gate = torch.tensor([[1.0, 0.0], [size, 0.0]], dtype=F64)
    return bound_of(gate, gate.flip(0), torch.tensor([size, 1.0], dtype=F64))


def least_excess(found: ModuleType, bound: MlpBound) -> float:
    """How far the Gram sums lie above the exact ones, relative to the largest entry of those."""
    u, w, got = bound.gate, bound.product, found._grams(bound)
    mixed = u @ w.T
    exact = ((u @ u.T) * (w @ w.T) + mixed * mixed.T) / 2
    return float(torch.linalg.eigvalsh(got.inner * (got.scale / exact.max()) - exact / exact.max()).min())


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e-19, 1e-23, 1e-30])
def test_gram_sums_hold_neurons_whose_products_are_below_the_range_of_float32(size: float) -> None:
    assert least_excess(mlp_half, crossed_neurons(size)) >= 0
    whole = crossed_neurons(size)
    assert mlp_half._grams(whole).third >= ((whole.gate.T * whole.theta) @ whole.gate)[0, 0]


def test_gram_sums_without_their_smallest_size_are_noticed() -> None:
    bare = mutated(mlp_half, "(wide / tops[1]) + 1e-14", "(wide / tops[1]) + 1e-30")
    assert least_excess(bare, crossed_neurons(1e-23)) < 0


def equal_neurons() -> MlpBound:
    """Neurons whose scaled entries, 58^(-1/2), are rounded down by bfloat16."""
    rows = torch.ones(20, 58, dtype=F64)
    return bound_of(rows, rows, torch.zeros(20, dtype=F64))


def share(bound: MlpBound) -> float:
    """The Gram sums along equal weights, relative to the exact ones."""
    one, u = torch.ones(len(bound.gate), dtype=F64), bound.gate
    got = mlp_half._grams(bound)
    return float(one @ got.inner @ one * got.scale / (one @ (u @ u.T).square() @ one))


def test_under_autocast_no_product_is_taken_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    assert single_precision() == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert single_precision() == torch.float64
        assert 1 <= share(equal_neurons()) < 1 + 1e-3
        monkeypatch.setattr(mlp_half, "single_precision", lambda: torch.float32)
        assert share(equal_neurons()) < 0.99


def test_a_precision_set_by_backend_is_taken_as_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch then refuses to say what the precision of products is."""

    def refused() -> str:
        raise RuntimeError("mix of the legacy and new APIs")

    monkeypatch.setattr(torch, "get_float32_matmul_precision", refused)
    assert single_precision() == torch.float64


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1.0, 1e25])
@pytest.mark.parametrize("squarings", [1, 2])
def test_spectral_upper_of_float32_numbers_is_above_every_eigenvalue_at_any_scale(scale: float, squarings: int) -> None:
    for seed, rank in ((1, 1), (2, 2), (3, 40)):
        s = (psd(seed, 40, rank) - psd(seed + 9, 40, rank)) * scale
        single = s.float()
        exact = torch.linalg.eigvalsh(single.double() / scale).abs().max() * scale
        assert exact <= spectral_upper(single, squarings) <= exact * 40 ** (0.5**squarings / 2) * 1.05


@pytest.mark.parametrize("little", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("size", [2, 4, 16])
def test_product_upper_is_above_what_a_quarter_turn_leaves(little: float, size: int) -> None:
    """b = J a + t a for a turn a and J' = -J: the products (a z).(b z) are t |z|^2 and all else cancels."""
    a = torch.linalg.qr(matrix(size, size, size))[0]
    turn = torch.kron(torch.eye(size // 2, dtype=F64), torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=F64))
    found = float(product_upper(a, turn @ a + little * a))
    assert little * (1 - 1e-12) <= found <= little * size**0.5 + 3e-3


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1e3])
def test_an_image_behind_the_residual_that_cancels_stays_outside(size: float) -> None:
    """M = -rho leaves x x' / (d rho^2) of I + M J; M P and M P M' are far larger than the image."""
    x = matrix(5, 12)
    rho = float((x @ x / 12 + 1e-5).sqrt())
    p = psd(6, 12, 3) * (1e-3 * size) ** 2
    bound = norm_half(x * size, rho * size, p)
    kept = torch.outer(x, x) / (12 * rho**2)
    exact = kept @ (p / size**2) @ kept.T
    whole = bound.behind_residual(-rho * size * torch.eye(12, dtype=F64))[0] / size**2
    assert torch.linalg.eigvalsh(whole - exact).min() >= 0
    assert whole.trace() <= exact.trace() + 12 * 1e-8 * p.trace() / size**2


def test_forms_of_a_norm_that_is_lost_are_noticed() -> None:
    """With float32 norms, as at first, the bound of a small form is 0."""
    mistaken = mutated(ellipsoid, "dim=-1, dtype=torch.float64)", "dim=-1).double()")
    s = torch.full((3, 3), 1e-24)
    assert mistaken.spectral_upper(s) < 3e-24 * 0.9 <= spectral_upper(s)
