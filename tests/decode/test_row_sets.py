"""How far a linear form reaches over a row's box and ball and a page's spectral ball at once: bounds that are sharp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import attack, page_radius, row_sets
from proofkv_verify.decode.shapes import split
from tests.decode.half import mutated, with_row_sets
from tests.decode.test_ellipsoid import matrix

F64 = torch.float64
QUANTISED = 3**-0.5  # norm over |box| where errors are uniform in the box


def rows(seed: int, spread: float, loose: float) -> tuple[Tensor, Tensor, Tensor]:
    """Forms and boxes `[200, 32]` with sides that differ by factors e^spread, and norms `loose` |box|."""
    g, uneven, sides = (matrix(seed + 10 * i, 200, 32) for i in range(3))
    box = torch.exp(spread * sides)
    return g * torch.exp(spread * uneven), box.norm(dim=-1) * loose, box


def row_bound(module: Any, g: Tensor, norm: Tensor, box: Tensor) -> Tensor:
    side, inner = module.box_and_ball(g, norm, box)
    found: Tensor = side + inner.norm(dim=-1) * norm
    return found


def levels(g: Tensor, norm: Tensor, width: int = 2000) -> Tensor:
    """Where to cut `[width, T, 1]`, from almost all to nothing."""
    return torch.logspace(-5, 0, width, dtype=F64)[:, None, None] * (g.norm(dim=-1) / norm)[:, None]


def clipped(x: Tensor, box: Tensor) -> Tensor:
    return torch.maximum(torch.minimum(x, box), -box)


def farthest_of_rows(g: Tensor, norm: Tensor, box: Tensor) -> Tensor:
    """The largest <g, e> found over box and ball `[T]`: at g / l cut to the box, and at random points."""
    tried = torch.cat([clipped(g / levels(g, norm, 100), box), box * matrix(5, 100, *g.shape).clamp(-1, 1)])
    inside = tried * (norm / tried.norm(dim=-1)).clamp_max(1.0)[..., None]
    return (g * inside).sum(-1).amax(0)


def is_a_bound(module: Any) -> bool:
    """No error of box and ball that was found meets the form more."""
    cases = (rows(seed, *given) for seed, given in enumerate(product((0.0, 1.0), (QUANTISED, 0.9, 1.2))))
    return all(bool((farthest_of_rows(*case) <= row_bound(module, *case) * (1 + 1e-12)).all()) for case in cases)


def is_close(module: Any) -> bool:
    """No split that a fine scan finds is 1 % better."""
    for seed, spread in enumerate((0.0, 0.5)):
        g, norm, box = rows(seed, spread, QUANTISED)
        inner = clipped(g, levels(g, norm) * box)
        best = (((g - inner).abs() * box).sum(-1) + inner.norm(dim=-1) * norm).amin(0)
        if not bool((row_bound(module, g, norm, box) <= 1.01 * best).all()):
            return False
    return True


@dataclass(frozen=True)
class Paged:
    """Forms on two pages of 8 rows and 3 rows behind them, three directions, and the errors' sets."""

    coefficient: Tensor
    vectors: Tensor
    known: tuple[Tensor, Tensor, Tensor]
    size: int = 8

    def bound(self, module: Any) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = module._page_bound(self.coefficient, self.vectors, self.known, self.size)
        return found

    def paged(self, x: Tensor) -> Tensor:
        """`[R, G, T]` summed over each page's rows."""
        return split(x[..., : 2 * self.size], -1, (2, self.size)).sum(-1)

    def alone(self) -> tuple[Tensor, Tensor]:
        """The pages' bounds by the rows' sets and by the spectral ball `[R, G, P]`."""
        norm, box, sigma = self.known
        apart = self.paged(row_bound(row_sets, self.coefficient.mT @ self.vectors, norm, box))
        left = split(self.coefficient[..., : 2 * self.size], -1, (2, self.size)).transpose(2, 3)
        return apart, row_sets.nuclear_upper(left, self.vectors[:, :, None]) * sigma

    def attacked(self, change: Tensor | float = 0.0) -> Tensor:
        """The largest <G + D, e> found in all sets at once, row by row `[R, G, T]`."""
        forms = self.coefficient.mT @ self.vectors + change
        return torch.stack([(g * attack._farthest(g, *self.known, self.size)).sum(-1) for g in forms])

    def changed(self, seed: int, size: float) -> tuple[Tensor, Tensor]:
        """A change that is linear in the token's error, and one that is not; against the forms for negative sizes."""
        forms = self.coefficient.mT @ self.vectors
        linear, bent = (matrix(seed + i, 3, *self.known[0].shape, self.vectors.shape[-1]) for i in range(2))
        scale = abs(size) * forms.norm(dim=-1, keepdim=True)
        return (linear * scale, bent * scale / 8) if size >= 0 else (size * forms.expand_as(linear), bent * 0)

    def met(self, module: Any, linear: Tensor, bent: Tensor) -> Tensor:
        """The bound `[R]` on <G + D, e> for this very D, the sum of both changes."""
        change = linear + bent
        nuclear = torch.linalg.matrix_norm(split(change[:, :, : 2 * self.size], 2, (2, self.size)), "nuc")
        found = module._meet(
            self.coefficient, self.vectors, self.known, self.size, (change.norm(dim=-1), bent.norm(dim=-1), nuclear)
        )
        total: Tensor = found.total + (found.signed * linear).sum((1, 2, 3))
        return total


