"""The exact Jacobians of one layer at the nominal point, on which every first-order term and remainder is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from proofkv_verify.decode.model import Layer, LayerTrace, Trace
from proofkv_verify.decode.opened import Sets


@dataclass(frozen=True)
class Maps:
    """One layer with its Jacobians, residual stream to residual stream unless said otherwise.

    Attributes:
        layer, trace, sets: what they were computed from; of: KV head of each query head `[H]`.
        centred: c_i = v_i - o `[H, n, D]`; weighted: p_i c_i.
        rows, turns: the centred scores move by rows @ turns @ dh, `[H, n, D + 1]` and `[H, D + 1, d]`; the last of the
            D + 1 is the token's own key.
        heads: output of each head by dh, without the token's own value `[H, D, d]`.
        attention_out, mlp_out: from the normalised input `[d, d]`.
        silu: silu, silu' and silu'' of the gates `[f]` each.
    """

    layer: Layer
    trace: LayerTrace
    sets: Sets
    of: Tensor
    centred: Tensor
    weighted: Tensor
    rows: Tensor
    turns: Tensor
    heads: Tensor
    attention_out: Tensor
    mlp_out: Tensor
    silu: tuple[Tensor, Tensor, Tensor]

    @property
    def scale(self) -> float:
        """The factor of the dot product."""
        return float(self.trace.q.shape[-1] ** -0.5)

    @cached_property
    def attention(self) -> Tensor:
        """Of the whole attention half `[d, d]`."""
        return behind_norm(self.attention_out, self.trace.x, self.trace.rho)

    @cached_property
    def mlp(self) -> Tensor:
        """Of the whole MLP half `[d, d]`."""
        return behind_norm(self.mlp_out, self.trace.mid, self.trace.rho2)


def maps_of(layer: Layer, tr: LayerTrace, sets: Sets) -> Maps:
    """The Jacobians of one layer at its trace."""
    of = torch.arange(len(tr.q)) // (len(tr.q) // len(tr.wk))
    scale, p = tr.q.shape[-1] ** -0.5, tr.p
    centred = tr.values[of] - tr.o[:, None]
    weighted = p[..., None] * centred
    keys, last = tr.keys[of], -p[:, -1:].repeat(1, p.shape[1])
    last[:, -1] += 1  # the own score moves by q.dk; centring takes its weight's share off every score
    rows = torch.cat([keys - p[:, None] @ keys, last[..., None]], 2)
    turns = torch.cat([tr.wq, tr.q[:, None] @ tr.wk[of]], 1) * scale
    heads = (weighted.mT @ rows) @ turns
    attention_out = (layer.wo @ (heads + p[:, -1, None, None] * layer.wv[of])).sum(0)
    silu = silu_parts(tr.u)
    mlp_out = layer.w2 @ ((silu[1] * tr.g)[:, None] * layer.w1 + silu[0][:, None] * layer.w3)
    return Maps(layer, tr, sets, of, centred, weighted, rows, turns, heads, attention_out, mlp_out, silu)


def all_maps(layers: Sequence[Layer], trace: Trace, sets: Sequence[Sets]) -> list[Maps]:
    """The Jacobians of every layer."""
    return [maps_of(layer, tr, known) for layer, tr, known in zip(layers, trace.layers, sets, strict=True)]


def norm_jacobian(x: Tensor, rho: float) -> Tensor:
    """(I - x x' / (d rho^2)) / rho."""
    return (torch.eye(len(x), dtype=x.dtype) - torch.outer(x, x) / (len(x) * rho**2)) / rho


def behind_norm(out: Tensor, x: Tensor, rho: float) -> Tensor:
    """I + out J for the RMSNorm Jacobian J, which is a multiple of I but for one rank."""
    whole = (out - torch.outer(out @ x, x / (len(x) * rho**2))) / rho
    whole.diagonal().add_(1.0)
    return whole


def silu_parts(u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """silu(u), its first and its second derivative."""
    s = torch.sigmoid(u)
    return u * s, s * (1 + u * (1 - s)), s * (1 - s) * (2 + u * (1 - 2 * s))
