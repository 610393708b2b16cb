"""Fewer tokens for a counterexample: greedy, every step judged exactly."""

from __future__ import annotations

from collections.abc import Callable

import torch

from proofkv_verify.certificate import Counterexample

Attempt = Callable[[torch.Tensor], "Counterexample | None"]


def fewest_tokens(tokens: torch.Tensor, size: torch.Tensor, attempt: Attempt) -> Counterexample | None:
    """A counterexample over few of the tokens, or None if no smaller set was found.

    Args:
        tokens: indices of all attended tokens.
        size: `[T]`, how far each token is off; tokens that are off most are tried first.
        attempt: the counterexample over some tokens, or None where the claim holds on them.
    """
    order = tokens[size[tokens].argsort(descending=True, stable=True)]
    found, kept = None, order
    count = 2
    while count < len(order):
        found = attempt(order[:count].sort().values)
        if found is not None:
            kept = order[:count]
            break
        count *= 2
    if found is None or len(kept) > 64:
        return found
    for token in kept.flip(0):
        fewer = kept[kept != token]
        smaller = attempt(fewer.sort().values) if len(fewer) > 1 else None
        if smaller is not None:
            found, kept = smaller, fewer
    return found