def pages(seed: int, heads: int, values: bool, scale: float = 1.0, loose: float = 1.0) -> Paged:
    """Errors uniform in their boxes; with `values` one box a row; `loose` makes the page's ball too large."""
    generator = torch.Generator().manual_seed(seed)
    groups, tokens, width = 2, 19, 6
    coefficient = matrix(seed + 1, 1 if values else 3, groups, heads, tokens).sinh()
    vectors = matrix(seed + 2, 3 if values else 1, groups, heads, width).sinh()
    box = torch.rand(groups, tokens if values else 1, 1 if values else width, generator=generator, dtype=F64) + 0.5
    true = (torch.rand(groups, tokens, width, generator=generator, dtype=F64) * 2 - 1) * box * scale
    sigma = torch.linalg.matrix_norm(split(true[:, :16], 1, (2, 8)), 2)
    box = box.expand(groups, tokens, -1) * scale
    return Paged(coefficient, vectors, (true.norm(dim=-1), box, sigma * loose))


PAGED = [pages(seed, heads, values) for seed in range(3) for heads in (1, 2, 3) for values in (False, True)]
PAGED += [pages(0, 1, values=False, scale=30.0), pages(0, 1, values=False, loose=100.0)]
ATTACKED = [x.paged(x.attacked()) for x in PAGED]
CHANGES = [(x, x.changed(seed, size)) for seed, x in enumerate(PAGED[::-2]) for size in (0.03, 0.3, 3.0, -0.1)]
CHANGED = [(x, change, x.attacked(sum(change)).sum((1, 2))) for x, change in CHANGES]


def bounds_pages(module: Any) -> bool:
    """No attack in the intersection passes the bound of its page."""
    return all(bool((found <= x.bound(module)[0]).all()) for x, found in zip(PAGED, ATTACKED, strict=True))


def split_pays(module: Any) -> bool:
    """The bound is never above what the rows or the page give alone, and 1 % below both where both count."""
    ratios = []
    for x in PAGED:
        less = torch.minimum(*x.alone())
        ratios.append(x.bound(module)[0] / less)
    found = torch.cat([x.flatten() for x in ratios])
    return bool((found <= 1 + 1e-8).all()) and float((found < 0.99).double().mean()) > 0.2


def bounds_changes(module: Any) -> bool:
    """No attack on a form that has changed passes the bound, less its signed part."""
    return all(bool((found <= x.met(module, *change)).all()) for x, change, found in CHANGED)


