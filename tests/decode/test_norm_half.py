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
from proofkv_verify.decode.ellipsoid import combine, support
from proofkv_verify.decode.maps import norm_jacobian
from tests.decode.half import mutated
from tests.decode.test_ellipsoid import matrix

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
        bound = found.norm_half(x, rho, norm_jacobian(x, rho), torch.outer(axis, axis))
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


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_in_the_remainder_is_noticed(name: str) -> None:
    assert max(largest_shares(mutated(module, *MISTAKES[name]))) > 1
