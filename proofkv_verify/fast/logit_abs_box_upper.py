"""|logit change| from a box on the key error, batched, outward-rounded."""

from __future__ import annotations

from torch import Tensor

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast._logits import Number, common, factor, norm_upper, products_upper, with_query_error
from proofkv_verify.fast.rounding import ieee_arithmetic


@ieee_arithmetic
def logit_abs_box_upper(
    queries: Tensor,
    radii: Tensor,
    softmax_scale: Number,
    *,
    rope_factor: Number = 1,
    query_radius: Tensor | None = None,
    key_norm: Tensor | None = None,
) -> Tensor:
    """|scale m^2 <q, e>| <= |scale| m^2 (sum_c |q_c| r_c + rho (|k_hat| + |r|)).

    Args:
        queries: [B, H, Q, D] in the coordinates of the box: after RoPE for keys stored after RoPE; for keys stored
            before it, turned back by each key's angle (then the bound is one key position at a time).
        radii: [B, Hkv, K, D] absolute bounds of the key error; head h reads KV head h // (H // Hkv).
        softmax_scale: factor of the dot product; its exact value is used.
        rope_factor: m, the attention factor on both sides (1 without YaRN).
        query_radius: [B, H, Q] Euclidean bound rho of the query error, or None for an exact query.
        key_norm: [B, Hkv, K] Euclidean bound of the compressed key, with `query_radius` only.

    Returns:
        [B, H, Q, K] logit radius, not below the formula; +inf where an input is NaN or a radius negative.

    Sound when: |e_c| <= r_c; |dq| <= rho; |k_hat| <= key_norm.
    """
    q, r, model = common(queries, radii, 4)
    if r.shape[-1] != q.shape[-1]:
        raise ShapeError("radii", f"{q.shape[-1]} coordinates", r.shape[-1])
    scale = factor(softmax_scale, rope_factor)
    total = products_upper(q.abs(), r, scale, model)
    key_error = norm_upper(r) if query_radius is not None else r[..., 0]
    return with_query_error(total, q, key_error, (query_radius, key_norm), scale, model)
