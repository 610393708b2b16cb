"""Sums over the rows of a head: many directions at once, and sets of one kind that are summed by their weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from proofkv_verify.decode import adjoint, attention_bound, attention_half, attention_sets
from proofkv_verify.decode.attention_bound import AttentionBound, own_change, value_change, value_radius
from proofkv_verify.decode.ellipsoid import ball, combine, image, row_norms, support
from tests.decode.half import Half, attacked, changed, half_of, mutated, scaled, tiny_maps
from tests.decode.test_ellipsoid import largest_product, matrix, psd

F64 = torch.float64
HEADS, ROWS, SIZE, MANY = 3, 20, 5, 4


def uniform(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@cache
def rows_bound(scale: float) -> AttentionBound:
    """A bound with rows of many lengths, and centred key errors beside them."""
    rows = matrix(1, HEADS, ROWS, SIZE) * (3 * uniform(2, HEADS, ROWS, 1)) ** 2 * scale
    lin, cross, curve, third = (
        row_norms(rows),
        uniform(3, HEADS, ROWS),
        uniform(4, HEADS, ROWS),
        uniform(5, HEADS, ROWS),
    )
    even = cross**2 / 2 + curve * lin**2 + third * (2 * lin * cross + cross**2)
    return replace(
        half_of(tiny_maps(0), 0.1).bound, rows=rows, lin=lin, cross=cross, curve=curve, third=third, even=even
    )


def sums(found: ModuleType, weights: Tensor, scale: float) -> dict[str, Tensor]:
    """All three sums for weights `[..., H, n]`, `swing` for them as factors."""
    bound, p = rows_bound(scale), uniform(6, HEADS, ROWS)
    turn = torch.linalg.eigvalsh((bound.rows.mT * p[:, None]) @ bound.rows).amax(-1) * (1 + 1e-9)
    return {
        "spread": found.spread(weights, bound.rows),
        "swing": found.swing(weights, p, bound.lin, turn),
        "squares": found.squares(weights, bound),
    }


def exact_sums(weights: Tensor, scale: float) -> dict[str, Tensor]:
    """The same at the worst of many points of the ball."""
    bound, p = rows_bound(scale), uniform(6, HEADS, ROWS)
    vectors = [torch.linalg.eigh((bound.rows.mT * w[:, None]) @ bound.rows)[1][:, :, -1] for w in (*weights, p)]
    z = normalize(torch.cat([matrix(7, 300, SIZE), bound.rows.flatten(0, 1), *vectors]), dim=-1)
    moved = (bound.rows @ z.T).abs()
    cross, third = bound.cross[..., None], bound.third[..., None]
    even = cross**2 / 2 + bound.curve[..., None] * moved**2 + third * (2 * moved * cross + cross**2)
    terms = {"spread": moved**2, "swing": p[..., None] * moved, "squares": even}
    return {name: (weights[..., None] * term).sum(-2).amax(-1) for name, term in terms.items()}


@cache
def directions() -> Tensor:
    """Weights of directions that have little in common: a few rows each, and the sizes of the directions differ."""
    picked = uniform(8, MANY, HEADS, ROWS) ** 4
    return picked * torch.tensor([0.1, 1.0, 10.0, 3.0], dtype=F64)[:, None, None]


def mixed_up(found: ModuleType) -> set[str]:
    """Sums of many directions that differ from those of each alone, or that a point of the ball is above."""
    faults = set()
    for scale in (1.0, 0.1, 0.01):
        together, exact = sums(found, directions(), scale), exact_sums(directions(), scale)
        alone = [sums(found, w, scale) for w in directions()]
        for name, upper in together.items():
            single = torch.stack([each[name] for each in alone])
            if (exact[name] > upper).any():
                faults.add(name)
            if upper.shape != single.shape or not ((upper / single - 1).abs() < 1e-9).all():
                faults.add(f"{name} of many")
    return faults


SWING = "((weighted * factor).sum(-1) * turn).sqrt()"
SUM_MISTAKES = {
    "directions and heads change places": ("found.T.reshape(weights.shape[:-1])", "found.reshape(weights.shape[:-1])"),
    "each direction has another's weights": (".permute(1, 2, 0)[..., None]", ".permute(1, 2, 0).flip(2)[..., None]"),
    "all directions have the first one's weights": (
        ".permute(1, 2, 0)[..., None]",
        "[:1].expand(weights.numel() // (heads * tokens), -1, -1).permute(1, 2, 0)[..., None]",
    ),
    "factors are not squared": (SWING, "(weighted.sum(-1) * turn).sqrt()"),
    "the rows' common size is left out": (SWING, "(weighted * factor).sum(-1).sqrt()"),
    "the rows' lengths are left out": (".minimum((weighted * lin).sum(-1))", ".minimum(weighted.sum(-1))"),
    "weights without their factors": (".minimum((weighted * lin).sum(-1))", ".minimum((p * lin).sum(-1))"),
    "the key errors' own squares are left out": ("whole = whole + (weights * bound.cross.square()).sum(-1) / 2", ""),
    "curves without weights": ("spread(weights * bound.curve, bound.rows)", "spread(bound.curve, bound.rows)"),
    "curves add in squares": ("bound.rows).sqrt() + own).square()", "bound.rows) + own.square())"),
}


def test_sums_of_many_directions_are_those_of_each_and_above_every_point() -> None:
    assert mixed_up(attention_bound) == set()


@pytest.mark.parametrize("name", sorted(SUM_MISTAKES))
def test_a_mistake_in_the_sums_is_noticed(name: str) -> None:
    assert mixed_up(mutated(attention_bound, *SUM_MISTAKES[name])) != set()


# The sets of one head


@cache
def some_half(first_order: bool) -> Half:
    return half_of(scaled(tiny_maps(1, group_size=2), 2, 2), 0.3, rank=16, remainder_only=not first_order)


def plain_sets(half: Half, metric: Tensor, *, first_order: bool) -> Tensor:
    """Each head's sets as a sum of ellipsoids, one for the tokens' segments, one for each other kind."""
    m, bound, c = half.maps, half.bound, half.maps.centred
    lengths = ((c @ metric) * c).sum(-1).sqrt()
    every = attention_sets._segments(bound, m, lengths, bound.moved, bound.longest)
    alone = every if first_order else attention_sets._segments(bound, m, lengths, bound.bil, bound.dq)
    kinds = [alone, attention_sets._crossed(bound, m, lengths), bound.zz[:, None].square() * every]
    segments = combine([torch.einsum("hn,hnx,hny->hxy", w, c, c) for w in kinds], metric)
    values = value_radius(bound, m) if first_order else value_change(bound, m.trace.p)
    own = image(m.layer.wv[m.of], bound.p_in) * own_change(bound, m.trace.p).square()[:, None, None]
    linear = image(m.heads, bound.p_in) * bound.zz.square()[:, None, None]
    near = torch.einsum("hkx,hka,hkb->hxab", bound.near_weighted, bound.near, bound.near).flatten(2)
    return combine([segments, ball(values, segments), own, near @ near.mT / 4, linear], metric)


def set_faults(found: ModuleType) -> set[str]:
    """Where the heads' sets are not the sums of ellipsoids that they stand for."""
    faults = set()
    for first_order in (True, False):
        half = some_half(first_order)
        metric = half.maps.layer.wo.mT @ half.maps.layer.wo
        got = found._head_sets(half.bound, half.maps, metric, first_order=first_order)
        plain = plain_sets(half, metric, first_order=first_order)
        if not ((got - plain).abs().amax((1, 2)) < 1e-7 * plain.diagonal(dim1=1, dim2=2).sum(1)).all():
            faults.add(f"sum {first_order}")
        quadratic = found._quadratic(half.bound)
        if (largest_quadratic(half.bound, half.heads) > torch.stack([*map(support, quadratic, half.heads)])).any():
            faults.add("quadratic map")
    return faults


