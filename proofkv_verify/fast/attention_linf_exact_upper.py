"""The exact maximum of the largest output coordinate error over the boxes of logits and values, outward-rounded."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.errors import ShapeError
from proofkv_verify.fast._groups import Group, checked_radii, over_groups
from proofkv_verify.fast._rows import lifted
from proofkv_verify.fast._tilted import largest_mean_upper
from proofkv_verify.fast._tokens import Tokens, tokens_of
from proofkv_verify.fast.rounding import down, ieee_arithmetic, returned_above, up


@ieee_arithmetic
def attention_linf_exact_upper(
    logits_hat: Tensor, logit_radii: Tensor, values_hat: Tensor, value_box: Tensor, mask: Tensor | None = None
) -> Tensor:
    """max_c |o_c - o_hat_c| <= max over the 2d signed coordinates of the largest tilted mean of +-v_c + box_c.

    Exact up to rounding: the maximum is attained by data in the boxes. Works in float64, a row at a time.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        values_hat: [B, Hkv, K, D] compressed values; query head h reads KV head h // (H // Hkv).
        value_box: [B, Hkv, K, D] absolute bounds of the value errors.
        mask: bool, broadcastable to the logits, True = attend.

    Returns:
        [B, H, Q] bound of the largest absolute coordinate, not below the formula; +inf where nothing can be said.

    Sound when: |s_i - s_hat_i| <= c_i and |v_ic - v_hat_ic| <= box_ic for each attended token.
    Source: docs/theory.md O1, O2.
    """
    if value_box.shape != values_hat.shape:
        raise ShapeError("value_box", str(tuple(values_hat.shape)), tuple(value_box.shape))
    values, box = lifted(values_hat, "values_hat").double(), checked_radii(value_box, "value_box")

    def compute(g: Group) -> tuple[Tensor, ...]:
        v, b = values[g.batch, g.kv_head], box[g.batch, g.kv_head]
        rows = [_row(g, i, v, b) for i in range(g.logits.shape[0])]
        return (torch.stack(rows),)

    usable, found, dtype = over_groups(compute, logits_hat, logit_radii, mask, (values, box))
    return returned_above(torch.where(usable, found[0] if found else 0.0, torch.inf), dtype)


def _row(g: Group, i: int, values: Tensor, box: Tensor) -> Tensor:
    s, c = g.logits[i : i + 1].double(), g.radii[i : i + 1].double()
    if g.live is not None:
        kept = g.live[i]
        s, c, values, box = s[:, kept], c[:, kept], values[kept], box[kept]
    if not s.shape[1]:
        return s.new_tensor(torch.inf)
    return _largest_coordinate(tokens_of(s, c), values, box)


def _largest_coordinate(t: Tokens, values: Tensor, box: Tensor) -> Tensor:
    if not values.shape[-1]:
        return values.new_tensor(0.0)
    if not bool((t.excess > 0).any()):
        return _mean_upper(t, box.T).amax() if bool((box != 0).any()) else box.new_tensor(0.0)
    centre = (t.weights @ values) / t.weights.sum(-1, keepdim=True)
    # Scores relative to the (approximate) output: nothing large cancels at small radii.
    right, left = (values - centre).T, (centre - values).T
    above = torch.cat([up(up(right) + box.T), up(up(left) + box.T)])
    drift = torch.cat([_mean_upper(t, left), _mean_upper(t, right)])
    return up(largest_mean_upper(t, above) + drift).clamp(min=0).amax()


def _mean_upper(t: Tokens, x: Tensor) -> Tensor:
    """An upper bound of sum p x for each row of x, entries as rounded differences."""
    high, low = up(x).clamp(min=0), (x * (2.0**-50 - 1)).clamp(min=0)
    positive = up(t.sum_upper(high, high.amax(-1)) / t.mass_lower)
    return up(positive - down(t.sum_lower(low, low.amax(-1)) / t.mass_upper))