def of_row_sets(fact: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda module: fact(with_row_sets(module))


def test_a_split_of_box_and_ball_bounds_every_error_of_both() -> None:
    assert is_a_bound(row_sets)


def test_the_split_of_box_and_ball_is_within_one_percent_of_the_best() -> None:
    assert is_close(row_sets)


def test_the_split_of_box_and_ball_is_never_above_the_ball_alone() -> None:
    for seed, (spread, loose) in enumerate(product((0.0, 1.0, 2.0), (0.1, QUANTISED, 1.0, 2.0))):
        g, norm, box = rows(seed, spread, loose)
        assert (row_bound(row_sets, g, norm, box) <= g.norm(dim=-1) * norm * (1 + 1e-8)).all()


def test_a_row_without_error_is_left_to_the_ball() -> None:
    g, norm, box = rows(0, 1.0, QUANTISED)
    side, inner = row_sets.box_and_ball(g, norm * 0, box)
    assert not side.any()
    assert torch.equal(inner, g)


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_shares_lie_between_none_and_all(heads: int) -> None:
    alone, _ = pages(0, heads, values=False).alone()
    alone[0, 0] = 0
    shares = row_sets.page_shares(alone)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert not shares[0].any()
    assert (shares[-1] == 1).all()
    assert ((shares[1:-1] > 0) & (shares[1:-1] < 1)).any()


def test_a_page_that_nothing_is_left_to_reaches_nothing_even_without_a_sidecar() -> None:
    x = pages(0, 2, values=False)
    shares = row_sets.page_shares(torch.ones(3, 2, 2, 8, dtype=F64))
    reach = row_sets.page_reach(shares, x.coefficient, x.vectors, torch.full_like(x.known[2], torch.inf))
    assert (reach[0] == 0).all()
    assert reach[1:].isinf().all()
    norm, box, sigma = x.known
    unknown = Paged(x.coefficient, x.vectors, (norm, box, sigma * torch.inf)).bound(page_radius)[0]
    assert (unknown <= x.alone()[0] * (1 + 1e-8)).all()


def test_no_attack_passes_the_bound_of_its_page() -> None:
    assert bounds_pages(page_radius)


def test_a_split_is_below_the_rows_and_the_page_alone() -> None:
    assert split_pays(page_radius)


def test_no_attack_on_a_form_that_changes_passes_its_bound() -> None:
    assert bounds_changes(page_radius)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_unknown_set_bounds_nothing(which: int) -> None:
    x = pages(0, 2, values=False)
    known = [k.clone() for k in x.known]
    known[which].view(-1)[0] = torch.nan
    unknown = Paged(x.coefficient, x.vectors, (known[0], known[1], known[2]))
    assert unknown.met(page_radius, *x.changed(0, 0.1)).isnan().all()
    paged, behind = unknown.bound(page_radius)
    assert paged[:, 0, 0].isnan().all()
    assert (paged[:, 1].isfinite()).all()
    assert behind.isfinite().all()


@pytest.mark.parametrize("heads", [2, 3, 4])
def test_heads_that_cancel_leave_a_nuclear_norm(heads: int) -> None:
    """Two rows that differ by 1e-8 and meet with opposite signs: the rounding of their squares exceeds the rest."""
    left, right = matrix(1, 200, 1, 16).repeat(1, heads, 1), matrix(2, 200, 1, 8) + 1e-8 * matrix(3, 200, heads, 8)
    left[:, 1] *= -1
    left[:, 2:] = 0
    exact = left[:, 0].norm(dim=-1) * (right[:, 0] - right[:, 1]).norm(dim=-1)
    assert (row_sets.nuclear_upper(left, right) >= exact).all()


MISTAKES: dict[str, tuple[ModuleType, str, str, Callable[[Any], bool]]] = {
    "what is cut to the box is left out": (row_sets, "((g - inner).abs() * box)", "(0 * g * box)", is_a_bound),
    "the box counts half": (row_sets, "((g - inner).abs() * box)", "((g - inner).abs() * box / 2)", is_a_bound),
    "the ball holds less than is left": (row_sets, "sum(-1) * UP, inner", "sum(-1) * UP, inner * 0.99", is_a_bound),
    "the cut takes the wrong norm": (row_sets, "norm.square()", "norm", is_close),
    "what is cut still fills the ball": (row_sets, "(whole - used)", "whole", is_close),
    "sigma is forgotten": (row_sets, "vectors[:, :, None]) * sigma", "vectors[:, :, None])", of_row_sets(bounds_pages)),
    "the first shares reach nothing": (
        row_sets,
        "torch.zeros_like(some[:1]), some]",
        "torch.zeros_like(some[:2]), some[1:]]",
        of_row_sets(bounds_pages),
    ),
    "the page reaches a part of its share": (
        row_sets,
        "paged * shares[1:, ..., None, :]",
        "paged * shares[1:, ..., None, :] ** 2",
        of_row_sets(bounds_pages),
    ),
    "the page reaches more than its share": (
        row_sets,
        "paged * shares[1:, ..., None, :]",
        "paged + 0 * shares[1:, ..., None, :]",
        of_row_sets(split_pays),
    ),
    "the share is taken off the rows twice": (
        page_radius,
        "(1 - shares) * paged",
        "(1 - shares) ** 2 * paged",
        bounds_pages,
    ),
    "the part in the box is left out": (page_radius, "own * side + ", "", bounds_changes),
    "the page's part is left out": (
        page_radius,
        "(apart + page_reach(shares, coefficient, vectors, sigma))",
        "apart",
        bounds_changes,
    ),
    "the ball keeps less than the page leaves": (
        page_radius,
        "rest = own * length",
        "rest = own**2 * length",
        bounds_changes,
    ),
    "the signed form is the whole row's": (
        page_radius,
        "weight[..., None] * inner)",
        "weight[..., None] * (coefficient.mT @ vectors))",
        bounds_changes,
    ),
    "the share is not taken off the rows": (page_radius, "((1 - shares) * paged)", "(shares * 0 + paged)", split_pays),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_in_the_split_is_noticed(name: str) -> None:
    module, old, new, fact = MISTAKES[name]
    assert fact(module)
    assert not fact(mutated(module, old, new))
