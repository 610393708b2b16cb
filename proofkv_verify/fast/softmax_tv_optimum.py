"""The bracket L <= T* <= T_f <= U of the largest TV over the box of logits, by dual cells, outward-rounded."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.fast._cells import best_multiplier, cell_value, lower_value, refined_cells
from proofkv_verify.fast._rows import lower_and_upper_rows
from proofkv_verify.fast._tokens import Tokens, tokens_of
from proofkv_verify.fast.rounding import ieee_arithmetic

SPLITS = 24
_TRIED = (0.1, 0.35, 0.65, 0.9)
_ROUNDS = 2


@ieee_arithmetic
def softmax_tv_optimum(
    logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None, *, splits: int = SPLITS
) -> tuple[Tensor, Tensor]:
    """L <= T* <= T_f <= U: T* = max TV over the box, T_f = the same with tokens that may be split.

    U is a dual cell certificate on `splits` + 1 cells found by halving the worst one; L is the value of the best of
    the token sets tried. Works in float64 whatever the input.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.
        splits: how often a cell is halved; time grows with it.

    Returns:
        Lower and upper end, both [B, H, Q]: L is attained by logits in the box, U is a total variation bound not
        below T_f; (-inf, +inf) where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md A2, A3.
    """
    return lower_and_upper_rows(lambda s, c: _bracket(tokens_of(s, c), splits), logits_hat, logit_radii, mask)


def optimum_upper(t: Tokens, splits: int) -> tuple[Tensor, Tensor]:
    """An upper bound of T_f, and the middle of the cell that limits it; both [r]."""
    found, where = refined_cells(
        t.mass_upper, lambda s, mu: cell_value(t, s, mu), lambda s: best_multiplier(t, s), splits
    )
    return torch.where(t.largest == 0, 0.0, found).clamp(max=1), where


def _bracket(t: Tokens, splits: int) -> tuple[Tensor, Tensor]:
    upper, s = optimum_upper(t, splits)
    lower = torch.zeros_like(upper)
    for fixed in (None, *_TRIED):
        at = s if fixed is None else torch.full_like(s, fixed)
        for _ in range(_ROUNDS):
            chosen = _best_prefix(t, at)
            lower, at = torch.maximum(lower, lower_value(t, chosen)), _odds_parameter(t, chosen)
    return torch.where(t.largest == 0, 0.0, lower), upper


def _best_prefix(t: Tokens, s: Tensor) -> Tensor:
    """The best set among the prefixes of the order by g_s (any set gives a sound lower end)."""
    g = 1 + (1 - s).unsqueeze(-1) * t.excess - s.unsqueeze(-1) * t.deficit
    order = g.argsort(-1, descending=True)
    w, e, f = (x.gather(-1, order) for x in (t.weights, t.excess, t.deficit))
    inside, gained = w.cumsum(-1), (w * e).cumsum(-1)
    total, left = inside[:, -1:], (w * f).sum(-1, keepdim=True) - (w * f).cumsum(-1)
    value = (gained * (total - inside) + left * inside) / ((total + gained - left) * total)
    rank = torch.empty_like(order).scatter_(-1, order, torch.arange(order.shape[-1], device=s.device).expand_as(order))
    return rank <= value.argmax(-1, keepdim=True)


def _odds_parameter(t: Tokens, chosen: Tensor) -> Tensor:
    a = (t.weights * (1 + t.excess) * chosen).sum(-1)
    b = (t.weights * (1 - t.deficit) * ~chosen).sum(-1)
    return (a / (a + b)).clamp(0, 1)
