"""Planted mistakes in the bounds of a half layer: each is noticed at errors that the right code contains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import adjoint, attention_bound, attention_sets, ellipsoid, row_sets
from proofkv_verify.decode import page_radius as pages
from tests.decode.half import Half, mutated, with_row_sets
from tests.decode.half_cases import (
    Case,
    blind_own_row,
    equal_keys,
    equal_values,
    loose_rows,
    one_blind_row,
    one_certain_page,
    one_lifted_own_row,
    opposed_heads,
    own_value,
    plain,
    spread_values,
    two_lengths,
    uneven_value_norms,
    uneven_values,
)


@cache
def case(make: Callable[..., Case], *given: Any) -> Case:
    return make(*given)


def page_bound(module: ModuleType, half: Half) -> Tensor:
    found: Tensor = module.page_radius(half.maps, half.bound, half.heads)
    return found


def joined_bound(module: ModuleType, half: Half) -> Tensor:
    return page_bound(with_row_sets(module), half)


def value_bound(module: ModuleType, half: Half) -> Tensor:
    heads = torch.arange(len(half.a)) % len(half.maps.of)
    found: Tensor = module.value_radius(half.bound, half.maps)[heads]
    return found


def rest_bound(module: ModuleType, half: Half) -> Tensor:
    found: Tensor = module.heads_remainder(half.maps, half.bound, half.a)
    return found


def rest_set(module: ModuleType, half: Half) -> Tensor:
    return ellipsoid.support(module.remainder_set(half.bound, half.maps), half.a)


CURVED = "curved = rest + twice + change.square() / (2 * torch.where(rest > 0, rest, 1.0))"
WEIGHTED_MEAN, RATIO = "mean = (p * along).sum(-1, keepdim=True)", "return bound.lin + bound.cross + bound.drift"
PAGES = {
    "the curvature is left out": (CURVED, "curved = rest + twice", (equal_keys, 2)),
    "a query error is not counted in the curvature": (
        "change = _grouped(maps, moved * length + mass.abs() * dq)",
        "change = _grouped(maps, moved * length)",
        (equal_keys, 2),
    ),
    "score change times query error is left out": (CURVED, CURVED.replace("twice + ", ""), (two_lengths,)),
    "centring is left out of the linear form": (
        " - (p * along).sum(-1, keepdim=True) * maps.scale * means",
        "",
        (plain, 0, 1, "norm", 1, 0, 1e-3),
    ),
    "centring is left out of the change of a row": (" + p * reach[..., None] * maps.scale", "", (one_blind_row,)),
    "the own value is left out": (" + own_value(maps, bound, heads)", "", (own_value,)),
    "the own key is left out": (" + itself", "", (blind_own_row,)),
    "centring is left out of the own key": ("+ maps.trace.p[:, -1, None] * reach", "", (blind_own_row,)),
    "weights change by the exponent alone": (RATIO, "return bound.lin + bound.cross", (opposed_heads,)),
    "the signed form stays where a page won": ("signed.gather(0, chosen[None])[0]", "signed[0]", (one_certain_page,)),
    "the query's error is left out of the linear form": (
        "(form + weighted @ maps.trace.wq)",
        "form",
        (plain, 0, 1, "norm", 1, 0, 0.1),
    ),
    "the values' linear form is left out": ("form + more)", "form)", (plain, 0, 2, "norm", 0, 1, 0.1)),
    "the values' linear form has the wrong sign": ("form + more)", "form - more)", (loose_rows, 0)),
    "the weights' change by key errors is left out": ("(bound.moved + bound.drift)", "bound.drift", (uneven_values,)),
    "weights are centred by a median": (
        WEIGHTED_MEAN,
        "mean = along[..., :-1].median(-1, keepdim=True).values",
        (uneven_values,),
    ),
    "a page's change is left out": (
        "torch.minimum(apart[-1], page_change * sigma)",
        "0",
        (plain, 1, 1, "sigma", 1, 0, 0.2),
    ),
    "the part in the box is left out": ("own * side + ", "", (plain, 1, 2, "box", 1, 1, 1e-3)),
    "the page's reach is left out": (
        "(apart + page_reach(shares, coefficient, vectors, sigma))",
        "apart",
        (plain, 2, 2, "sigma", 1, 0, 1e-3),
    ),
    "heads add in squares": (
        "box_and_ball(coefficient.mT @ vectors, norm, box)\n    length",
        "box_and_ball(coefficient.mT @ vectors / coefficient.shape[2] ** 0.5, norm, box)\n    length",
        (plain, 1, 3, "norm", 0, 1, 1e-3),
    ),
    "rows after the pages are left out": (" + rows[0, ..., inside:].sum((1, 2))", "", (loose_rows, 1)),
}
VALUES = {
    "the curvature of a page is left out": (
        " + (p * bent * ratio.square()).sum(-1) / 2",
        "",
        (spread_values, "sigma"),
    ),
    "the drift of the weights is left out": (
        "loose = bound.moved + bound.drift",
        "loose = bound.moved",
        (spread_values, "norm"),
    ),
    "key errors do not change the weights": (
        "loose = bound.moved + bound.drift",
        "loose = bound.drift",
        (uneven_value_norms,),
    ),
    "norms are centred by a median": (
        "(norms - mean[:, None]).abs() * loose",
        "(norms - norms[:, :-1].median(-1, keepdim=True).values).abs() * loose",
        (uneven_value_norms,),
    ),
    "the linear form is left out": (
        "signed = row_norms((weighted[:, None] @ bound.rows)[:, 0]) + 1e-12",
        "signed = 1e-12",
        (spread_values, "sigma"),
    ),
}
JOINED = {
    "the Frobenius norm stands for the nuclear norm": (
        "(product + 2 * both + 1e-7 * size)",
        "product",
        (plain, 2, 2, "sigma", 1, 0, 1e-3),
    ),
}
MISTAKES = {
    **{f"page radius: {name}": (pages, page_bound, *rest) for name, rest in PAGES.items()},
    **{f"page radius: {name}": (row_sets, joined_bound, *rest) for name, rest in JOINED.items()},
    **{f"value radius: {name}": (attention_bound, value_bound, *rest) for name, rest in VALUES.items()},
    "remainder: the own value is left out": (
        adjoint,
        rest_bound,
        " + own_value(maps, bound, heads)",
        "",
        (equal_values,),
    ),
    "remainder set: the own value is left out": (
        attention_sets,
        rest_set,
        "ball(values, segments), own, _quadratic",
        "ball(values, segments), _quadratic",
        (equal_values,),
    ),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_in_the_bounds_of_a_half_is_noticed(name: str) -> None:
    module, bound, old, new, given = MISTAKES[name]
    half, exact = case(*given)
    assert (exact <= bound(module, half)).all()
    assert (exact > bound(mutated(module, old, new), half)).any()


def test_a_drift_of_nothing_is_noticed() -> None:
    half, exact = case(one_lifted_own_row)
    assert (exact <= page_bound(pages, half)).all()
    assert (exact > page_bound(pages, replace(half, bound=replace(half.bound, drift=half.bound.drift * 0)))).any()


@pytest.mark.parametrize("make", [blind_own_row, own_value, opposed_heads, two_lengths, uneven_values])
def test_the_page_radius_is_nearly_attained_where_one_term_is_all(make: Callable[[], Case]) -> None:
    half, exact = case(make)
    assert float((exact / page_bound(pages, half)).max()) > 0.9
