"""The sequence theorem's invariant, checked while decoding: pages hold the full cache's rows, tails are enclosed."""

from __future__ import annotations

import torch
from torch import Tensor

from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import ContradictionError
from proofkv_verify.decode.opened import Opened


def exact_rows(opened: Opened) -> Tensor:
    """The rows that stand behind the pages and after them `[2, L, G, T, D]`, whatever was read of them."""
    return torch.cat([opened.pages.rows.flatten(3, 4), opened.tail], 3)


def check_rows(opened: Opened, full: FullCache) -> None:
    """Every row, those of generated tokens among them, is the one that the full cache stores, bit for bit.

    Raises:
        ContradictionError: a row is not, or there are more or fewer; what is certified from then on would be about
            another cache.
    """
    held = exact_rows(opened)
    stored = torch.stack([torch.stack([c.keys for c in full.caches]), torch.stack([c.values for c in full.caches])])
    if opened.uncertain or held.shape != stored.shape:
        raise ContradictionError(f"the pages hold {opened.num_tokens} rows, the full cache {full.position}")
    if bool((wrong := (held != stored).any(-1)).any()):
        kind, layer, head, row = wrong.nonzero()[0].tolist()
        name = f"row {row} of the {('keys', 'values')[kind]} of layer {layer}, KV head {head}"
        raise ContradictionError(f"{name} is not the full cache's")


def check_enclosed(row: Tensor, radius: Tensor, exact: Tensor, position: int) -> None:
    """The full cache's row lies in the set that was claimed for it.

    Args:
        row: what the compressed pass computed `[2, L, G, D]`.
        radius: L2 radius of each row around it `[2, L, G]`.
        exact: what the full cache stores `[2, L, G, D]`.
        position: of the token.

    Raises:
        ContradictionError: it does not, so some enclosure is false.
    """
    if not bool(((exact - row).norm(dim=-1) <= radius).all()):
        raise ContradictionError(f"the row of the token at position {position} left the set claimed for it")
