"""Planted mistakes between an enclosure and a decision: each is noticed by a check that the right code passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from flint import arb, arb_mat
from torch import Tensor

from proofkv_verify.decode import enclosure as enclosure_module
from proofkv_verify.decode import loop as loop_module
from proofkv_verify.decode import pages as pages_module
from proofkv_verify.decode.adjoint import first_order
from proofkv_verify.decode.ellipsoid import support
from proofkv_verify.decode.enclosure import Enclosure
from proofkv_verify.decode.loop import ContradictionError, Decider, Gaps
from proofkv_verify.decode.maps import Maps, all_maps
from proofkv_verify.decode.model import Cache, advance
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Pages, Scheme, compress, decode
from proofkv_verify.reference import step_check as check_module
from proofkv_verify.reference.matrix import form, identity, matrix
from proofkv_verify.verdict import Verified
from tests.decode.half import with_jacobians
from tests.decode.harness import Step, only, search_violation, tiny_step
from tests.decode.test_pages import assert_inside, rows

F64 = torch.float64
NONE = torch.zeros(2, dtype=F64)


def enclosed(gap: float, radius: float, winner: int = 0) -> Enclosure:
    gaps, radii = torch.tensor([0.0, gap], dtype=F64), torch.tensor([0.0, radius], dtype=F64)
    return Enclosure("ellipsoid", True, winner, gaps, radii, "")


# Which rows a radius is about


def certifies_a_flip(rows_of: Callable[[Tensor, int], Tensor]) -> bool:
    """Scores of W h over |h - (1, 0)| <= 0.3: the rule certifies token 0, and at (1, 0.3) token 1 wins."""
    head = torch.tensor([[1.0, 0.0], [0.5, 2.0]], dtype=F64)
    nominal, true = torch.tensor([1.0, 0.0], dtype=F64), torch.tensor([1.0, 0.3], dtype=F64)
    radii = support(torch.eye(2, dtype=F64) * 0.09, rows_of(head, 0))
    certified = bool(((head[0] - head) @ nominal > radii)[1])
    return certified and int((head @ true).argmax()) != 0


def test_the_winners_own_radius_is_not_the_radius_of_a_gap() -> None:
    """Also the rule that holds the winner's lower end against the others' nominal scores."""
    assert not certifies_a_flip(lambda head, winner: head[winner] - head)
    assert certifies_a_flip(lambda head, winner: head[winner].expand_as(head))


# What an enclosure of one round or step may be used for


def meet_with_the_smaller_radius(self: Gaps, found: Enclosure, noise: Tensor) -> bool:
    """Radii taken as monotone: the smaller one around the new centre."""
    if self.winner == found.winner:
        old = (self.high - self.low) / 2
        found = replace(found, radii=torch.minimum(found.radii, old))
    self.winner, self.low, self.high = found.winner, found.gaps - found.radii, found.gaps + found.radii
    return bool((self.low > 0)[1])


def meet_leniently(self: Gaps, found: Enclosure, noise: Tensor) -> bool:
    """Enclosures that do not meet count as their hull's upper part."""
    low, high = found.gaps - found.radii, found.gaps + found.radii
    if self.winner == found.winner:
        low, high = torch.maximum(low, self.low), torch.maximum(high, self.high)
    self.winner, self.low, self.high = found.winner, low, high
    return bool((low > 0)[1])


def test_a_radius_need_not_shrink_so_a_smaller_one_is_not_kept_for_a_new_centre() -> None:
    """Both rounds hold a gap of -0.4, and the second one's centre with the first one's radius does not."""
    rounds = [enclosed(0.5, 1.0), enclosed(1.2, 2.0)]
    gaps = Gaps()
    assert [gaps.meet(r, NONE) for r in rounds] == [False, False]
    wrong = Gaps()
    assert [meet_with_the_smaller_radius(wrong, r, NONE) for r in rounds] == [False, True]


