"""TV <= (k-1)/(k+1), k^2 the product of the two largest weight ratios, outward-rounded."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofkv_verify.fast._rows import Sums, streamed_upper
from proofkv_verify.fast.rounding import FP64, down, ieee_arithmetic, scaled_up, up


@ieee_arithmetic
def softmax_tv_odds_upper(logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None) -> Tensor:
    """TV <= tanh((c_1 + c_2)/4), c_1 and c_2 the two largest radii of attended tokens; 0 for a single token.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.

    Returns:
        [B, H, Q] total variation bound, not below the formula; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md R2.
    """
    return streamed_upper(_reduce, _odds, logits_hat, logit_radii, mask)


def _reduce(s: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    live = (s > -math.inf).sum(-1)
    if s.shape[-1] < 2:
        return live, c.amax(-1).double(), torch.zeros_like(c[:, 0]).double()
    largest = c.topk(2, sorted=True).values.double()
    return live, largest[:, 0], largest[:, 1]


def _odds(sums: Sums, first: Tensor, second: Tensor) -> Tensor:
    return torch.where(sums.mass < 2, 0.0, odds_of(first, second))


def odds_of(first: Tensor, second: Tensor) -> Tensor:
    """tanh((first + second)/4), rounded up; 0 where both are 0."""
    e = up(scaled_up(torch.expm1(up(up(first + second) / 2)), 1 + FP64.exp_error) + float(FP64.tiny))
    return torch.where(first + second == 0, 0.0, up(e / down(e + 2))).clamp(max=1)
