"""TV <= 1 - 1/A for A <= 2 and A^2/(A^2 + 4) beyond, outward-rounded."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.fast._rows import mean_excess_sums, mean_excess_upper, streamed_upper
from proofkv_verify.fast.rounding import down, ieee_arithmetic, up


@ieee_arithmetic
def softmax_tv_mean_upper(logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None) -> Tensor:
    """TV <= 1 - 1/A if A <= 2, A^2/(A^2 + 4) beyond, with A = sum p_i e^{c_i}.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.

    Returns:
        [B, H, Q] total variation bound, not below the formula; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md R3.
    """
    return streamed_upper(
        mean_excess_sums, lambda *sums: mean_of(mean_excess_upper(*sums)), logits_hat, logit_radii, mask
    )


def mean_of(alpha: Tensor) -> Tensor:
    """The bound as a function of alpha = A - 1, increasing, rounded up."""
    below_two = up(alpha / down(alpha + 1).clamp(min=1))
    square = up(up(alpha + 1) * up(alpha + 1))
    beyond = up(square / down(square + 4))
    return torch.where(alpha == 0, 0.0, torch.where(alpha <= 1, below_two, beyond))
