"""The bound of RMSNorm's remainder against points of thin ellipsoids, and planted mistakes in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import norm_half as module
from proofkv_verify.decode.ellipsoid import combine, support, trace_root
from proofkv_verify.decode.maps import norm_jacobian
from tests.decode.half import mutated
from tests.decode.test_ellipsoid import matrix, psd

F64 = torch.float64
SIZE, SIZES, ANGLES = 6, (0.01, 0.1, 0.3, 0.5), (0.0, 0.3, 0.7, 1.2, math.pi / 2)
Sample = tuple[Tensor, float, Tensor, Tensor]


@cache
def samples() -> list[Sample]:
    """x, its RMS, the axis of an ellipsoid and the remainders at points of it, from along x to across it."""
    return list(_samples())


def _samples() -> Iterator[Sample]:
    for seed in range(3):
        x, other = matrix(seed, SIZE) * 2, matrix(seed + 5, SIZE)
        rho = float((x @ x / SIZE + 1e-5).sqrt())
        along = x / x.norm()
        across = other - along * (along @ other)
        for size in SIZES:
            for angle in ANGLES:
                turned = along * math.cos(angle) + across / across.norm() * math.sin(angle)
                axis = turned * size * rho * SIZE**0.5
                delta = torch.linspace(-1, 1, 9, dtype=F64)[:, None] * axis
                moved = x + delta
                change = moved / (moved.square().mean(-1, keepdim=True) + 1e-5).sqrt() - x / rho
                yield x, rho, axis, change - delta @ norm_jacobian(x, rho).T


def largest_shares(found: ModuleType) -> tuple[float, float]:
    """The largest remainder as a part of the directional bound, and of the ellipsoids' support."""
    shares = [(0.0, 0.0)]
    for x, rho, axis, rest in samples():
        bound = found.norm_half(x, rho, torch.outer(axis, axis))
        if bound.failed:
            continue
        rows = torch.cat([matrix(30, 20, SIZE), x[None], axis[None]])
        exact = (rows @ rest.T).abs().amax(1)
        sets = support(combine(list(bound.own_remainder)), rows)
        turned = [support(combine(list(bound.remainder(a))), rows) for a in (torch.eye(SIZE, dtype=F64),)]
        assert (turned[0] >= sets * (1 - 1e-6)).all()
        shares.append((float((exact / (bound.support(rows) + 1e-14)).max()), float((exact / (sets + 1e-13)).max())))
    return max(s[0] for s in shares), max(s[1] for s in shares)


def test_the_remainder_is_bounded_and_nearly_attained() -> None:
    directional, sets = largest_shares(module)
    assert 0.99 < directional <= 1
    assert 0.99 < sets <= 1


