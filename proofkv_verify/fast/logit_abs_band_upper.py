"""|logit change| from error norms in bands that rotations leave in place, batched, outward-rounded."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast._logits import Number, common, factor, norm_upper, products_upper, with_query_error
from proofkv_verify.fast.rounding import ieee_arithmetic, returned_above


@ieee_arithmetic
def logit_abs_band_upper(
    queries: Tensor,
    radii: Tensor,
    softmax_scale: Number,
    bands: Sequence[Sequence[int]],
    *,
    rope_factor: Number = 1,
    query_radius: Tensor | None = None,
    key_norm: Tensor | None = None,
) -> Tensor:
    """|scale m^2 <q, R e>| <= |scale| m^2 (sum_b |q|_b rho_b + rho (|k_hat| + |rho_b|)) over bands b.

    Args:
        queries: [B, H, Q, D], before or after RoPE: a band norm does not change.
        radii: [B, Hkv, K, number of bands] Euclidean bounds of the key error in each band.
        softmax_scale: factor of the dot product; its exact value is used.
        bands: coordinates of each band; each must hold whole rotation planes (half-split RoPE: c and c + D/2).
        rope_factor: m, the attention factor on both sides (1 without YaRN).
        query_radius: [B, H, Q] Euclidean bound rho of the query error, or None for an exact query.
        key_norm: [B, Hkv, K] Euclidean bound of the compressed key, with `query_radius` only.

    Returns:
        [B, H, Q, K] logit radius, not below the formula; +inf where an input is NaN or a radius negative.

    Raises:
        InvalidInputError: the bands do not partition the coordinates.

    Sound when: each rotation plane lies in one band; |e|_b <= rho_b; |dq| <= rho; |k_hat| <= key_norm.
    Source: docs/theory.md R7.
    """
    q, r, model = common(queries, radii, 4)
    if sorted(c for band in bands for c in band) != list(range(q.shape[-1])):
        raise InvalidInputError("bands", f"a partition of {q.shape[-1]} coordinates", [list(b) for b in bands])
    if r.shape[-1] != len(bands):
        raise ShapeError("radii", f"{len(bands)} bands", r.shape[-1])
    scale = factor(softmax_scale, rope_factor)
    norms = torch.stack([norm_upper(q[..., list(band)]) for band in bands], dim=-1)
    total = products_upper(returned_above(norms, model.dtype), r, scale, model)
    key_error = norm_upper(r) if query_radius is not None else r[..., 0]
    return with_query_error(total, q, key_error, (query_radius, key_norm), scale, model)
