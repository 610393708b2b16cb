"""How far the float64 trace is from real arithmetic, half layer by half layer: radii that join the certificate's sets.

The nominal point of each half is the float64 residual stream as stored. One half computed in float64 from it differs
from the exact half by at most the radius given here; so true minus nominal picks up one ball a half, and nothing is
assumed about the trace itself. First-order running analysis with n u in place of n u / (1 - n u), times 4.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofkv_verify.decode.model import Layer, LayerTrace

_U = 2.0**-53


def attention_noise(layer: Layer, tr: LayerTrace) -> float:
    """Radius (L2, residual stream) of the rounding in one attention half.

    q: d-term dot products of a normalised vector with turned weights, whose angles are off by position * u. Scores: q's
    error against the longest key. Weights: twice the scores' error plus a sum over n. Output: against the longest row.
    """
    d, tokens, head_dim = len(tr.x), tr.p.shape[1], tr.q.shape[1]
    h = float(tr.h.norm())
    angle = 8 * (tokens + 8) * _U
    q_error = ((2 * d + 16) * _U + angle) * h * layer.lengths["wq"]
    k_error = ((2 * d + 16) * _U + angle) * h * layer.lengths["wk"]
    key, query = float(tr.keys.norm(dim=-1).max()), float(tr.q.norm(dim=-1).max())
    score = 1 / math.sqrt(head_dim) * (q_error * key + query * k_error + (head_dim + 4) * _U * query * key)
    reach = float(tr.values.norm(dim=-1).max())
    output = (2 * score + 2 * (2 * tokens + 32) * _U) * reach + (2 * d + 16) * _U * h * layer.lengths["wv"]
    mixed = layer.lengths["wo"] * (output + (len(tr.q) * head_dim + 4) * _U * reach * math.sqrt(len(tr.q)))
    return 4 * (mixed * math.sqrt(len(tr.q)) + _U * float(tr.mid.norm()))


def row_noise(layer: Layer, tr: LayerTrace) -> float:
    """Bound on the rounding of the token's own key and value (L2)."""
    step = (2 * len(tr.x) + 16 + 8 * (tr.p.shape[1] + 8)) * _U
    return 4 * step * float(tr.h.norm()) * max(layer.lengths["wk"], layer.lengths["wv"])


def mlp_noise(layer: Layer, tr: LayerTrace, after: Tensor) -> float:
    """Radius (L2, residual stream) of the rounding in one MLP half; `after` is the residual stream behind it."""
    d, wide = len(tr.x), len(tr.u)
    h = float(tr.h2.norm())
    u_error, g_error = ((2 * d + 16) * _U * h * layer.lengths[w] for w in ("w1", "w3"))
    gate, up = torch.nn.functional.silu(tr.u), tr.g
    inner = (
        1.1 * u_error * float(up.abs().max()) + g_error * float(gate.abs().max()) + 16 * _U * float((gate * up).norm())
    )
    total = layer.lengths["w2"] * (inner + (wide + 4) * _U * float((gate * up).norm()))
    return 4 * (total + _U * float(after.norm()))


def score_noise(head: Tensor, final: Tensor) -> Tensor:
    """Bound on the rounding of every score head @ x `[V]`."""
    return 2 * (len(final) + 4) * _U * (head.abs() @ final.abs())