def test_rounds_that_do_not_meet_are_no_certificate() -> None:
    rounds = [enclosed(1.0, 0.5, 0), enclosed(3.0, 0.5, 0)]
    gaps, wrong = Gaps(), Gaps()
    assert gaps.meet(rounds[0], NONE)
    with pytest.raises(ContradictionError):
        gaps.meet(rounds[1], NONE)
    assert [meet_leniently(wrong, r, NONE) for r in rounds] == [True, True]


def decides_by_an_earlier_step(fresh: Callable[[], Gaps]) -> bool:
    """A wide gap in one step, a narrow one with the same winner in the next: the second is certified by the first."""
    first, second = fresh(), fresh()
    first.meet(enclosed(5.0, 1.0), NONE)
    return second.meet(enclosed(2.0, 3.0), NONE)


def test_an_enclosure_is_not_carried_to_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Gaps()
    assert not decides_by_an_earlier_step(Gaps)
    assert decides_by_an_earlier_step(lambda: kept)
    made: list[Gaps] = []

    def counted() -> Gaps:
        made.append(Gaps())
        return made[-1]

    monkeypatch.setattr(loop_module, "Gaps", counted)
    step = tiny_step(1, 10)
    for _ in range(2):
        assert Decider(step.model).decide(step.opened, step.token) is not None
    assert len(made) == 2


# How errors travel through layers and heads


def nothing_before(right: Callable[..., Any]) -> Callable[..., Any]:
    """Every half starts from an exact input: fresh errors are kept, what they grow into is not."""
    return lambda maps, p, *rest, **named: right(maps, torch.zeros_like(p), *rest, **named)


