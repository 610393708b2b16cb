"""Which pages to open by the page-additive bound of an attention output: the problem, a greedy plan, the exact minimum.

The bound charges every page once, from the compressed cache and its sidecars alone, and holds for every set of opened
pages at once, so choosing the cheapest set is a covering knapsack. It needs an exact query: in a step that is the first
layer's, whose input is the token's embedding.

The problem, for one KV head: open the fewest pages (keys and values together, from their width to the stored rows) so
that for each of its query heads the charges of the closed pages sum to at most its allowance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.decode.exact_plan import PlanProblem, minimum_plan
from proofkv_verify.decode.model import F64, Model, Trace
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.pages import FULL

_UP = 1 + 2.0**-30


def page_charges(scores: Tensor, radii: Tensor, values: Tensor, value_radii: Tensor, page: Tensor) -> Tensor:
    """Charges u_p with |o - o_F| <= sum of u_p over the pages outside F, for every set F of opened pages at once.

    o is the attention output of the exact rows, o_F that of the exact rows on F and the compressed ones elsewhere.
    u_p = a_p ((1 - e^-c_p) D_p + eta_p): a_p is the largest share that page p can have when every score moves by at
    most its page's c, D_p the largest distance of a compressed value in p from any other, their radii added.

    Args:
        scores: compressed scores of all rows, scaled `[n]`.
        radii: bound on the error of each score `[n]`, 0 where it is exact.
        values: compressed values `[n, D]`.
        value_radii: bound on the L2 error of each value `[n]`.
        page: page of each row, numbers from 0 on `[n]`.

    Returns:
        The charges `[P]`, in the unit of the values, rounded up by more than float64 loses.

    Sound when: the query is exact; every bound holds for the rows behind the pages.
    Lean: ProofKV.attention_error_le_charges
    """
    member = page == torch.arange(int(page.max()) + 1)[:, None]
    c, eta = (torch.where(member, x, 0.0).amax(1) for x in (radii, value_radii))
    around = (values[:, None] - values[None]).norm(dim=-1) + eta[page][:, None] + eta[page]
    spread = torch.where(member, around.amax(1), 0.0).amax(1)
    mass = torch.where(member, scores.log_softmax(-1), -torch.inf).logsumexp(1)
    others = torch.where(torch.eye(len(mass), dtype=torch.bool), -torch.inf, (mass - c)[None]).logsumexp(1)
    share = 1 / (1 + (others - mass - c).exp())
    return share * (-torch.expm1(-c) * spread + eta) * _UP


def first_layer_charges(model: Model, trace: Trace, sets: Sets) -> Tensor:
    """The charges of the first layer's pages for each query head `[H, P]`.

    Args:
        model: the model.
        trace: the nominal step.
        sets: the first layer's uncertainty set, with an exact tail.
    """
    tr, of, scale = trace.layers[0], model.heads_to_kv, model.config.head_dim**-0.5
    pages = sets.key_sigma.shape[-1]
    page = (torch.arange(tr.p.shape[-1]) // sets.page_size).clamp_max(pages)  # all exact rows are one more page
    found = []
    for q, g in zip(tr.q, of.tolist(), strict=True):
        box = torch.minimum(sets.key_box[g] @ q.abs(), q.norm() * sets.key_norm[g]) * scale * _UP
        kappa, eta = (torch.cat([x, x.new_zeros(1)]) for x in (box, sets.value_norm[g]))
        found.append(page_charges(tr.keys[g] @ q * scale, kappa, tr.values[g], eta, page)[:pages])
    return torch.stack(found)


def page_problems(charges: Tensor, group_size: int, bits: int, share: float) -> list[PlanProblem]:
    """One problem for each KV head: bring every query head's charges down to a share of what all closed pages have.

    Args:
        charges: of each query head `[H, P]`.
        group_size: query heads of a KV head.
        bits: width at which a closed page is read.
        share: of the sum of a head's charges that may be left.
    """
    return [
        PlanProblem(
            parts=tuple(map(tuple, heads.tolist())), allowances=tuple((heads.sum(1) * share).tolist()),
            levels=(bits,) * heads.shape[1], ladder=(bits, FULL) if bits < FULL else (FULL,),
        )
        for heads in charges.to(F64).reshape(-1, group_size, charges.shape[1])
    ]  # fmt: skip


def greedy_cover(problem: PlanProblem) -> tuple[int, ...]:
    """Levels found by raising the unit that covers most of the excess per bit until all fits; lowest index on ties."""
    levels = list(problem.levels)
    while not problem.feasible(levels):
        options = [(u, b) for u, level in enumerate(levels) for b in problem.choices(u) if b > level]
        best = max(options, key=lambda option: (_gain(problem, levels, *option), -option[0], -option[1]))
        levels[best[0]] = best[1]
    return tuple(levels)


def _gain(problem: PlanProblem, levels: list[int], unit: int, wanted: int) -> Fraction:
    """What raising a unit takes off every rival's excess, relative to it, per bit."""
    gain = Fraction(0)
    for r, allowed in enumerate(problem.allowances):
        excess = sum((problem.left(r, u, b) for u, b in enumerate(levels)), -Fraction(allowed))
        if excess > 0:
            fall = problem.left(r, unit, levels[unit]) - problem.left(r, unit, wanted)
            gain += min(fall, excess) / excess
    return gain / (wanted - levels[unit])


@dataclass(frozen=True, slots=True)
class PlanGap:
    """Bits that a greedy plan and the exact minimum add to what is read anyway, summed over units."""

    greedy: int
    minimum: int


def plan_gap(problem: PlanProblem, budget_s: float = 10.0) -> PlanGap | None:
    """Compares the greedy plan with the integer program; None when the solver ran out of time."""
    best = minimum_plan(problem, budget_s)
    if best is None:
        return None
    base = sum(problem.levels)
    return PlanGap(sum(greedy_cover(problem)) - base, sum(best) - base)
