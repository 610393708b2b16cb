"""The generated tokens since the last full-cache pass as one graph of the same page errors, and its exact adjoint.

A direction at one token's residual stream is pulled back through that token's layers and, at every attention, through
the keys and values of the earlier tail tokens that it read, so that a page's error meets itself along every path before
any norm is taken. Rows of the tail carry a source of their own: the rounding to float16 when the full cache stores
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.maps import Maps, norm_jacobian
from proofkv_verify.decode.model import F64, Model
from proofkv_verify.decode.shapes import split


@dataclass(frozen=True, slots=True)
class Pulled:
    """A direction (R rows) at one layer of the tail, S tokens from `first` on.

    Attributes:
        layer: index; first: the tokens below it have zero rows at `end` and `mid`.
        end: after the layer, None at the start of a pull from mid; mid: after attention `[S - first, R, d]`.
        normal: at every token's normalised attention input `[S, R, d]`.
        keys: at every row of the cache, a group's heads summed, in a basis that keeps lengths `[G, N, R, k]`.
        weights, heads: values at row i are the sum over k of weights_ik heads_k, `[G, N, K]` and `[G, K, R, D]`.
    """

    layer: int
    first: int
    end: Tensor | None
    mid: Tensor
    normal: Tensor
    keys: Tensor
    weights: Tensor
    heads: Tensor

    @property
    def values(self) -> Tensor:
        """At every row's value, a group's heads summed `[G, N, R, D]`."""
        return split(self.weights @ self.heads.flatten(2), -1, tuple(self.heads.shape[2:]))


class TailGraph:
    """The tail's Jacobians, stacked by layer over its tokens; `base` exact or paged rows lie in front of the tail."""

    def __init__(self, model: Model, base: int, capacity: int) -> None:
        config = model.config
        self.model, self.base, self.capacity, self.tokens = model, base, capacity, 0
        d, heads, size, layers = config.hidden_size, config.num_heads, config.head_dim, config.num_layers
        width = base + capacity
        square = (layers, capacity, d, d)
        self.mlp, self.attention_out, self.norm = (torch.zeros(square, dtype=F64) for _ in range(3))
        self.weighted = torch.zeros(layers, capacity, heads, width, size, dtype=F64)
        self.p = torch.zeros(layers, capacity, heads, width, dtype=F64)
        self.q = torch.zeros(layers, capacity, heads, size, dtype=F64)
        self.wk = torch.zeros(layers, capacity, config.num_kv_heads, size, d, dtype=F64)

    def open_token(self) -> int:
        """Begins the next token and gives its index in the tail."""
        self.tokens += 1
        return self.tokens - 1

    def put_attention(self, layer: int, maps: Maps) -> None:
        """Stores what a pull through the attention of the newest token needs; its own row is on its own path."""
        at, read = self.tokens - 1, maps.trace.p.shape[1] - 1
        self.attention_out[layer, at] = maps.attention_out
        self.norm[layer, at] = norm_jacobian(maps.trace.x, maps.trace.rho)
        self.weighted[layer, at, :, :read] = maps.weighted[:, :-1] * maps.scale
        self.p[layer, at, :, :read] = maps.trace.p[:, :-1]
        self.q[layer, at], self.wk[layer, at] = maps.trace.q, maps.trace.wk
        self.mlp[layer, at] = maps.mlp

    def pull(self, rows: Tensor, layer: int, *, from_mid: bool) -> Iterator[Pulled]:
        """Pulls rows `[R, d]` at the newest token back from `layer` to 0: after its attention, or after the layer."""
        last, mid_start = self.tokens - 1, rows[None]
        a, first = mid_start, last
        for at in range(layer, -1, -1):
            end = None if from_mid and at == layer else a
            mid = a if end is None else a @ self.mlp[at, first : self.tokens]
            yield (pulled := self._attention(at, first, end, mid))
            a = pulled.normal @ self.norm[at, : self.tokens]
            a[first:] += mid
            first = 0

    def _attention(self, layer: int, first: int, end: Tensor | None, mid: Tensor) -> Pulled:
        here, used = slice(first, self.tokens), self.base + self.tokens - 1
        groups = self.model.config.num_kv_heads
        heads = mid[:, None] @ self.model.layers[layer].wo
        mass = self.weighted[layer, here, :, :used] @ heads.mT
        mass = split(mass, 1, (groups, -1)).permute(1, 3, 4, 0, 2).flatten(3)
        q = split(self.q[layer, here], 1, (groups, -1)).transpose(0, 1).flatten(1, 2)
        p = split(self.p[layer, here, :, :used], 1, (groups, -1)).permute(1, 3, 0, 2).flatten(2)
        flat = split(heads, 1, (groups, -1)).transpose(0, 1).flatten(1, 2)
        normal = torch.zeros(self.tokens, *mid.shape[1:], dtype=F64)
        normal[first:] = mid @ self.attention_out[layer, here]
        if self.tokens > 1:
            tail_keys = mass[:, self.base :] @ q[:, None]
            tail_values = split(p[:, self.base :] @ flat.flatten(2), -1, tuple(flat.shape[2:]))
            wk = self.wk[layer, : self.tokens - 1].transpose(0, 1)
            normal[:-1] += (tail_keys @ wk).sum(0)
            normal[:-1] += (tail_values @ self.model.layers[layer].wv[:, None]).sum(0)
        return Pulled(layer, first, end, mid, normal, mass @ _short_basis(q)[:, None], p, flat)


def _short_basis(q: Tensor) -> Tensor:
    """B with |m B| = |m q| for all rows m: q `[G, K, D]`, or its triangular factor `[G, K, K]` if smaller."""
    if q.shape[1] >= q.shape[2]:
        return q
    factor: Tensor = torch.linalg.qr(q.mT).R
    return factor.mT
