"""TV <= (A^2 - 1)/2, outward-rounded: the exponential form, for comparison."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.fast._rows import mean_excess_sums, mean_excess_upper, streamed_upper
from proofkv_verify.fast.rounding import ieee_arithmetic, up


@ieee_arithmetic
def softmax_tv_eform_upper(logits_hat: Tensor, logit_radii: Tensor, mask: Tensor | None = None) -> Tensor:
    """TV <= (A^2 - 1)/2 = alpha (2 + alpha)/2 with alpha = A - 1 = sum p_i (e^{c_i} - 1).

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.

    Returns:
        [B, H, Q] total variation bound, not below the formula; can exceed 1; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md R1.
    """
    return streamed_upper(
        mean_excess_sums, lambda *sums: eform_of(mean_excess_upper(*sums)), logits_hat, logit_radii, mask
    )


def eform_of(alpha: Tensor) -> Tensor:
    """alpha (2 + alpha)/2, rounded up."""
    return torch.where(alpha == 0, 0.0, up(up(alpha * up(alpha + 2)) / 2))