def largest_quadratic(bound: AttentionBound, heads: Tensor) -> Tensor:
    """The largest sum of the nearest tokens' (c . near_weighted) (near z)^2 / 2 in each direction `[H, R]`."""
    c = bound.near_weighted @ heads.mT
    forms = torch.einsum("hkr,hka,hkb->hrab", c, bound.near, bound.near) / 2
    return torch.linalg.eigvalsh(forms).abs().amax(-1)


KINDS = "torch.stack([alone, _crossed(bound, maps, lengths), every * zz.square()])"
OWN = "carried[len(c) :][maps.of] * change.square() * UP"
SET_MISTAKES = {
    "the segments are left out": (KINDS, "torch.stack([_crossed(bound, maps, lengths), every * zz.square()])"),
    "the crossed terms are left out": (KINDS, "torch.stack([alone, every * zz.square()])"),
    "the segments of the change of Z are left out": (KINDS, "torch.stack([alone, _crossed(bound, maps, lengths)])"),
    "the change of Z is not squared": ("every * zz.square()", "every * zz"),
    "the change of Z moves other segments": ("every * zz.square()", "alone * zz.square()"),
    "the query error's segments are the whole ones": (
        "alone = every if first_order else",
        "alone = every if True else",
    ),
    "kinds of segments add in squares": ("sizes.sum(0) / sizes)", "1.0)"),
    "kinds of segments have the weight of their tokens": ("(weights * lengths.square()).sum(-1)", "weights.sum(-1)"),
    "the change of Z leaves out the linear part": ("_quadratic(bound), linear]", "_quadratic(bound)]"),
    "the linear part is not squared": ("zz[..., None].square() * UP", "zz[..., None] * UP"),
    "the quadratic map is left out": ("own, _quadratic(bound), linear]", "own, linear]"),
    "the own value is left out": ("ball(values, segments), own, ", "ball(values, segments), "),
    "the own value is another head's": (OWN, "carried[len(c) :].repeat(2, 1, 1) * change.square() * UP"),
    "the own value's change is not squared": (OWN, "carried[len(c) :][maps.of] * change * UP"),
    "the values are left out": ("[segments, ball(values, segments), ", "[segments, "),
    "a quarter of the quadratic map": ("@ weighted / 4", "@ weighted / 16"),
    "the rows' products are not squared": ("(near @ near.mT).square()", "(near @ near.mT)"),
}


