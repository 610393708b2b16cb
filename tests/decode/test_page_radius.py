"""The bounds of an attention half in one direction against its exact heads, at the errors that are worst for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode.adjoint import even_remainder, heads_remainder
from proofkv_verify.decode.attention_bound import AttentionBound, spread, squares, swing
from proofkv_verify.decode.attention_half import attention_half, exp_minus_linear
from proofkv_verify.decode.ellipsoid import support
from proofkv_verify.decode.maps import Maps
from proofkv_verify.decode.page_radius import page_radius
from proofkv_verify.decode.shapes import split
from tests.decode.half import (
    KINDS,
    Half,
    attacked,
    beyond_first,
    beyond_linear,
    changed,
    ends,
    half_of,
    largest_products,
    scaled,
    tiny_maps,
    weights_and_rows,
    with_sets,
)
from tests.decode.test_ellipsoid import matrix

F64 = torch.float64
SIZES = ((0.003, 0.3), (0.05, 0.3), (0.1, 1.0), (0.3, 4.0))


def whole(half: Half) -> Tensor:
    """The bound on all that is not linear in the token's own error `[R]`."""
    return page_radius(half.maps, half.bound, half.heads) + even_remainder(half.maps, half.bound, half.a)


def after_half(half: Half, delta: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """a . (change of the residual stream after the half) `[R]`, for errors of the residual stream before it."""
    x = half.maps.trace.x + delta
    eps = half.maps.trace.rho**2 - half.maps.trace.x.square().mean()
    dh = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() - half.maps.trace.h
    linear = (half.a * (delta + dh @ half.maps.attention_out.T)).sum(-1)
    return beyond_linear(half, dh, keys, values) + linear


@pytest.mark.parametrize("group_size", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_heads_stay_within_every_bound(kind: str, group_size: int) -> None:
    largest = 0.0
    for size, errors in SIZES:
        maps = scaled(tiny_maps(1, kind, group_size), errors, errors)
        half, rest = (half_of(maps, size, kind, 16, remainder_only=only) for only in (False, True))
        assert (attacked(half) <= whole(half)).all()
        assert (attacked(half, after_half, half.bound.norm.p) <= support(half.bound.out, half.a)).all()
        beyond = attacked(rest, beyond_first)
        assert (beyond <= heads_remainder(maps, rest.bound, rest.a)).all()
        assert (beyond <= support(rest.bound.out, rest.a)).all()
        largest = max(largest, float(half.bound.eta))
    assert 0.5 < largest < 1


@pytest.mark.parametrize(("kind", "group_size", "least"), [("norm", 1, 0.99), ("norm", 3, 0.99), ("sigma", 2, 0.95)])
def test_the_bound_in_one_direction_is_nearly_attained_at_small_errors(
    kind: str, group_size: int, least: float
) -> None:
    half = half_of(scaled(tiny_maps(1, kind, group_size), 0.3, 0.3), 0.003, kind, 16)
    assert (attacked(half) > least * whole(half)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_a_page_error_stay_within_the_page_radius(kind: str) -> None:
    for seed, group_size in ((0, 1), (1, 2), (2, 3)):
        for size, keys, values in ((1e-3, 0.01, 0.01), (0.03, 0.01, 0.01), (0.1, 1, 1), (0.2, 1, 0), (0.2, 0, 1)):
            half = half_of(scaled(tiny_maps(seed, kind, group_size), keys, values), size, kind)
            assert (largest_products(half) <= page_radius(half.maps, half.bound, half.heads)).all()


def test_the_attack_reaches_second_order() -> None:
    """Without the products of errors the bound is passed, so these errors are large enough to test them."""
    half = half_of(tiny_maps(1), 0.3, rank=16)
    at_the_centre = attention_half(half.maps, torch.zeros_like(half.bound.norm.p), 0.0)
    first = page_radius(half.maps, at_the_centre, half.heads)
    both = split(attacked(half), 0, (2, -1)).amax(0)
    assert (both > first[: len(both)]).all()


def blind_half(seed: int) -> tuple[Half, Tensor, Tensor]:
    """Small keys, a query that keeps its length and key errors along its own error: then dq . e is all there is."""
    maps = tiny_maps(seed, group_size=1)
    maps = scaled(changed(maps, keys=maps.trace.keys * 1e-3, wk=maps.trace.wk * 1e-3), 1e-2, 0)
    tr = maps.trace
    rows = torch.cat([tr.q[:1] @ tr.wq[0], tr.x[None]])
    axis = matrix(seed, 16)
    axis = axis - torch.linalg.pinv(rows) @ (rows @ axis)
    bound = attention_half(maps, torch.outer(axis, axis) / axis.square().sum() * 0.1, 0.0, remainder_only=True)
    half = Half(maps, bound, matrix(seed + 100, 24, 16), "norm")
    values, vectors = torch.linalg.eigh(bound.p_in)
    dh = (vectors[:, -1] * values[-1].sqrt()).expand_as(half.a)
    mass = (half.heads @ maps.weighted[:, :-1].mT).transpose(0, 1)
    along = torch.nn.functional.normalize(tr.wq @ dh[0], dim=-1)
    keys = mass.sign()[..., None] * along[:, None] * maps.sets.key_norm[..., None]
    return half, dh, keys


def beyond_the_remainder(shrink: Callable[[Maps, AttentionBound], AttentionBound], seed: int) -> bool:
    half, dh, keys = blind_half(seed)
    found = beyond_first(half, dh, keys, torch.zeros_like(keys))
    return bool((found > heads_remainder(half.maps, shrink(half.maps, half.bound), half.a)).any())


def what_the_whole_query_leaves(maps: Maps, bound: AttentionBound) -> AttentionBound:
    """bil as the whole query's part less what q . e may take of it."""
    kappa = maps.trace.q.norm(dim=-1)[:, None] * maps.scale * maps.sets.key_norm[maps.of]
    return replace(bound, bil=(bound.moved - torch.nn.functional.pad(kappa, (0, 1))).clamp_min(0))


@pytest.mark.parametrize("seed", range(4))
def test_a_key_error_meets_the_query_error_although_the_query_grows_no_longer(seed: int) -> None:
    """A query that turns without growing bounds q'.e by |q||e|, but dq.e alone by no less than |dq||e|."""
    half, dh, keys = blind_half(seed)
    found = beyond_first(half, dh, keys, torch.zeros_like(keys))
    assert (found <= support(half.bound.out, half.a)).all()
    assert not beyond_the_remainder(lambda _, bound: bound, seed)
    assert beyond_the_remainder(what_the_whole_query_leaves, seed)


@pytest.mark.parametrize("group_size", [1, 2])
def test_the_weights_stay_within_their_drift(group_size: int) -> None:
    """|p'/p - 1 - eps| <= drift and |p'/p - 1| <= lin + cross + drift, for each head and row at once."""
    for size, errors in SIZES[1:]:
        half = half_of(scaled(tiny_maps(3, group_size=group_size), errors, 0), size, rank=16)
        m, bound = half.maps, half.bound
        for seed in range(3):
            start = half.inside(*(matrix(seed + i, len(half.a), *m.sets.key_box.shape) for i in (1, 2)))
            z = torch.nn.functional.normalize(matrix(seed, *half.a.shape), dim=-1)
            dh = z @ torch.linalg.cholesky(bound.p_in).T * (1 - 1e-9)
            p, _ = weights_and_rows(half, dh, *start)
            ratio = p / m.trace.p
            moved = ratio.log() - (m.trace.p * ratio.log()).sum(-1, keepdim=True)
            assert ((ratio - 1 - moved).abs() <= bound.drift).all()
            assert ((ratio - 1).abs() <= bound.lin + bound.cross + bound.drift).all()
            assert (moved.abs() <= bound.lin + bound.cross).all()


def test_a_row_that_grows_with_the_normaliser_drifts_by_its_logarithm() -> None:
    """At e^eps = Z the weight stays and is log Z short of 1 + eps: more than 1 - 1/Z and than e^eps - 1 - eps."""
    maps = tiny_maps(2, group_size=1)
    q, size = maps.trace.q[0], maps.trace.keys.shape[1]
    step = matrix(2, len(q))
    step = 500 * (step - q * (step @ q) / (q @ q))
    dh = ends(half_of(maps, 0.2))[0]
    rate = float(maps.trace.wq[0] @ dh @ step) * maps.scale
    share = torch.zeros(size, dtype=F64)
    share[0] = 1
    for _ in range(100):
        share[1] = (abs(rate) * (share - share.mean())).exp().mean().log() / abs(rate) + share.mean()
    keys = maps.trace.keys[:, :1] + share[:, None] * step
    half = half_of(scaled(changed(maps, still="kv", keys=keys), 0, 0), 0.2)
    none = torch.zeros(1, *half.maps.sets.key_box.shape, dtype=F64)
    weights, _ = weights_and_rows(half, dh[None] if rate > 0 else -dh[None], none, none)
    ratio = weights[0, 0, 1] / half.maps.trace.p[0, 1]
    moved = (abs(rate) * (share - share.mean()))[1]
    bound, exact = half.bound, (ratio - 1 - moved).abs()
    assert exact <= bound.drift[0, 1]
    assert exact > bound.zz[0]
    assert exact > exp_minus_linear(bound.lin + bound.cross)[0, 1]


def test_sums_over_rows_are_above_every_point_of_the_ball() -> None:
    """`spread`, `swing` and `squares` at the worst of many points, and near them where one row outweighs the others."""
    bound = half_of(tiny_maps(1), 0.3, rank=16).bound
    for seed, power in ((1, 1), (2, 8)):
        weights = torch.rand(bound.lin.shape, generator=torch.Generator().manual_seed(seed), dtype=F64) ** power
        weights[:, 0] += power - 1
        z = torch.cat([matrix(seed, 400, bound.rows.shape[-1]), bound.rows[:, 0]])
        moved = (bound.rows @ torch.nn.functional.normalize(z, dim=-1).T).abs()
        cross, third = bound.cross[..., None], bound.third[..., None]
        even = cross**2 / 2 + bound.curve[..., None] * moved**2 + third * (2 * moved * cross + cross**2)
        factor = torch.rand(bound.lin.shape, generator=torch.Generator().manual_seed(seed + 2), dtype=F64)
        factor[:, 0] = 1
        turn = spread(weights, bound.rows)
        for sums, upper in (
            (moved**2, turn),
            (moved, swing(torch.ones_like(factor), weights, bound.lin, turn)),
            (moved * factor[..., None], swing(factor, weights, bound.lin, turn)),
            (even, squares(weights, bound)),
        ):
            exact = (weights[..., None] * sums).sum(1).amax(-1)
            assert (exact <= upper).all()
            assert power == 1 or (exact > 0.8 * upper).all()
        assert (even <= bound.even[..., None]).all()


@pytest.mark.parametrize("name", ["key_norm", "value_norm", "key_box"])
def test_a_nan_in_a_sidecar_gives_no_bound(name: str) -> None:
    maps = tiny_maps(0)
    bad = getattr(maps.sets, name).clone()
    bad[0, 0] = torch.nan
    half = half_of(with_sets(maps, **{name: bad}), 0.01)
    assert half.bound.failed or whole(half).isnan().all()


@pytest.mark.parametrize("name", ["lin", "moved", "cross", "drift", "dq", "own", "p_in"])
def test_a_nan_in_the_bound_of_the_half_stays_one(name: str) -> None:
    half = half_of(tiny_maps(0), 0.01)
    bad = replace(half.bound, **{name: torch.full_like(getattr(half.bound, name), torch.nan)})
    assert page_radius(half.maps, bad, half.heads).isnan().all()


@pytest.mark.parametrize("name", ["p", "q", "keys", "values", "wq", "x"])
def test_a_nan_in_the_trace_fails_the_half(name: str) -> None:
    maps = tiny_maps(0)
    trace = replace(maps.trace, **{name: torch.full_like(getattr(maps.trace, name), torch.nan)})
    p = torch.eye(16, dtype=F64) * 1e-4
    assert attention_half(replace(maps, trace=trace, rows=maps.rows * torch.nan), p, 0.0).failed