BETA = "beta = torch.maximum(mu / 2, safe.square() / (1 - safe)) * UP"
TWIST = "return share * tau.square() / 2 + (1 + 1 / ratio) * beta.square(), share"
SUPPORT = "(along + (reach * (self.beta + self.tau / 2) + both / 2) / self.rho)"
MISTAKES = {
    "a quarter for a half in the quadratic map": (
        TWIST,
        "return (share * tau.square() / 2 + (1 + 1 / ratio) * beta.square()) / 2, share / 2",
    ),
    "the norm across x is left out": (BETA, "beta = safe.square() / (1 - safe) * UP"),
    "the third order along x is left out": (BETA, "beta = mu / 2 * UP"),
    "the forms are taken as orthogonal": (SUPPORT, SUPPORT.replace(" + both / 2", "")),
    "the forms are taken as parallel": (SUPPORT, SUPPORT.replace(" + self.tau / 2", "")),
    "what lies along x is left out": (SUPPORT, SUPPORT.replace("along + ", "")),
    "beta is left out along delta": (SUPPORT, SUPPORT.replace("self.beta + ", "")),
    "the turned part of the ellipsoid is left out": (
        "twist = self.p * self.factor + rank_one(self.turned)",
        "twist = self.p * self.factor",
    ),
}
CROSS = "- cross - cross.T"
SETS = {
    "out: a cross term has the wrong sign": (CROSS, "+ cross - cross.T"),
    "out: both cross terms have the wrong sign": (CROSS, "+ cross + cross.T"),
    "out: the mean term is left out": ("side, cross = first * curve / scale + along", "side, cross = along"),
    "out: the segment along x is left out": (" + along * bound.beta.square() / scale", ""),
    "out: the remainder along delta is left out": ("(first / scale + twist * bound.factor)", "(first / scale)"),
    "out: the turned part is left out": ("whole + rank_one(turned) * twist", "whole"),
    "out: the parts add in squares": ("sizes.reciprocal()) * sizes.sum() * UP", "sizes.reciprocal()) * sizes * UP"),
    "out: the Jacobian's part has no weight": ("p * (first / scale +", "p * (1 / scale +"),
    "out: the segment along x has no weight": ("+ along * bound.beta", "+ bound.beta"),
    "out: the remainder along delta has no weight": ("twist * bound.factor)", "bound.factor)"),
    "out: the turned part has no weight": ("rank_one(turned) * twist", "rank_one(turned)"),
    "out: the length of the norm is left out": (
        "scale = p.trace(), x @ x, x @ moved / size, bound.rho**2",
        "scale = p.trace(), x @ x, x @ moved / size, bound.rho**2 * 2",
    ),
    "residual: a cross term has the wrong sign": ("side + side.mT", "side - side.mT"),
    "residual: both cross terms have the wrong sign": ("self.p + side + side.mT", "self.p - side - side.mT"),
    "residual: a cross term across x has the wrong sign": ("both - across - across.mT", "both + across - across.mT"),
    "residual: the cross terms across x are left out": ("both - across - across.mT", "both"),
    "residual: the mean term is left out": ("across.mT + mean)", "across.mT)"),
    "residual: the residual path is left out": ("whole = self.p + side", "whole = side"),
    "residual: the norm's own turn is left out": (
        "(carried - torch.outer(m, turned)) / self.rho",
        "carried / self.rho",
    ),
    "residual: the remainder is not carried": ("carried * self.factor", "self.p * self.factor"),
    "residual: the turned part is left out": (
        "carried * self.factor + rank_one(after @ self.turned)",
        "carried * self.factor",
    ),
    "residual: the segment along x is left out": (
        "rank_one(after @ self.direction * self.beta)",
        "rank_one(0 * self.direction)",
    ),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_in_the_remainder_is_noticed(name: str) -> None:
    assert max(largest_shares(mutated(module, *MISTAKES[name]))) > 1


def cases() -> Iterator[tuple[Tensor, float, Tensor, Tensor]]:
    """x, its RMS, ellipsoids that are round, thin along x or far from round, and a map behind the norm."""
    for seed, size in ((1, 0.05), (2, 0.3), (3, 0.6)):
        x = matrix(seed, SIZE) * 2
        rho = float((x @ x / SIZE + 1e-5).sqrt())
        axis = torch.outer(x, x) / (x @ x)
        for p in (psd(seed + 10), psd(seed + 20, SIZE, 1), axis + 0.1 * psd(seed + 30), axis):
            yield x, rho, p * (size * rho) ** 2 / p.trace(), matrix(seed + 40, SIZE, SIZE)


def sets_leave(found: ModuleType) -> list[str]:
    """Which of the two sums of ellipsoids are smaller in some direction than what they are the sum of, or far larger.

    In a direction a the sum of ellipsoids reaches the sum of what each of them reaches.
    """
    faults = []
    for x, rho, p, after in cases():
        bound, jacobian = found.norm_half(x, rho, p), norm_jacobian(x, rho)
        assert not bound.failed
        a = torch.cat([matrix(50, 200, SIZE), x[None], (p @ x)[None], torch.linalg.eigh(p)[1].T])
        parts = [jacobian @ p @ jacobian.T, *bound.own_remainder]
        if (reaches(parts, a) > reaches([bound.out], a)).any():
            faults.append("out")
        if trace_root(bound.out) > trace_root(combine(parts)) + 1e-3 * trace_root(p) / rho:
            faults.append("out is far larger")
        whole = torch.eye(SIZE, dtype=F64) + after @ jacobian
        along = torch.outer(after @ x, after @ x) * (bound.beta / rho) ** 2
        turned = torch.outer(after @ bound.turned, after @ bound.turned)
        exact = [whole @ p @ whole.T, along, after @ p @ after.T * bound.factor + turned]
        for name, part, given in zip(("image", "along", "twist"), exact, bound.behind_residual(after), strict=True):
            if (reaches([part], a) > reaches([given], a)).any():
                faults.append(name)
            if given.trace() > part.trace() + 1e-7 * p.trace() * (1 + after.norm() / rho) ** 2:
                faults.append(f"{name} is far larger")
    return faults


def reaches(parts: list[Tensor], a: Tensor) -> Tensor:
    """Sum of sqrt(a'Pa) over the parts, for directions a `[R, d]`."""
    return torch.stack([((a @ p) * a).sum(-1).clamp_min(0).sqrt() for p in parts]).sum(0)


def test_the_sets_are_the_sums_of_their_parts() -> None:
    assert sets_leave(module) == []


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_mistake_in_the_sets_is_noticed(name: str) -> None:
    assert sets_leave(mutated(module, *SETS[name])) != []


def least_axis(found: ModuleType) -> float:
    """The least eigenvalue after the norm for an error along x, where nearly all of it cancels, by its size."""
    x = matrix(1, SIZE) * 2
    rho = float((x @ x / SIZE + 1e-5).sqrt())
    p = torch.outer(x, x) * 1e-12
    return float(torch.linalg.eigvalsh(found.norm_half(x, rho, p).out).min() * rho**2 / p.trace())


def test_terms_that_cancel_leave_more_than_their_rounding() -> None:
    rounding = 8 * SIZE * 2.0**-53
    assert least_axis(module) > rounding
    assert least_axis(mutated(module, "first * slack / DIAGONAL + ", "")) < rounding


def test_a_point_stays_a_point() -> None:
    none = torch.zeros(SIZE, SIZE, dtype=F64)
    bound = module.norm_half(matrix(1, SIZE), 1.0, none)
    assert not bound.failed
    assert not any(found.any() for found in (bound.out, *bound.behind_residual(matrix(2, SIZE, SIZE))))
