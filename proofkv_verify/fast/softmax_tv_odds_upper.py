"""TV <= (k-1)/(k+1), k^2 the product of the two largest weight ratios, outward-rounded."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofkv_verify.fast._rows import upper_rows
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
    Source: R2.
    """
    return upper_rows(_odds, logits_hat, logit_radii, mask)


def _odds(s: Tensor, c: Tensor) -> Tensor:
    alone = (s > -math.inf).sum(-1) < 2
    return torch.where(alone, 0.0, odds_of(*two_largest_radii(c)))


def two_largest_radii(c: Tensor) -> tuple[Tensor, Tensor]:
    """The two largest of each row, in float64; 0 in place of a missing one."""
    first, place = c.max(-1)
    return first.double(), c.scatter(-1, place.unsqueeze(-1), 0).amax(-1).double()


def odds_of(first: Tensor, second: Tensor) -> Tensor:
    """tanh((first + second)/4), rounded up; 0 where both are 0."""
    e = up(scaled_up(torch.expm1(up(up(first + second) / 2)), 1 + FP64.exp_error) + float(FP64.tiny))
    return torch.where(first + second == 0, 0.0, up(e / down(e + 2))).clamp(max=1)
