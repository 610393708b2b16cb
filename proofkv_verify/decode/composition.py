"""Baseline: one L2 radius per half layer, composed by spectral norms of the weights and local activations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from proofkv_verify.decode.attention_half import key_radii
from proofkv_verify.decode.ellipsoid import UP, row_norms
from proofkv_verify.decode.enclosure import Enclosure, directions
from proofkv_verify.decode.model import Layer, LayerTrace, Model, Trace
from proofkv_verify.decode.noise import attention_noise, mlp_noise
from proofkv_verify.decode.opened import Sets
from proofkv_verify.decode.pages import spectral_norm_upper

_SILU_SLOPE = 1.09984


def enclose_l2(model: Model, trace: Trace, sets: Sequence[Sets], *, rounding: bool = True) -> Enclosure:
    """L2 composition: RMSNorm by 2e/(r + r_min), heads by tanh(c/2) times the values' spread.

    Args:
        model: the model.
        trace: the nominal step.
        sets: of each layer.
        rounding: count the trace's float64 rounding; without it the result is no proof, and says so.
    """
    rows, gaps = directions(model, trace)
    error, eps = 0.0, float(model.config.rms_norm_eps)
    after = [tr.x for tr in trace.layers[1:]] + [trace.final]
    for layer, tr, known, out in zip(model.layers, trace.layers, sets, after, strict=True):
        noise = (attention_noise(layer, tr), mlp_noise(layer, tr, out)) if rounding else (0.0, 0.0)
        error = (error + _attention(layer, tr, known, error, eps) + noise[0]) * UP
        error = (error + _mlp(layer, tr, error, eps) + noise[1]) * UP
    radii = row_norms(rows) * error
    reason = "" if bool(radii.isfinite().all()) else "the radius became unbounded"
    return Enclosure("l2", rounding, trace.token, gaps, radii.nan_to_num(torch.inf, torch.inf), reason)


def norm_lipschitz(x: Tensor, rho: float, error: float, eps: float) -> float:
    """|N(x') - N(x)| <= min(2 e / (rho + rho_min), 2 sqrt(d)) for |x' - x| <= e, rho_min the least RMS there."""
    least = max(0.0, float(x.norm()) * (1 - 1e-12) - error) ** 2 / len(x) + eps
    slope = 2 * error / (rho * (1 - 1e-12) + math.sqrt(least) * (1 - 1e-12)) * UP
    return min(slope, 2 * math.sqrt(len(x)) * UP)


def _attention(layer: Layer, tr: LayerTrace, sets: Sets, error: float, eps: float) -> float:
    of = torch.arange(len(tr.q)) // (len(tr.q) // len(tr.wk))
    move = norm_lipschitz(tr.x, tr.rho, error, eps)
    dq, dk, dv = (spectral_norm_upper(w) * move for w in (tr.wq, tr.wk, layer.wv))
    scale = tr.q.shape[-1] ** -0.5 * UP
    kappa, bil = key_radii(tr, sets, of, dq, dq * dk[of])
    radius = kappa + bil + scale * dq[:, None] * row_norms(tr.keys[of])
    radius[:, -1] += scale * row_norms(tr.q) * dk[of]
    norms = torch.cat([sets.value_norm, dv[:, None]], 1)[of]
    # true values against the nominal output: twice the largest distance bounds their diameter
    spread = 2 * (row_norms(tr.values[of] - tr.o[:, None]) + norms).amax(-1)
    moved = (tr.p * norms).sum(-1) + torch.tanh(radius.amax(-1) / 2) * spread
    return float((spectral_norm_upper(layer.wo) * moved).sum() * UP)


def _mlp(layer: Layer, tr: LayerTrace, error: float, eps: float) -> float:
    move = norm_lipschitz(tr.mid, tr.rho2, error, eps)
    gate, up, down = (float(spectral_norm_upper(w)) for w in (layer.w1, layer.w3, layer.w2))
    largest = float(torch.nn.functional.silu(tr.u).abs().max()) + _SILU_SLOPE * gate * move
    return down * (largest * up * move + _SILU_SLOPE * float(tr.g.abs().max()) * gate * move) * UP
