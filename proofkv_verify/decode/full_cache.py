"""The full cache: what the decoder without compression holds and emits, the yardstick of every certificate.

Reference semantics. The prompt's rows are computed by one parallel float64 pass, a later token's row by the float64
step of `model.advance` over the earlier rows; each row is stored in float16. The token emitted at a position is the
argmax of the scores over the stored rows, ties by the lowest id. A certificate speaks of those scores in real
arithmetic; where it gives up, the float64 step decides, which can differ from real arithmetic only at a gap of
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.model import Cache, Model, Trace, advance, prefill, stored
from proofkv_verify.decode.pages import FULL


@dataclass(slots=True)
class FullCache:
    """Stored rows of all layers for the positions before `position`."""

    model: Model
    caches: list[Cache]

    @classmethod
    def of_prompt(cls, model: Model, ids: Sequence[int]) -> FullCache:
        """The cache after a prompt, which may be empty."""
        if ids:
            return cls(model, prefill(model, ids))
        empty = torch.zeros(model.config.num_kv_heads, 0, model.config.head_dim, dtype=torch.float64)
        return cls(model, [Cache(empty, empty) for _ in model.layers])

    @property
    def position(self) -> int:
        """The position of the next token."""
        return self.caches[0].keys.shape[1]

    @property
    def bits(self) -> int:
        """What one step reads."""
        return sum(cache.keys.numel() * 2 * FULL for cache in self.caches)

    def step(self, token: int) -> Trace:
        """Runs the full cache on a token and stores its row."""
        trace = advance(self.model, token, self.position, self.caches)
        row = row_of(trace)
        self.caches = [c.extended(row[0, i][:, None], row[1, i][:, None]) for i, c in enumerate(self.caches)]
        return trace


def row_of(trace: Trace) -> Tensor:
    """The token's own keys and values as they are stored `[2, L, G, D]`."""
    keys = torch.stack([tr.keys[:, -1] for tr in trace.layers])
    return stored(torch.stack([keys, torch.stack([tr.values[:, -1] for tr in trace.layers])]))
