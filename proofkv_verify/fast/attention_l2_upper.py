"""The Euclidean output error from TV, value radii and the spread of the values, outward-rounded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast._groups import Group, checked_radii, over_groups
from proofkv_verify.fast._rows import Sums, excess, lifted, mean_excess_upper, row_sum, weights_of
from proofkv_verify.fast._tilted import largest_mean_upper
from proofkv_verify.fast._tokens import tokens_of
from proofkv_verify.fast.rounding import (
    float_above,
    gamma,
    ieee_arithmetic,
    model_of,
    returned_above,
    scaled_up,
    up,
)
from proofkv_verify.fast.softmax_tv_mean_upper import mean_of
from proofkv_verify.fast.softmax_tv_odds_upper import odds_of
from proofkv_verify.fast.softmax_tv_optimum import SPLITS, optimum_upper

_PAIRS = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class _Ball:
    """Values of a KV head around a centre, rounded up: reach = norm(v - centre) + nu.

    Attributes:
        radii: nu in the dtype of the logits.
        reach: in float64.
        widest: for all tokens live, the largest nu and the sum of the two largest reaches, in float64.
    """

    radii: Tensor
    reach: Tensor
    widest: tuple[Tensor, Tensor]


@ieee_arithmetic
def attention_l2_upper(
    logits_hat: Tensor,
    logit_radii: Tensor,
    values_hat: Tensor,
    value_radii: Tensor,
    mask: Tensor | None = None,
    *,
    tight: bool = False,
) -> Tensor:
    """norm(o - o_hat) <= sum p nu + T diam, with T a TV bound and diam a bound of the distance of two exact values.

    Streaming form: T is the smaller of the mean bound and tanh(c_max/2), diam the sum of the two largest
    norm(v_i - z) + nu_i around one centre z a KV head. With `tight`, T is the bracket's upper end, diam the largest
    norm(v_i - v_j) + nu_i + nu_j over live pairs (O(K^2) a distinct mask), and the other correct split, the largest
    sum q nu over the box + T times the largest norm(v_i - v_j), is taken where it is smaller.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        values_hat: [B, Hkv, K, D] compressed values; query head h reads KV head h // (H // Hkv).
        value_radii: [B, Hkv, K] Euclidean bounds of the value errors.
        mask: bool, broadcastable to the logits, True = attend.
        tight: the slower, smaller bound.

    Returns:
        [B, H, Q] bound of the Euclidean error, not below the formula; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i and norm(v_i - v_hat_i) <= nu_i for each attended token.
    Source: docs/theory.md L5, R14 with a diameter in place of twice a radius.
    """
    if tight:
        return _tight(logits_hat, logit_radii, values_hat, value_radii, mask)
    return attention_certificate(logits_hat, logit_radii, values_hat, value_radii, mask)[1]


@ieee_arithmetic
def attention_certificate(
    logits_hat: Tensor, logit_radii: Tensor, values_hat: Tensor, value_radii: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """TV and Euclidean output error of one pass over the weights: min(mean, tanh(c_max/2)), and `attention_l2_upper`.

    Args:
        logits_hat: as in `attention_l2_upper`, likewise the rest.
        logit_radii: as there.
        values_hat: as there.
        value_radii: as there.
        mask: as there.

    Returns:
        TV bound [B, H, Q], Euclidean bound [B, H, Q]; outward-rounded.

    Sound when: as in `attention_l2_upper`.
    """
    values, nu = _values(values_hat, value_radii)
    balls: dict[tuple[int, int], _Ball] = {}

    def compute(g: Group) -> tuple[Tensor, ...]:
        key = (g.batch, g.kv_head)
        if key not in balls:
            balls[key] = _ball(values[key], nu[key], g)
        return _streaming(g, balls[key])

    usable, raw, dtype = over_groups(compute, logits_hat, logit_radii, mask, (values, nu))
    if not raw:
        return usable.to(dtype) + torch.inf, usable.to(dtype) + torch.inf
    found = _finish(Sums(raw[0], int(logits_hat.shape[-1]), model_of(dtype)), *raw[1:])
    tv, l2 = (returned_above(torch.where(usable, x, torch.inf), dtype) for x in found)
    return tv, l2


def _streaming(g: Group, ball: _Ball) -> tuple[Tensor, ...]:
    w = weights_of(g.logits)
    mass = row_sum(w)
    if g.live is None:
        held = row_sum(w * ball.radii)
        widest = [x.expand_as(mass) for x in ball.widest]
    else:
        nu, reach = (torch.where(g.live, x, 0) for x in (ball.radii, ball.reach))
        held, widest = row_sum(w * nu), [nu.amax(-1).double(), _two_largest(reach)]
    e, largest = excess(g.radii)
    return mass, row_sum(w.mul_(e)), largest, g.radii.amax(-1).double(), held, *widest


def _finish(
    sums: Sums, raised: Tensor, largest: Tensor, c: Tensor, held: Tensor, most: Tensor, reach: Tensor
) -> tuple[Tensor, Tensor]:
    # Two clones of the token with the largest radius: this T is at least T_f, as in the tight form.
    tv = torch.minimum(mean_of(mean_excess_upper(sums, raised, largest)), odds_of(c, c))
    kept = sums.mean_upper(held, 0 * sums.model.unit, most)
    return tv, torch.where(c == 0, kept, up(kept + up(tv * reach)))


def _two_largest(x: Tensor) -> Tensor:
    found = x.topk(min(2, x.shape[-1])).values
    return up(found.sum(-1))


def _ball(values: Tensor, nu: Tensor, g: Group) -> _Ball:
    if g.live is not None:
        values = torch.where(g.seen.unsqueeze(-1), values, 0)
    centre = values.sum(0) / g.seen.sum().clamp(min=1)
    centre = torch.where(torch.isfinite(centre), centre, 0)  # any centre is sound
    reach = up(_norm_upper(values - centre) + nu)
    radii = returned_above(nu, g.logits.dtype)
    return _Ball(radii, reach, (radii.amax().double(), _two_largest(reach)))


def _norm_upper(x: Tensor) -> Tensor:
    """A float64 upper bound of the norm over the last axis of once rounded differences; `x` is overwritten."""
    model, width = model_of(x.dtype), x.shape[-1]
    grow = (1 + 8 * model.unit) / (1 - gamma(width, model.unit))
    lost = Fraction(width, 2**62 if model.dtype == torch.float32 else 2**510)  # squares that underflow
    return up(scaled_up(x.square_().sum(-1).sqrt().double(), grow) + float_above(lost))


def _tight(
    logits_hat: Tensor, logit_radii: Tensor, values_hat: Tensor, value_radii: Tensor, mask: Tensor | None
) -> Tensor:
    values, nu = _values(values_hat, value_radii)
    values = values.double()

    def compute(g: Group) -> tuple[Tensor, ...]:
        found = torch.empty_like(g.logits[:, 0], dtype=torch.float64)
        live = torch.ones_like(g.logits, dtype=torch.bool) if g.live is None else g.live
        patterns, which = torch.unique(live, dim=0, return_inverse=True)
        for k in range(patterns.shape[0]):
            rows, kept = which == k, patterns[k]
            parts = [x[rows][:, kept].double() for x in (g.logits, g.radii)]
            found[rows] = _splits(*parts, *(x[g.batch, g.kv_head][kept] for x in (values, nu)))
        return (found,)

    usable, found, dtype = over_groups(compute, logits_hat, logit_radii, mask, (values, nu))
    return returned_above(torch.where(usable, found[0] if found else 0.0, torch.inf), dtype)


def _splits(s: Tensor, c: Tensor, values: Tensor, nu: Tensor) -> Tensor:
    if not s.shape[1]:
        return torch.full_like(s.sum(-1), torch.inf)
    t = tokens_of(s, c)
    tv = optimum_upper(t, SPLITS)[0]
    held = up(t.sum_upper(nu, nu.amax()) / t.mass_lower)
    moved = largest_mean_upper(t, nu.expand_as(s))
    apart, true_apart = _diameters(values, nu)
    found = torch.minimum(up(held + up(tv * true_apart)), up(moved + up(tv * apart)))
    return torch.where((tv == 0) & (nu.amax() == 0), 0.0, found)


def _diameters(values: Tensor, nu: Tensor) -> tuple[Tensor, Tensor]:
    """Upper bounds of the largest norm(v_i - v_j), and of it with nu_i + nu_j added, over i != j; 0 for one token."""
    apart, true_apart = values.new_tensor(0.0), values.new_tensor(0.0)
    block = max(1, _PAIRS // max(1, values.numel()))
    for start in range(0, values.shape[0], block):
        some = slice(start, start + block)
        distance = _norm_upper(values[some].unsqueeze(1) - values)
        wide = up(up(distance + nu[some].unsqueeze(1)) + nu)
        for i in range(distance.shape[0]):
            distance[i, start + i] = wide[i, start + i] = 0
        apart = torch.maximum(apart, distance.amax())
        true_apart = torch.maximum(true_apart, wide.amax())
    return apart, true_apart


def _values(values_hat: Tensor, value_radii: Tensor) -> tuple[Tensor, Tensor]:
    if value_radii.shape != values_hat.shape[:-1]:
        raise ShapeError("value_radii", str(tuple(values_hat.shape[:-1])), tuple(value_radii.shape))
    return lifted(values_hat, "values_hat"), checked_radii(value_radii, "value_radii")
