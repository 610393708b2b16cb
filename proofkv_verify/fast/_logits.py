"""What the three logit bounds share: query heads on KV heads, the outward factor, the query's own error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast._rows import broadcast, lifted
from proofkv_verify.fast.rounding import FP64, Model, float_above, gamma, model_of, returned_above, scaled_up, up

Number: TypeAlias = float | Fraction


def common(queries: Tensor, radii: Tensor, axes: int) -> tuple[Tensor, Tensor, Model]:
    """Queries [B, H, Q, D] and radii [B, Hkv, K] or [B, Hkv, K, *] in one dtype; a bad radius becomes +inf."""
    if queries.ndim != 4:
        raise ShapeError("queries", "4 dimensions [B, H, Q, D]", tuple(queries.shape))
    if radii.ndim != axes or radii.shape[0] != queries.shape[0]:
        raise ShapeError("radii", f"{axes} dimensions beginning [{queries.shape[0]}, Hkv, K]", tuple(radii.shape))
    if radii.shape[1] == 0 or queries.shape[1] % radii.shape[1]:
        raise ShapeError("radii", f"a number of KV heads that divides {queries.shape[1]}", radii.shape[1])
    dtype = torch.promote_types(lifted(queries, "queries").dtype, lifted(radii, "radii").dtype)
    radii = radii.to(dtype)
    return queries.to(dtype), torch.where(radii >= 0, radii, math.inf), model_of(dtype)


def factor(softmax_scale: Number, rope_factor: Number) -> Fraction:
    """|softmax_scale| rope_factor^2, exactly.

    Raises:
        InvalidInputError: a number is not finite.
    """
    m = exact_number("rope_factor", rope_factor)
    return abs(exact_number("softmax_scale", softmax_scale)) * m * m


def exact_number(name: str, number: Number) -> Fraction:
    """The exact value of a finite float, int or rational.

    Raises:
        InvalidInputError: it is not finite.
    """
    try:
        return Fraction(number)
    except (ValueError, OverflowError):
        raise InvalidInputError(name, "a finite number", number) from None


def head_products(queries: Tensor, keys: Tensor) -> Tensor:
    """queries [B, H, Q, D] times keys [B, Hkv, K, D], head h with KV head h // (H // Hkv): [B, H, Q, K]."""
    batch, heads, count, width = queries.shape
    grouped = queries.reshape(batch, keys.shape[1], -1, width)
    return torch.matmul(grouped, keys.transpose(-1, -2)).reshape(batch, heads, count, keys.shape[2])


def products_upper(left: Tensor, right: Tensor, scale: Fraction, model: Model) -> Tensor:
    """An upper bound of scale * <left, right> for non-negative left [B, H, Q, D] and right [B, Hkv, K, D].

    Returns:
        [B, H, Q, K] in the dtype of the inputs; exactly 0 for a key whose row is 0.
    """
    width = left.shape[-1]
    grow = scale * (1 + 4 * model.unit) / (1 - gamma(width, model.unit))
    total = head_products(left, right).mul_(float_above(grow, model.dtype))
    least = float_above((scale + 1) * (2 * width + 4) * model.tiny, model.dtype)
    # A where of two Python numbers is float32, in which the least double is 0.
    spare = torch.where(right.amax(-1) > 0, total.new_tensor(least), 0)
    return total.add_(_per_head(spare, left.shape[1]).unsqueeze(2))


def query_error_upper(
    queries: Tensor, query_radius: Tensor, key_norm: Tensor, key_error: Tensor, scale: Fraction, model: Model
) -> Tensor:
    """An upper bound of scale * rho (key_norm + key_error); query_radius [B, H, Q], the others [B, Hkv, K]."""
    rho = broadcast(lifted(query_radius, "query_radius"), queries.shape[:3], "query_radius").double()
    kappa = broadcast(lifted(key_norm, "key_norm"), key_error.shape, "key_norm").double()
    rho, kappa = (torch.where(x >= 0, x, math.inf) for x in (rho, kappa))
    reach = returned_above(up(kappa + key_error.double()), model.dtype)
    return products_upper(returned_above(rho, model.dtype).unsqueeze(-1), reach.unsqueeze(-1), scale, model)


def norm_upper(x: Tensor) -> Tensor:
    """An upper bound of the Euclidean norm over the last axis, in float64."""
    wide = x.double()
    grow = (1 + 4 * FP64.unit) / (1 - gamma(max(1, x.shape[-1]), FP64.unit))
    spare = float_above(Fraction(x.shape[-1] + 1, 2**510))
    return torch.where((wide != 0).any(-1), up(scaled_up((wide * wide).sum(-1).sqrt(), grow) + spare), 0)


def finished(total: Tensor) -> Tensor:
    """NaN becomes +inf, in place."""
    return torch.nan_to_num_(total, nan=math.inf, posinf=math.inf)


def with_query_error(
    total: Tensor,
    queries: Tensor,
    key_error: Tensor,
    uncertain: tuple[Tensor | None, Tensor | None],
    scale: Fraction,
    model: Model,
) -> Tensor:
    """The bound for an exact query, plus the term of a query radius and a key norm if they are given.

    Raises:
        InvalidInputError: only one of query_radius and key_norm is given.
    """
    query_radius, key_norm = uncertain
    if (query_radius is None) != (key_norm is None):
        raise InvalidInputError("query_radius and key_norm", "both or none", "one of them")
    if query_radius is None or key_norm is None:
        return finished(total)
    more = query_error_upper(queries, query_radius, key_norm, key_error, scale, model)
    return finished(total.add_(more).mul_(float_above(1 + 2 * model.unit, model.dtype)))


def _per_head(x: Tensor, heads: int) -> Tensor:
    return x.repeat_interleave(heads // x.shape[1], dim=1)
