"""TV <= 1 - B/A, outward-rounded and without cancellation."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.fast._rows import Sums, excess, mean_excess_upper, row_sum, streamed_upper, weights_of
from proofkv_verify.fast.rounding import down, ieee_arithmetic, up


@ieee_arithmetic
def softmax_tv_overlap_upper(logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None) -> Tensor:
    """TV <= 1 - B/A = (alpha + beta)/(1 + alpha), alpha = sum p (r - 1), beta = sum p (1 - 1/r), r = e^c.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.

    Returns:
        [B, H, Q] total variation bound, not below the formula; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md R4.
    """
    return streamed_upper(_reduce, _overlap, logits_hat, logit_radii, mask)


def _reduce(s: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    w = weights_of(s)
    e, largest = excess(c)
    return row_sum(w), row_sum(w * e), row_sum(w.mul_(e.div_(1 + e))), largest


def _overlap(sums: Sums, raised: Tensor, lowered: Tensor, largest: Tensor) -> Tensor:
    alpha = mean_excess_upper(sums, raised, largest)
    # e/(1+e) has relative condition at most 1, and two roundings: 7 u in all.
    beta = sums.mean_upper(lowered, sums.model.exp_error + 3 * sums.model.unit, largest).clamp(max=1)
    # Increasing in alpha because beta <= 1.
    value = up(up(alpha + beta) / down(alpha + 1).clamp(min=1))
    return torch.where(alpha == 0, 0.0, value)
