"""Baseline: interval propagation. Every number of the forward pass gets two ends; vacuous after a layer or two."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.decode.enclosure import Enclosure, directions
from proofkv_verify.decode.model import Layer, LayerTrace, Model, Trace
from proofkv_verify.decode.opened import Sets

_WIDEN = 1e-12  # relative outward step after each operation; what one loses is below 1e-13 of the numbers that went in
_RMS_WIDEN, _WEIGHT_WIDEN, _WEIGHT_FLOOR = 1e-10, 1e-9, 1e-12
_SILU_AT, _SILU_LEAST = -1.2784645427610738, -0.27846454276107380

Box = tuple[Tensor, Tensor]


def enclose_interval(model: Model, trace: Trace, sets: Sequence[Sets]) -> Enclosure:
    """Interval propagation with the exact range of softmax and RMSNorm per coordinate, token and channel."""
    rows, gaps = directions(model, trace)
    x: Box = (trace.layers[0].x, trace.layers[0].x)
    eps = float(model.config.rms_norm_eps)
    for layer, tr, known in zip(model.layers, trace.layers, sets, strict=True):
        x = _layer(layer, tr, known, x, eps)
    low, _ = linear(rows, x)
    radii = torch.where(low.isfinite(), (gaps - low).clamp_min(0), torch.inf)
    reason = "" if bool(low.isfinite().all()) else "an interval became unbounded"
    return Enclosure("interval", True, trace.token, gaps, radii, reason)


def _outward(low: Tensor, high: Tensor) -> Box:
    step = _WIDEN * torch.maximum(low.abs(), high.abs()) + 1e-300
    return low - step, high + step


def linear(w: Tensor, x: Box) -> Box:
    """W x over a box, `[..., m, d]` times `[d]`."""
    centre, radius = (x[0] + x[1]) / 2, (x[1] - x[0]) / 2 * (1 + _WIDEN)
    middle, reach = w @ centre, w.abs() @ (radius + _WIDEN * centre.abs())
    return _outward(middle - reach, middle + reach)


def _add(a: Box, b: Box) -> Box:
    return _outward(a[0] + b[0], a[1] + b[1])


def _times(a: Box, b: Box) -> Box:
    ends = torch.stack([p * q for p in a for q in b])
    return _outward(ends.amin(0), ends.amax(0))


def rms(x: Box, eps: float) -> Box:
    """x / rho by coordinate: rho from the other coordinates' ranges, the quotient being monotone in its own."""
    largest = torch.maximum(x[0].abs(), x[1].abs()).square()
    least = torch.where((x[0] <= 0) & (x[1] >= 0), 0.0, torch.minimum(x[0].abs(), x[1].abs()).square())
    size = len(x[0])

    def quotient(end: Tensor, *, outer: bool) -> Tensor:
        shrink = (least.sum() - least) if outer else (largest.sum() - largest)
        return end / ((shrink.clamp_min(0) + end.square()) / size + eps).sqrt()

    low = torch.where(x[0] < 0, quotient(x[0], outer=True), quotient(x[0], outer=False))
    high = torch.where(x[1] > 0, quotient(x[1], outer=True), quotient(x[1], outer=False))
    return _outward(low - _RMS_WIDEN * low.abs(), high + _RMS_WIDEN * high.abs())


def silu(x: Box) -> Box:
    """silu over a box: its least value -0.27846 lies at -1.27846, on either side it is monotone."""
    ends = torch.stack([torch.nn.functional.silu(end) for end in x])
    inside = (x[0] <= _SILU_AT) & (x[1] >= _SILU_AT)
    return _outward(torch.where(inside, _SILU_LEAST - 1e-12, ends.amin(0)), ends.amax(0))


def softmax(s: Box) -> Box:
    """Weights over a box of scores, exact per token: its own end against the others' opposite ends."""
    low, high = ((a - b.amax(-1, keepdim=True)) for a, b in ((s[0], s[1]), (s[1], s[1])))
    least = torch.exp(low) / (torch.exp(low) + (torch.exp(high).sum(-1, keepdim=True) - torch.exp(high)).clamp_min(0))
    most = torch.exp(high) / (torch.exp(high) + (torch.exp(low).sum(-1, keepdim=True) - torch.exp(low)).clamp_min(0))
    least = least.nan_to_num(0.0) * (1 - _WEIGHT_WIDEN) - _WEIGHT_FLOOR
    most = most.nan_to_num(1.0) * (1 + _WEIGHT_WIDEN) + _WEIGHT_FLOOR
    return least.clamp_min(0), most.clamp_max(1)


def _layer(layer: Layer, tr: LayerTrace, sets: Sets, x: Box, eps: float) -> Box:
    of = torch.arange(len(tr.q)) // (len(tr.q) // len(tr.wk))
    h = rms(x, eps)
    q, k, v = linear(tr.wq, h), linear(tr.wk, h), linear(layer.wv, h)
    keys = _with_own(tr.keys, sets.key_box, k, of)
    values = _with_own(tr.values, sets.value_box[..., None].expand(*sets.value_box.shape, tr.q.shape[-1]), v, of)
    products = _times((q[0][:, None], q[1][:, None]), keys)
    scale = tr.q.shape[-1] ** -0.5
    p = softmax(_outward(products[0].sum(-1) * scale, products[1].sum(-1) * scale))
    mixed = _times((p[0][..., None], p[1][..., None]), values)
    o = _outward(mixed[0].sum(1), mixed[1].sum(1))
    hull = values[0].amin(1), values[1].amax(1)
    o = torch.maximum(o[0], hull[0]).flatten(), torch.minimum(o[1], hull[1]).flatten()
    mid = _add(x, linear(layer.wo.transpose(0, 1).flatten(1), o))
    h = rms(mid, eps)
    return _add(mid, linear(layer.w2, _times(silu(linear(layer.w1, h)), linear(layer.w3, h))))


def _with_own(rows: Tensor, radius: Tensor, own: Box, of: Tensor) -> Box:
    """Rows of the cache with their boxes, then the token's own row."""
    low = torch.cat([rows[:, :-1] - radius, own[0][:, None]], 1)[of]
    return _outward(low, torch.cat([rows[:, :-1] + radius, own[1][:, None]], 1)[of])
