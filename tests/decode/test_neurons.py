"""Sums over the neurons of an MLP half, in single precision, against float64; and planted mistakes in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import adjoint, mlp_half
from proofkv_verify.decode import ellipsoid as ellipsoids
from proofkv_verify.decode.adjoint import LayerBound
from proofkv_verify.decode.maps import Maps, maps_of
from proofkv_verify.decode.mlp_half import MlpBound
from tests.decode.half import half_of, mutated, tiny_maps
from tests.decode.test_ellipsoid import matrix, psd
from tests.decode.test_mlp_half import TOP, attacked, beyond_linear, one_neuron

F64 = torch.float64
U = 2.0**-24  # the rounding of float32


@cache
def some_bound() -> MlpBound:
    return mlp_half.mlp_half(tiny_maps(0), psd(1, 16) * 1e-3, 0.0)


def bound_of(gate: Tensor, product: Tensor, theta: Tensor) -> MlpBound:
    return replace(some_bound(), gate=gate, product=product, theta=theta)


def samples() -> Iterator[MlpBound]:
    """Many neurons, two that oppose each other and single ones, with either order the larger, at scales far apart.

    The first two have sizes whose squares float32 cannot hold beside each other.
    """
    far = torch.tensor([[1e-13, 0.0], [0.0, 1.0]], dtype=F64)
    yield bound_of(far, far, torch.zeros(2, dtype=F64))
    far = torch.tensor([[1.0, 0.0], [1e-25, 0.0]], dtype=F64)
    yield bound_of(far, far.flip(0), torch.zeros(2, dtype=F64))
    for seed in range(6):
        for count, size in ((20, 6), (4, 16), (1, 9)):
            gate, product = matrix(seed, count, size), matrix(seed + 50, count, size)
            theta = matrix(seed + 90, count).abs()
            yield bound_of(gate, product, theta)
            yield bound_of(gate * 1e-25, product * 1e20, theta * 1e45 * 4)
            yield bound_of(gate * 7, -gate, theta / 10)
            yield bound_of(torch.cat([gate, -gate]), torch.cat([product, gate]), torch.cat([theta, theta]))


def gram_faults(found: ModuleType) -> set[str]:
    """What the Gram sums of the samples leave out, or have far too much of."""
    faults = set()
    for bound in samples():
        u, w, got = bound.gate, bound.product, found._grams(bound)
        mixed = u @ w.T
        exact = ((u @ u.T) * (w @ w.T) + mixed * mixed.T) / (2 * got.scale)
        if not torch.linalg.eigvalsh(got.inner - exact).min() >= 0:
            faults.add("inner")
        sizes = u.norm(dim=-1) * w.norm(dim=-1)
        if got.inner.trace() > exact.trace() + 1e-3 * sizes.sum().square() / got.scale + 1e-12:
            faults.add("inner is far larger")
        whole = (u.T * bound.theta) @ u
        if not torch.linalg.eigvalsh(whole).max() <= got.third:
            faults.add("third")
        if got.third > whole.norm() + 1e-3 * whole.trace() + 1e-60:
            faults.add("third is far larger")
    return faults


def gram_slack(found: ModuleType, count: int, size: int) -> tuple[float, float]:
    """What is added for rounding to equal neurons of length 1, whose products are exact: to an axis and to `third`."""
    unit = torch.zeros(count, size, dtype=F64)
    unit[:, 0] = 1
    got = found._grams(bound_of(unit, unit, torch.ones(count, dtype=F64)))
    return float(got.inner[0, 0] - 2), float(got.third / ellipsoids.UP - count)


def gram_slack_is_short(found: ModuleType) -> bool:
    """The slack is less than n + 3 roundings of each of two factors of two products, or f + 2 more of their squares."""
    for count, size in ((4, 512), (1024, 4)):
        entry, third = gram_slack(found, count, size)
        factor = (size + 3) * U
        if entry < 2 * ((1 + factor) ** 2 * (1 + U) ** 2 - 1) * count or third < (factor + (count + 2) * U) * count:
            return True
    return False


GRAM_MISTAKES = {
    "a quarter for a half": (".square() / 2 * UP", ".square() / 4 * UP"),
    "not symmetrised": (".addcmul_(mixed, mixed.T)", ""),
    "only the mixed product": ("inner.mul_(b @ b.T)", "inner.mul_(0)"),
    "the scale of the gates is lost": ("(tops[0] * tops[1]).square()", "tops[1].square()"),
    "no slack for what float32 cannot hold": ("(wide / tops[1]) + 1e-14", "(wide / tops[1])"),
    "no slack": ("inner.diagonal().add_(2 * lost * sizes.sum() * sizes)", ""),
    "the slack is of one product": ("add_(2 * lost *", "add_(lost *"),
    "the slack is of few columns": ("2e-5 * (u.shape[1] / 128 + 1)", "2e-5"),
    "the slack forgets the other neurons": ("2 * lost * sizes.sum() * sizes", "2 * lost * sizes * sizes"),
    "the terms of the Frobenius norm are not squared": ("inner.square() @ weights", "inner @ weights"),
    "third keeps the scale of the gates": ("third * tops[0].square() * top", "third * top"),
    "third has the root of the scale": ("third * tops[0].square() * top", "third * tops[0] * top"),
    "third keeps the scale of theta": ("third * tops[0].square() * top", "third * tops[0].square()"),
    "third has no slack": ("(lost + 1e-7 * len(u))", "0"),
    "third has no slack for its sum": ("(lost + 1e-7 * len(u))", "lost"),
    "third has no slack for its products": ("(lost + 1e-7 * len(u))", "1e-9"),
}


def test_the_gram_sums_are_above_the_exact_ones_and_close_to_them() -> None:
    assert gram_faults(mlp_half) == set()


def test_the_slack_of_the_gram_sums_is_what_rounding_may_take() -> None:
    assert not gram_slack_is_short(mlp_half)


@pytest.mark.parametrize("name", sorted(GRAM_MISTAKES))
def test_a_mistake_in_the_gram_sums_is_noticed(name: str) -> None:
    found = mutated(mlp_half, *GRAM_MISTAKES[name])
    assert gram_faults(found) or gram_slack_is_short(found)


def bent_faults(found: ModuleType) -> set[str]:
    """Where the second order and the third in one direction are less than the largest eigenvalue, or far more."""
    faults = set()
    for bound in samples():
        w = torch.cat([matrix(7, 12, len(bound.gate)), torch.eye(len(bound.gate), dtype=F64)])
        u = bound.gate[None]
        first = (u * w[..., None]).mT @ bound.product
        square = (u * (w.abs() * bound.theta)[..., None]).mT @ u
        forms = torch.stack([square + first, square - first])
        exact = torch.linalg.eigvalsh((forms + forms.mT) / 2).amax((0, 2))
        got = found._bent(bound, w)
        if (got < exact).any():
            faults.add("below")
        if (got > exact * bound.gate.shape[1] ** (1 / 8) * 1.001).any():
            faults.add("far above")
    return faults


def bent_slack_is_short(found: ModuleType) -> bool:
    """f equal neurons, whose sums are exact, get less than (f + 8) 2^-24 of the sum of their norms for rounding."""
    count = 1024
    unit = torch.zeros(count, 4, dtype=F64)
    unit[:, 0] = 1
    bound = bound_of(unit, unit, torch.zeros(count, dtype=F64))
    scope = vars(found)
    right = scope["spectral_upper"]
    scope["spectral_upper"] = lambda s: torch.linalg.eigvalsh(s.double()).abs().amax(-1)
    slack = float(found._bent(bound, torch.ones(1, count, dtype=F64))) / ellipsoids.UP - count
    scope["spectral_upper"] = right
    return slack < (count + 8) * U * count


FORMS, SLACK = "torch.stack([square + first, square - first])", " + 1e-7 * (len(long) + 8) * sizes"
BENT_MISTAKES = {
    "only the third order and the second": (FORMS, "torch.stack([square + first])"),
    "only the third order less the second": (FORMS, "torch.stack([square - first])"),
    "the third order is left out": (FORMS, "torch.stack([first, -first])"),
    "the second order is left out": (FORMS, "torch.stack([square, square])"),
    "third orders cancel": ("(gate * weights.abs()).mT", "(gate * weights).mT"),
    "second orders do not cancel": ("(gate * weights).mT", "(gate * weights.abs()).mT"),
    "the scale of the weights is lost": ("(found + 1e-30) * tops[0] *", "(found + 1e-30) *"),
    "the scale of the gates is lost": ("tops[0] * tops[1] * tops[2] * UP", "tops[0] * tops[2] * UP"),
    "the scale of the products is lost": ("tops[0] * tops[1] * tops[2] * UP", "tops[0] * tops[1] * UP"),
    "no slack": (SLACK, ""),
    "the slack is of few neurons": (SLACK, " + 1e-7 * 8 * sizes"),
    "a form that is not symmetric": ("spectral_upper((forms + forms.mT) / 2).amax(0)", "spectral_upper(forms).amax(0)"),
}


def test_second_and_third_order_are_bounded_together() -> None:
    assert bent_faults(adjoint) == set()
    assert not bent_slack_is_short(adjoint)


@pytest.mark.parametrize("name", sorted(BENT_MISTAKES))
def test_a_mistake_in_second_and_third_order_is_noticed(name: str) -> None:
    found = mutated(adjoint, *BENT_MISTAKES[name])
    assert bent_faults(found) or bent_slack_is_short(found)


# The screen of rivals


@cache
def last_layer(kind: str) -> tuple[LayerBound, Tensor, Tensor]:
    """A last layer, directions at the residual stream and the largest change of it in each that an attack finds."""
    if kind == "whole":
        maps, p, a = tiny_maps(1), psd(901, 16, 16), matrix(50, 12, 16)
        p = p * (0.1 * maps.trace.rho2) ** 2 * 16 / p.trace()
    elif kind == "bent":
        maps, a, p = one_neuron(*TOP)
        axis = maps.layer.w1[0]
        a = a[:1] - a[:1] @ axis[:, None] * axis
    else:
        maps, a, p = straight()
    a = torch.cat([a, -a])
    mlp = mlp_half.mlp_half(maps, p, 0.0)
    attention = replace(half_of(maps, 0.1).bound, out=p)
    return LayerBound(maps, attention, mlp), a, attacked(maps, a, p, change=whole_change)


def straight() -> tuple[Maps, Tensor, Tensor]:
    """A half with one neuron far out, where the gate is straight: only the norm bends."""
    maps, _, p = one_neuron(40.0, 1.0, 0.0, 0.2)
    tr, axis = maps.trace, maps.layer.w1[0]
    w2 = torch.zeros_like(maps.layer.w2)
    w2[:, 0] = 10 * axis
    maps = maps_of(replace(maps.layer, w2=w2), tr, maps.sets)
    slanted = axis + tr.mid / tr.mid.norm()
    return maps, axis[None], torch.outer(slanted, slanted) / 2 * p.trace() * 4


def whole_change(maps: Maps, a: Tensor, delta: Tensor) -> Tensor:
    return beyond_linear(maps, a, delta) + (delta @ maps.mlp.T * a).sum(-1)


SCREEN_MISTAKES = {
    "the third order is left out": (" + mlp.theta * gate.square()", "", "bent"),
    "the second order is left out": ("gate * row_norms(mlp.product) + ", "", "bent"),
    "the ellipsoid before is left out": ("support(last.attention.out, a @ maps.mlp) + ", "", "whole"),
    "the ellipsoid is not carried on": ("a @ maps.mlp)", "a)", "straight"),
    "neurons cancel": ("(a @ maps.layer.w2).abs() @ each", "(a @ maps.layer.w2) @ each", "bent"),
    "the norm's remainder is left out": ("total = total + mlp.norm.support(a @ maps.mlp_out)\n", "\n", "straight"),
}


@pytest.mark.parametrize("kind", ["whole", "bent", "straight"])
def test_the_screen_contains_the_attacked_layer(kind: str) -> None:
    last, a, exact = last_layer(kind)
    assert (exact <= adjoint.screen(last, a)).all()
    assert (exact > 0.9 * adjoint.screen(last, a)).any()


@pytest.mark.parametrize("name", sorted(SCREEN_MISTAKES))
def test_a_mistake_in_the_screen_is_noticed(name: str) -> None:
    old, new, kind = SCREEN_MISTAKES[name]
    last, a, exact = last_layer(kind)
    assert (exact > mutated(adjoint, old, new).screen(last, a)).any()


def noise_is_lost(found: ModuleType) -> bool:
    """A rounding of length 1 adds less than the direction's length."""
    last, a, _ = last_layer("whole")
    noisy = replace(last, mlp=replace(last.mlp, noise=1.0))
    screened = found.screen(noisy, a) - found.screen(last, a)
    pulled = found.mlp_remainder(last.maps, noisy.mlp, a) - found.mlp_remainder(last.maps, last.mlp, a)
    return bool((torch.minimum(screened, pulled) < a.norm(dim=-1)).any())


def test_the_rounding_of_the_trace_counts_in_both_bounds() -> None:
    assert not noise_is_lost(adjoint)
    assert noise_is_lost(mutated(adjoint, "(mlp.noise + _ROUNDED", "(_ROUNDED"))
    assert noise_is_lost(
        mutated(
            adjoint,
            "(bound.noise + _ROUNDED * float(trace_root(bound.norm.p)))\n\n\ndef _bent",
            "(_ROUNDED * float(trace_root(bound.norm.p)))\n\n\ndef _bent",
        )
    )


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("name", ["gate", "product", "theta"])
def test_a_neuron_that_is_no_number_bounds_nothing(name: str, bad: float) -> None:
    last, a, _ = last_layer("whole")
    changed = getattr(last.mlp, name).clone()
    changed.flatten()[0] = bad
    wrong = replace(last, mlp=replace(last.mlp, **{name: changed}))
    assert not (adjoint.screen(wrong, a) < torch.inf).any()
    assert not (adjoint.mlp_remainder(wrong.maps, wrong.mlp, a) < torch.inf).any()
    assert not wrong.out.isfinite().all()
