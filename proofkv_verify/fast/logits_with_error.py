"""Attention logits as computed, with a bound of their rounding error."""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.fast._logits import Number, common, exact_number, head_products, norm_upper, products_upper
from proofkv_verify.fast.rounding import gamma, ieee_arithmetic, returned_above


@ieee_arithmetic
def logits_with_error(queries: Tensor, keys: Tensor, softmax_scale: Number) -> tuple[Tensor, Tensor]:
    """|computed - scale <q, k>| <= radius, where the radius is (gamma_D + 4 u) |scale| |q| |k| and an underflow term.

    Add the radius to a logit bound and the computed logits stand for the exact ones.

    Args:
        queries: [B, H, Q, D], float16 to float64; computed in float32, or in float64 if an input is float64.
        keys: [B, Hkv, K, D]; head h reads KV head h // (H // Hkv).
        softmax_scale: factor of the dot product; its exact value is meant.

    Returns:
        Logits and radius, both [B, H, Q, K]; the radius is +inf where the logit is not finite.

    Raises:
        InvalidInputError: the scale is not finite, or so small that float32 would lose it.

    Sound when: torch's matrix product is any order of IEEE products and sums (see `rounding`).
    """
    scale = abs(exact_number("softmax_scale", softmax_scale))
    if 0 < scale < Fraction(1, 2**100):
        raise InvalidInputError("softmax_scale", "0 or at least 2^-100 in size", softmax_scale)
    q, _, model = common(queries, keys.abs(), 4)
    logits = head_products(q, keys.to(q.dtype)).mul_(float(softmax_scale))
    norms = [returned_above(norm_upper(x), model.dtype).unsqueeze(-1) for x in (q, keys)]
    relative = gamma(q.shape[-1], model.unit) * (1 + 8 * model.unit) + 4 * model.unit
    radius = products_upper(norms[0], norms[1], scale * relative, model)
    radius.add_(math.ldexp(float(scale) + 1, 3) * q.shape[-1] * float(model.tiny))
    return logits, torch.where(torch.isfinite(logits), radius, math.inf)
