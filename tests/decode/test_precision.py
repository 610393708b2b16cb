"""Single precision: products that are rounded more coarsely are not taken, and rounding never goes below a bound."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import adjoint, ellipsoid, mlp_half
from proofkv_verify.decode.ellipsoid import single_precision
from tests.decode.half import mutated
from tests.decode.test_ellipsoid import largest_product, matrix
from tests.decode.test_neurons import bent_faults, bound_of, gram_faults

F64 = torch.float64


@pytest.fixture(params=["high", "medium", "autocast"])
def coarse(request: pytest.FixtureRequest) -> Iterator[None]:
    """Float32 products may be computed in tf32 or bfloat16 during one test."""
    before = torch.get_float32_matmul_precision()
    if request.param != "autocast":
        torch.set_float32_matmul_precision(request.param)
    with torch.autocast("cpu", torch.bfloat16, enabled=request.param == "autocast"):
        yield
    torch.set_float32_matmul_precision(before)


def gram_error() -> float:
    """How far the products of two neurons are from float64's, off the diagonal that slack is added to."""
    u, w = matrix(1, 2, 9), matrix(2, 2, 9)
    got, mixed = mlp_half._grams(bound_of(u, w, matrix(3, 2).abs())), u @ w.T
    exact = ((u @ u.T) * (w @ w.T) + mixed * mixed.T) / 2
    return float(abs(got.inner[0, 1] * got.scale / exact[0, 1] - 1))


def dtypes_of_forms(monkeypatch: pytest.MonkeyPatch) -> set[torch.dtype]:
    """In what precision the forms of the second and third order reach their eigenvalue bound."""
    seen = set()

    def spied(s: Tensor) -> Tensor:
        seen.add(s.dtype)
        return ellipsoid.spectral_upper(s)

    monkeypatch.setattr(adjoint, "spectral_upper", spied)
    adjoint._bent(bound_of(matrix(1, 5, 9), matrix(2, 5, 9), matrix(3, 5).abs()), matrix(4, 3, 5))
    return seen


def test_products_are_in_float32_unless_they_may_be_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch.get_float32_matmul_precision() == "highest"
    assert single_precision() == torch.float32
    assert gram_error() > 1e-8
    assert dtypes_of_forms(monkeypatch) == {torch.float32}


@pytest.mark.usefixtures("coarse")
def test_products_are_in_float64_where_they_may_be_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert single_precision() == torch.float64
    assert gram_error() < 3e-9
    assert gram_faults(mlp_half) == set()
    assert bent_faults(adjoint) == set()
    assert dtypes_of_forms(monkeypatch) == {torch.float64}


def spectral_faults(found: ModuleType) -> bool:
    """A float32 matrix has an eigenvalue above its bound: of one rank, or equal ones whose powers are small."""
    for seed in range(20):
        v = matrix(seed, 4, 30, 1).float()
        for forms in (v @ v.mT, torch.linalg.qr(matrix(seed, 4, 64, 64))[0].float()):
            s = (forms + forms.mT) / 2
            if (found.spectral_upper(s) < torch.linalg.eigvalsh(s.double()).abs().amax(-1)).any():
                return True
    return False


def product_faults(found: ModuleType) -> bool:
    """A product that nearly vanishes, b a quarter turn of a but for a little, is above its bound."""
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=F64)
    for size in (1e-3, 1e-4, 1e-5, 1e-6):
        a = matrix(1, 10, 2, 12)
        b = turn @ a + size * matrix(2, 10, 2, 1) * matrix(3, 10, 1, 12)
        if (found.product_upper(a, b) < largest_product(a, b)).any():
            return True
    a, b = matrix(4, 50, 3, 8), matrix(5, 50, 3, 8)
    return bool((found.product_upper(a, b) < largest_product(a, b)).any())


SPECTRAL_MISTAKES = {
    "the powers' rounding is left out": ("(_frobenius(power) + lost)", "_frobenius(power)"),
    "the powers' rounding is float64's": ("torch.finfo(s.dtype).eps", "torch.finfo(torch.float64).eps"),
    "a root too many": ("pow(0.5**squarings)", "pow(0.5**(squarings - 1))"),
}
PRODUCT_MISTAKES = {
    "the rounding of the fourth power is left out": (" + lost * size + lost**2", ""),
    "a half too many": (".pow(0.25) / 2", ".pow(0.25) / 4"),
    "a length is left out": (" / 2 * lengths[0] * lengths[1]", " / 2 * lengths[0]"),
    "the product is not symmetrised": ("torch.cat(units, -2).mT", "torch.cat([units[0], 0 * units[1]], -2).mT"),
}


def test_rounding_does_not_go_below_an_eigenvalue_or_a_product() -> None:
    assert not spectral_faults(ellipsoid)
    assert not product_faults(ellipsoid)


@pytest.mark.parametrize("name", sorted(SPECTRAL_MISTAKES))
def test_a_mistake_in_the_eigenvalue_bound_is_noticed(name: str) -> None:
    assert spectral_faults(mutated(ellipsoid, *SPECTRAL_MISTAKES[name]))


@pytest.mark.parametrize("name", sorted(PRODUCT_MISTAKES))
def test_a_mistake_in_the_product_bound_is_noticed(name: str) -> None:
    assert product_faults(mutated(ellipsoid, *PRODUCT_MISTAKES[name]))
