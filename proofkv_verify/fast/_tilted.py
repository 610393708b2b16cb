"""The largest mean of scores over the box of weight ratios, in float64, by a certificate of one number."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.fast._tokens import Tokens
from proofkv_verify.fast.rounding import FP64, down, up

_ITERATIONS = 16
_GROW = 1 + float(16 * FP64.unit)
_SHRINK = 1 - float(16 * FP64.unit)


def largest_mean_upper(t: Tokens, scores: Tensor) -> Tensor:
    """An upper bound of max over the box of sum q t, q the tilted weights; also for scores below 0.

    For any M with G(M) = sum w (r (t - M)_+ - (M - t)_+ / r) <= 0 the maximum is at most M, and for any M at most
    M + max(G(M), 0)/B, B = sum w / r, because G falls at least as fast as B. M is found by Newton steps from below
    and two small steps beyond; no mean exceeds the largest score.

    Args:
        t: tokens [r, K] (r may be 1 for many rows of scores).
        scores: [r, K], at least the true scores.

    Returns:
        [r].
    """
    r, inverse = (1 + t.excess) * _GROW, _SHRINK / (1 + t.excess)
    m, slope = _newton(t, r, inverse, scores)
    slack = _excess_upper(t, r, inverse, scores, m)
    best = torch.minimum(up(m + up(slack / down(t.sum_lower(inverse, 1.0)))), scores.amax(-1))
    for step in (2.0, 64.0):
        beyond = up(m + up(step * slack / slope))
        holds = _excess_upper(t, r, inverse, scores, beyond) == 0
        best = torch.where(holds, torch.minimum(best, beyond), best)
    return best


def _excess_upper(t: Tokens, r: Tensor, inverse: Tensor, scores: Tensor, m: Tensor) -> Tensor:
    """An upper bound of max(G(m), 0)."""
    m = m.unsqueeze(-1)
    # One inflation more than for r itself: it covers the rounding of the difference.
    over, below = (scores - m).clamp(min=0) * (r * _GROW), (m - scores).clamp(min=0) * (inverse * _SHRINK)
    gain = t.sum_upper(over * _GROW, over.amax(-1) * 2)
    loss = t.sum_lower(below * _SHRINK, below.amax(-1) * 2)
    return up(gain - loss).clamp(min=0)


def _newton(t: Tokens, r: Tensor, inverse: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum as floats find it, and the slope of -G there."""
    w_high, w_low = t.weights * r, t.weights * inverse
    m = (t.weights * scores).sum(-1) / t.weights.sum(-1)
    for _ in range(_ITERATIONS):
        w = torch.where(scores > m.unsqueeze(-1), w_high, w_low)
        m = (w * scores).sum(-1) / w.sum(-1)
    return m, torch.where(scores > m.unsqueeze(-1), w_high, w_low).sum(-1)