@pytest.mark.parametrize("half", ["attention_half", "mlp_half"])
def test_errors_of_earlier_halves_are_carried_on(half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = tiny_step(1, 8)
    assert search_violation(step, steps=2) == []
    monkeypatch.setattr(enclosure_module, half, nothing_before(getattr(enclosure_module, half)))
    assert search_violation(step, steps=2) != []


def first_order_faults(step: Step, change: Callable[[Maps], Maps] = lambda m: m) -> list[str]:
    """Which units' first-order parts differ from radius times gradient, summed over their rows."""
    known = only(step.sets, "norm")
    row = step.model.head[step.nominal.token] - step.model.head[(step.nominal.token + 1) % 16]
    caches = [Cache(c.keys.clone().requires_grad_(), c.values.clone().requires_grad_()) for c in step.caches]
    (row @ advance(step.model, step.token, step.opened.num_tokens, caches).final).backward()
    maps = [change(m) for m in all_maps(step.model.layers, step.nominal, known)]
    units, found = first_order(maps, row[None])[1][0], []
    for at, (cache, sets) in enumerate(zip(caches, known, strict=True)):
        for kind, (variable, norm) in enumerate(((cache.keys, sets.key_norm), (cache.values, sets.value_norm))):
            assert variable.grad is not None
            parts = variable.grad.norm(dim=-1) * norm
            pages = sets.key_sigma.shape[-1]
            exact = parts[:, : pages * sets.page_size].reshape(len(parts), pages, -1).sum(-1)
            if not bool(((units[kind, at] / exact - 1).abs() < 1e-6).all()):
                found.append(f"{('keys', 'values')[kind]} of layer {at}")
    return found


@pytest.mark.parametrize("group_size", [1, 2, 3])
def test_first_order_parts_are_the_gradient_times_the_radius(group_size: int) -> None:
    assert first_order_faults(tiny_step(2, 8, group_size=group_size)) == []


def averaged_heads(m: Maps) -> Maps:
    return replace(m, layer=replace(m.layer, wo=m.layer.wo / 2))


def one_layer_too_few(m: Maps) -> Maps:
    return with_jacobians(m, attention=torch.eye(len(m.trace.x), dtype=F64))


def scaled_twice(m: Maps) -> Maps:
    return replace(m, weighted=m.weighted * m.scale)


@pytest.mark.parametrize("change", [averaged_heads, one_layer_too_few, scaled_twice])
def test_a_mistake_in_the_adjoint_is_noticed(change: Callable[[Maps], Maps]) -> None:
    assert first_order_faults(tiny_step(2, 8), change) != []


# Sidecars


def on_original_scales(given: Tensor, scheme: Scheme) -> Pages:
    """Norms measured on what the exact range would restore, not on what the stored one does."""
    found, bits = compress(given, scheme), scheme.stored_bits
    norms = found.norms.clone()
    for kind, axis in ((0, -2), (1, -1)):
        zero, top = given[kind].amin(axis, keepdim=True), given[kind].amax(axis, keepdim=True)
        codes = pages_module._encode(given[kind], found.zero[kind], found.width[kind], bits)
        for at, b in enumerate(level for level in scheme.levels if level < 16):
            error = given[kind] - decode(codes >> (bits - b), zero, top - zero, b)
            norms[at, kind] = pages_module.half_up(error.norm(dim=-1))
    return replace(found, norms=norms)


def relative_norms(given: Tensor, scheme: Scheme) -> Pages:
    """Errors as a share of the row's own length, summed as if they were lengths."""
    found = compress(given, scheme)
    return replace(found, norms=pages_module.half_up(found.norms / given.norm(dim=-1).clamp_min(1e-6)))


def rounded_down(given: Tensor, scheme: Scheme) -> Pages:
    found = compress(given, scheme)
    below = torch.nextafter(found.norms.half(), torch.zeros((), dtype=torch.float16)).double()
    return replace(found, norms=torch.nextafter(below.half(), torch.zeros((), dtype=torch.float16)).double())


def first_tokens_norm(given: Tensor, scheme: Scheme) -> Pages:
    found = compress(given, scheme)
    return replace(found, norms=found.norms[..., :1].expand_as(found.norms))


def sidecars_fail(make: Callable[[Tensor, Scheme], Pages]) -> bool:
    """A row leaves its sidecar at some level, on rows of small and large ranges."""
    scheme = Scheme((5, 9, 15, 16))
    for scale in (3.0, 0.02):
        paged = rows(7, scale)
        try:
            found = Opened(make(paged, scheme), scheme, paged[:, :, :, 0, :0])
            for level in (5, 9, 15):
                found.refine(torch.full_like(found.levels, level))
                assert_inside(found, paged)
        except (AssertionError, ValueError):
            return True
    return False


@pytest.mark.parametrize("wrong", [on_original_scales, relative_norms, rounded_down, first_tokens_norm])
def test_a_mistake_in_a_norm_is_noticed(wrong: Callable[[Tensor, Scheme], Pages]) -> None:
    assert not sidecars_fail(compress)
    assert sidecars_fail(wrong)


def test_a_box_of_a_quarter_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofkv_verify.decode.opened.BOX_UP", 0.5)
    assert sidecars_fail(compress)


# The checker of a stored step


def test_the_checker_holds_the_winner_against_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores 3, 2 and 1: the last row moves far more than the runner-up's."""
    head = matrix([[3.0, 0.0], [2.0, 0.0], [1.0, 9.0]])

    model: Any = SimpleNamespace(layers=(), head=head)
    ball = SimpleNamespace(out=identity(2, arb(1) / 9))
    monkeypatch.setattr(check_module, "enclose", lambda *given: [ball])
    monkeypatch.setattr(check_module, "radius", lambda halves, row: form(row, ball.out))
    monkeypatch.setattr(check_module, "scores", lambda *given: (head * arb_mat([[1], [0]])).entries())
    pages: Any = check_module.Pages([], [], [])
    assert not isinstance(check_module._decide(model, [None], pages, 0), Verified)
    model.head = matrix([[3.0, 0.0], [2.0, 0.0]])
    assert isinstance(check_module._decide(model, [None], pages, 0), Verified)
