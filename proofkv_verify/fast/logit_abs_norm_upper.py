"""|logit change| from the Euclidean norm of the key error, batched, outward-rounded."""

from __future__ import annotations

from torch import Tensor

from proofkv_verify.fast._logits import Number, common, factor, norm_upper, products_upper, with_query_error
from proofkv_verify.fast.rounding import ieee_arithmetic, returned_above


@ieee_arithmetic
def logit_abs_norm_upper(
    queries: Tensor,
    radii: Tensor,
    softmax_scale: Number,
    *,
    rope_factor: Number = 1,
    query_radius: Tensor | None = None,
    key_norm: Tensor | None = None,
) -> Tensor:
    """|scale m^2 <q, R e>| <= |scale| m^2 (|q| eps + rho (|k_hat| + eps)).

    Args:
        queries: [B, H, Q, D], before or after RoPE: a norm does not change.
        radii: [B, Hkv, K] Euclidean bounds eps of the key error; head h reads KV head h // (H // Hkv).
        softmax_scale: factor of the dot product; its exact value is used.
        rope_factor: m, the attention factor on both sides (1 without YaRN).
        query_radius: [B, H, Q] Euclidean bound rho of the query error, or None for an exact query.
        key_norm: [B, Hkv, K] Euclidean bound of the compressed key, with `query_radius` only.

    Returns:
        [B, H, Q, K] logit radius, not below the formula; +inf where an input is NaN or a radius negative.

    Sound when: |e| <= eps; |dq| <= rho; |k_hat| <= key_norm.
    """
    q, r, model = common(queries, radii, 3)
    scale = factor(softmax_scale, rope_factor)
    norms = returned_above(norm_upper(q), model.dtype)
    total = products_upper(norms.unsqueeze(-1), r.unsqueeze(-1), scale, model)
    return with_query_error(total, q, r, (query_radius, key_norm), scale, model)