def test_the_sets_of_a_head_are_sums_of_ellipsoids() -> None:
    assert set_faults(attention_sets) == set()


@pytest.mark.parametrize("name", sorted(SET_MISTAKES))
def test_a_mistake_in_the_sets_of_a_head_is_noticed(name: str) -> None:
    assert set_faults(mutated(attention_sets, *SET_MISTAKES[name])) != set()


# What is even in the query's error


@cache
def exact_rows() -> tuple[Half, Tensor]:
    """Exact rows, and an own row that stays: what is left beside the linear part is of second order and higher."""
    half = half_of(scaled(changed(tiny_maps(1, group_size=1), still="kv"), 0, 0), 0.02)
    return half, attacked(half)


def even_share(found: ModuleType) -> float:
    half, exact = exact_rows()
    return float((exact / found.even_remainder(half.maps, half.bound, half.a)).max())


EVEN_MISTAKES: dict[str, tuple[str, str]] = {
    "the quadratic map is left out": ("total: Tensor = symbols + drift + bent\n", "total: Tensor = symbols + drift\n"),
    "a quarter for a half": ("(bound.near * near).mT @ bound.near / 2", "(bound.near * near).mT @ bound.near / 4"),
    "the rows' weights are left out": ("(bound.near * near).mT", "(bound.near * near * 0).mT"),
}


def test_the_quadratic_map_is_nearly_all_of_the_even_part_at_small_errors() -> None:
    assert 0.9 < even_share(adjoint) <= 1


@pytest.mark.parametrize("name", sorted(EVEN_MISTAKES))
def test_a_mistake_in_the_even_part_is_noticed(name: str) -> None:
    assert even_share(mutated(adjoint, *EVEN_MISTAKES[name])) > 1


# How far the normalised input's error moves queries, own keys and own values


def reach_faults(found: ModuleType) -> set[str]:
    """Which lengths at an ellipsoid of the input are below the largest of its points, or far above."""
    maps, p = tiny_maps(2), psd(3, 16, 16)
    got, b = found._reach(maps, p), torch.linalg.cholesky(p)
    tr, wv = maps.trace, maps.layer.wv
    exact = {
        "dq": torch.linalg.matrix_norm(tr.wq @ b, 2),
        "along": (tr.q[:, None] @ tr.wq @ b)[:, 0].norm(dim=-1),
        "own": largest_product(tr.wq @ b, tr.wk[maps.of] @ b),
        "dv": torch.linalg.matrix_norm(wv @ b, 2),
        "rows": (maps.rows @ maps.turns @ b).norm(dim=-1),
    }
    faults = set()
    for name, length in exact.items():
        bound = row_norms(got.rows) if name == "rows" else getattr(got, name)
        if not ((length <= bound) & (bound < length * 8 ** (1 / 4) * 1.001)).all():
            faults.add(name)
    return faults


REACH_MISTAKES = {
    "values have the queries' lengths": ("dv=lengths[len(gram) :]", "dv=lengths[:2]"),
    "queries have the values' lengths": ("dq=lengths[: len(gram)]", "dq=lengths[-2:][maps.of] * maps.scale"),
    "lengths are not roots": ("values @ values.mT])).sqrt() * UP", "values @ values.mT])) * UP"),
    "heads meet another group's key": ("keys[maps.of])", "keys.repeat(2, 1, 1))"),
    "the own key does not move": (
        "(part, 0, tuple(x.shape[:2])) for x",
        "(part * (x is not wk), 0, tuple(x.shape[:2])) for x",
    ),
    "the scale stays in the query": (
        "along=row_norms((maps.trace.q[:, None] @ turned[:, :-1])[:, 0]) / maps.scale",
        "along=row_norms((maps.trace.q[:, None] @ turned[:, :-1])[:, 0])",
    ),
    "the own key's column is left out": (
        "rows=maps.rows @ root(widen(gram,",
        "rows=maps.rows * (torch.arange(5) < 4) @ root(widen(gram,",
    ),
}


def test_lengths_at_an_ellipsoid_of_the_input_are_above_every_point_and_near_the_largest() -> None:
    assert reach_faults(attention_half) == set()


@pytest.mark.parametrize("name", sorted(REACH_MISTAKES))
def test_a_mistake_in_the_lengths_is_noticed(name: str) -> None:
    assert reach_faults(mutated(attention_half, *REACH_MISTAKES[name])) != set()
