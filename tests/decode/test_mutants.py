"""Planted mistakes on the decoding path: each is noticed by a check that the right code passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from proofkv_verify.ball import Real
from proofkv_verify.decode.attention_half import key_radii
from proofkv_verify.decode.ellipsoid import combine, image, support
from proofkv_verify.decode.enclosure import Enclosure
from proofkv_verify.decode.loop import Gaps
from proofkv_verify.decode.maps import Maps, maps_of, norm_jacobian
from proofkv_verify.decode.model import turn
from proofkv_verify.decode.norm_half import NormBound, norm_half
from proofkv_verify.reference.rope import Rope, rotate
from tests.decode.half import with_jacobians
from tests.decode.harness import tiny_step
from tests.decode.test_ellipsoid import depths, matrix, points, psd
from tests.decode.test_maps import jacobian_faults

F64 = torch.float64


@dataclass(frozen=True)
class Mutant:
    """A wrong function for a right one, and a check that takes either and says whether it found a fault."""

    mistake: str
    right: Callable[..., Any]
    wrong: Callable[..., Any]
    fault: Callable[[Callable[..., Any]], bool]


def certifies(gaps: list[float], radii: list[float], winner: int = 0) -> Callable[[Callable[..., Any]], bool]:
    """The rule certifies an enclosure that holds a cache with another winner (or none that is shown)."""
    found = Enclosure("x", True, winner, torch.tensor(gaps, dtype=F64), torch.tensor(radii, dtype=F64), "")
    return lambda rule: bool(rule(found))


def others(e: Enclosure) -> Tensor:
    return torch.arange(len(e.gaps)) != e.winner


def rule(e: Enclosure) -> bool:
    return e.certified and Gaps().meet(e, torch.zeros(len(e.gaps), dtype=F64))


def runner_up_only(e: Enclosure) -> bool:
    at = int(torch.where(others(e), e.gaps, torch.inf).argmin())
    return bool(e.gaps[at] > e.radii[at])


def misses_aligned_points(add: Callable[..., Any]) -> bool:
    """Points of three ellipsoids in one direction leave the sum."""
    parts, direction = [psd(1), psd(2), psd(3)], matrix(4, 6)
    worst = sum((direction @ p @ direction).sqrt() for p in parts)
    return bool(worst > support(add(parts), direction[None])[0])


def misses_rmsnorm(half: Callable[..., Any]) -> bool:
    """RMSNorm moves farther than the bound says, over points of the ellipsoid; x as in (1, 0) -> (0.2, 0.6)."""
    x = torch.tensor([1.0, 0.0, 0.1, 0.0, 0.0, -0.1], dtype=F64)
    rho = float((x @ x / 6 + 1e-5).sqrt())
    p = psd(12) * 0.004
    bound = half(x, rho, p)
    moved = torch.stack([(x + d) / ((x + d) @ (x + d) / 6 + 1e-5).sqrt() - x / rho for d in points(p, 7, 300)])
    return bool((depths(bound.out, moved) > 1).any())


def norm_at_the_centre(x: Tensor, rho: float, p: Tensor) -> NormBound:
    zero = torch.zeros((), dtype=F64)
    return NormBound(zero, zero, x / rho, rho, p, image(norm_jacobian(x, rho), p), zero, zero * x)


def misses_score_moves(radii: Callable[..., Any]) -> bool:
    """Aligned key and query errors move a score by more than kappa + bil."""
    step = tiny_step(0, 6)
    tr, known = step.nominal.layers[1], step.sets[1]
    of = step.model.heads_to_kv
    dq = torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=F64)
    kappa, bil = radii(tr, known, of, dq, dq)
    for h, g in enumerate(of.tolist()):
        unit = tr.q[h] / tr.q[h].norm()
        size = torch.minimum(known.key_norm[g], (known.key_box[g] / unit.abs()).amin(-1))
        moved = (tr.q[h] + dq[h] * unit) @ unit * size * tr.q.shape[-1] ** -0.5
        if bool((moved > (kappa + bil)[h, :-1]).any()):
            return True
    return False


def on_radii(change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Callable[..., Any]:
    return lambda *given: change(*key_radii(*given))


def group_mean_query(tr: Any, sets: Any, of: Tensor, dq: Tensor, dk: Tensor) -> tuple[Tensor, Tensor]:
    mean = tr.q.reshape(len(tr.wk), -1, tr.q.shape[-1]).mean(1)
    return key_radii(replace(tr, q=mean[of]), sets, of, dq, dk)


def refined_rows_do_not_move(make: Callable[..., Any]) -> bool:
    """With every key exact the scores still move by dq.k: rows of zero would say that they do not."""
    step = tiny_step(1, 12)
    m = make(step.model.layers[1], step.nominal.layers[1], step.sets[1])
    return not bool((m.rows @ m.turns).abs().amax(-1).min() > 0)


def wrong_jacobian(make: Callable[..., Any]) -> bool:
    step = tiny_step(1, 8)
    made = [make(a, b, c) for a, b, c in zip(step.model.layers, step.nominal.layers, step.sets, strict=True)]
    return jacobian_faults(step, made) != []


def on_maps(change: Callable[[Maps], Maps]) -> Callable[..., Maps]:
    return lambda layer, tr, sets: change(maps_of(layer, tr, sets))


def with_heads(m: Maps, heads: Tensor, own: Tensor) -> Maps:
    return replace(m, attention_out=(m.layer.wo @ (heads + own)).sum(0))


def own_value(m: Maps) -> Tensor:
    return m.trace.p[:, -1, None, None] * m.layer.wv[m.of]


def own_key_dropped(m: Maps) -> Maps:
    return with_heads(m, (m.weighted.mT @ m.rows[..., :-1]) @ m.turns[:, :-1], own_value(m))


def own_share_of_each_token(m: Maps) -> Maps:
    """1[i = s] - p_i in place of 1[i = s] - p_s: centring takes the wrong share off."""
    rows = m.rows.clone()
    rows[..., -1] = -m.trace.p
    rows[:, -1, -1] += 1
    return with_heads(m, (m.weighted.mT @ rows) @ m.turns, own_value(m))


def heads_of_another_group(m: Maps) -> Maps:
    flipped = m.layer.wv.flip(0)[m.of]
    return with_heads(m, m.heads, m.trace.p[:, -1, None, None] * flipped)


def identity_dropped(m: Maps) -> Maps:
    eye = torch.eye(len(m.trace.x), dtype=F64)
    return with_jacobians(m, attention=m.attention - eye, mlp=m.mlp - eye)


def turns_wrong_pairs(rotate_rows: Callable[..., Any]) -> bool:
    """The model's RoPE disagrees with the reference's."""
    vector = [0.5, -1.0, 2.0, 0.25]
    angles = torch.tensor([3.0, 3.0 * 10000 ** (-0.5)], dtype=F64)[:, None]
    found = rotate_rows(torch.tensor(vector, dtype=F64)[:, None], angles.cos(), angles.sin())[:, 0]
    exact = rotate([Real(v) for v in vector], Rope(Fraction(10000), 4), 3)
    return any(abs(float(a) - float(b.ball.mid())) > 1e-12 for a, b in zip(found, exact, strict=True))


def interleaved_turn(weights: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = weights[..., ::2, :], weights[..., 1::2, :]
    return torch.stack([cos * a - sin * b, sin * a + cos * b], -2).flatten(-3, -2)


MUTANTS = {
    "runner_up_only": Mutant(
        "only the closest rival is tested", rule, runner_up_only, certifies([0, 0.5, 0.6], [0, 0.1, 0.9])
    ),
    "tie_certifies": Mutant(
        "a gap equal to its radius is enough",
        rule,
        lambda e: bool((e.gaps >= e.radii)[others(e)].all()),
        certifies([0, 0.5], [0, 0.5]),
    ),
    "nan_certifies": Mutant(
        "certified unless a radius is shown too large",
        rule,
        lambda e: not bool((e.radii > e.gaps)[others(e)].any()),
        certifies([0, 1], [0, float("nan")]),
    ),
    "no_proof_certifies": Mutant(
        "the first-order radii are believed",
        rule,
        lambda e: bool((e.gaps > e.radii)[others(e)].all()),
        lambda r: bool(
            r(Enclosure("first-order", False, 0, torch.tensor([0.0, 1.0], dtype=F64), torch.zeros(2, dtype=F64), ""))
        ),
    ),
    "root_sum_square": Mutant(
        "independent parts add in squares", combine, lambda parts: torch.stack(parts).sum(0), misses_aligned_points
    ),
    "largest_part": Mutant(
        "the largest part stands for the sum",
        combine,
        lambda parts: max(parts, key=lambda p: float(p.trace())),
        misses_aligned_points,
    ),
    "norm_at_the_centre": Mutant("RMSNorm by its slope at the centre", norm_half, norm_at_the_centre, misses_rmsnorm),
    "no_dq_dk": Mutant(
        "the product of query and key error is dropped",
        key_radii,
        on_radii(lambda k, b: (k, b * 0)),
        misses_score_moves,
    ),
    "scaled_twice": Mutant(
        "1/sqrt(d) is applied twice", key_radii, on_radii(lambda k, b: (k / 2, b / 2)), misses_score_moves
    ),
    "group_mean_query": Mutant(
        "the mean query of a group stands for its heads", key_radii, group_mean_query, misses_score_moves
    ),
    "refined_is_certain": Mutant(
        "an opened page's scores do not move",
        maps_of,
        on_maps(lambda m: replace(m, rows=m.rows * 0)),
        refined_rows_do_not_move,
    ),
    "own_key_dropped": Mutant("the token's own key does not move", maps_of, on_maps(own_key_dropped), wrong_jacobian),
    "own_value_dropped": Mutant(
        "the token's own value does not move",
        maps_of,
        on_maps(lambda m: with_heads(m, m.heads, own_value(m) * 0)),
        wrong_jacobian,
    ),
    "own_share_of_each_token": Mutant(
        "the own score is centred by each token's weight", maps_of, on_maps(own_share_of_each_token), wrong_jacobian
    ),
    "heads_of_another_group": Mutant(
        "query heads read another KV head", maps_of, on_maps(heads_of_another_group), wrong_jacobian
    ),
    "identity_dropped": Mutant("the residual path is left out", maps_of, on_maps(identity_dropped), wrong_jacobian),
    "interleaved_rope": Mutant(
        "neighbours turn together in a half-split model", turn, interleaved_turn, turns_wrong_pairs
    ),
}


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_the_mutant_is_noticed_and_the_right_code_is_not(name: str) -> None:
    mutant = MUTANTS[name]
    assert not mutant.fault(mutant.right)
    assert mutant.fault(mutant.wrong), mutant.mistake
