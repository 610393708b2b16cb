"""The bound of an MLP half against points of its ellipsoid, and planted mistakes in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, silu

from proofkv_verify.decode import mlp_half as module
from proofkv_verify.decode.adjoint import mlp_remainder
from proofkv_verify.decode.ellipsoid import support
from proofkv_verify.decode.maps import Maps, maps_of
from tests.decode.half import mutated, tiny_maps
from tests.decode.test_ellipsoid import matrix, psd

F64 = torch.float64
Change = Callable[[Maps, Tensor, Tensor], Tensor]


def beyond_linear(maps: Maps, a: Tensor, delta: Tensor) -> Tensor:
    """a . (change after the half) but for its linear part `[R]`."""
    tr, layer = maps.trace, maps.layer
    eps = tr.rho2**2 - tr.mid.square().mean()
    x = tr.mid + delta
    dh = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() - tr.mid / tr.rho2
    change = (silu(tr.u + dh @ layer.w1.T) * (tr.g + dh @ layer.w3.T) - silu(tr.u) * tr.g) @ layer.w2.T
    return ((change + delta - delta @ maps.mlp.T) * a).sum(-1)


def attacked(maps: Maps, a: Tensor, p: Tensor, steps: int = 6, change: Change = beyond_linear) -> Tensor:
    """The largest change that Frank-Wolfe steps find over E(p) `[R]`."""
    values, vectors = torch.linalg.eigh(p)
    factor, best = vectors * values.clamp_min(0).sqrt(), torch.zeros(len(a), dtype=F64)
    z = torch.zeros_like(a)
    z[:, -1] = 1
    for _ in range(steps):
        z = z.clone().requires_grad_()
        found = change(maps, a, z @ factor.T)
        best = torch.maximum(best, found.detach())
        z = normalize(torch.autograd.grad(found.sum(), z)[0], dim=-1)
    return best


def share(found: ModuleType, maps: Maps, a: Tensor, p: Tensor) -> tuple[float, float]:
    """The largest change as a part of the directional bound, and of the ellipsoid's support."""
    bound, exact = found.mlp_half(maps, p, 0.0), attacked(maps, a, p)
    assert not bound.failed
    sets = support(found.remainder_after_mlp(bound, maps), a)
    return float((exact / mlp_remainder(maps, bound, a)).max()), float((exact / sets).max())


@pytest.mark.parametrize("size", [0.02, 0.1, 0.3, 0.5])
def test_the_mlp_stays_within_its_bounds(size: float) -> None:
    for seed, rank in ((0, 1), (1, 1), (0, 16), (1, 16)):
        maps, p, a = tiny_maps(seed), psd(seed + 900, 16, rank), matrix(seed + 50, 12, 16)
        p = p * (size * maps.trace.rho2) ** 2 * 16 / p.trace()
        directional, sets = share(module, maps, torch.cat([a, -a]), p)
        assert directional <= 1
        assert sets <= 1
        assert size > 0.02 or directional > 0.6


def one_neuron(gate: float, up: float, slope: float, size: float) -> tuple[Maps, Tensor, Tensor]:
    """A half with one neuron at silu(gate + y) (up + slope y), y along one axis across x; a direction; an ellipsoid."""
    maps = tiny_maps(0)
    tr, x = maps.trace, maps.trace.mid
    axis = matrix(9, 16)
    axis = normalize(axis - x * (x @ axis) / (x @ x), dim=0)
    w1, w2 = torch.zeros_like(maps.layer.w1), torch.zeros_like(maps.layer.w2)
    w1[0], w2[:, 0] = axis, maps.layer.w2[:, 0]
    u, g = torch.zeros_like(tr.u), torch.zeros_like(tr.g)
    u[0], g[0] = gate, up
    maps = maps_of(replace(maps.layer, w1=w1, w2=w2, w3=w1 * slope), replace(tr, u=u, g=g), maps.sets)
    return maps, torch.stack([w2[:, 0], -w2[:, 0]]), torch.outer(axis, axis) * (size * tr.rho2) ** 2


INFLECTION, TOP = (2.3994, 1.0, 0.0, 0.2), (0.0, 0.0, 1.0, 0.2)  # silu'' = 0 and largest
THETA = "theta = (twist / 6 * tr.g.abs() * reach + bend / 2 * reach_up) * UP"
SUM = "(out + out.T) * (grams.scale * (1 + ratio) / 2)"
MISTAKES = {
    "the third derivative is left out": (THETA, THETA.replace("twist / 6 * tr.g.abs() * reach + ", ""), INFLECTION),
    "the curved gate times up is left out": (THETA, THETA.replace(" + bend / 2 * reach_up", ""), TOP),
    "the third order is left out of the ellipsoid": ("cubic = bound.theta *", "cubic = 0 * bound.theta *", TOP),
    "a quarter for a half in the quadratic map": (".square() / 2 * UP", ".square() / 4 * UP", TOP),
    "the quadratic map is not symmetrised": (".addcmul_(mixed, mixed.T)", "", TOP),
    "two parts are added without their weights": (SUM, SUM.replace(" * (1 + ratio)", ""), TOP),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_in_the_mlp_half_is_noticed(name: str) -> None:
    old, new, place = MISTAKES[name]
    given = one_neuron(*place)
    assert max(share(module, *given)) <= 1
    assert max(share(mutated(module, old, new), *given)) > 1
