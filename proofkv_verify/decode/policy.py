"""What happens to the rows of generated tokens: the compressed pass computed them, the full cache would hold others.

exact:n   every n tokens (default 1) one full-cache pass recomputes the rows and verifies the tokens; between passes the
          tokens after the first are drafts and are emitted only once verified.
joint:n   one certificate over all errors of the tail together; a full-cache pass on failure, or after n tokens.
radius:n  an independent radius for each row, which explodes: the baseline. A pass on failure, or after n tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proofkv_verify.errors import InvalidInputError

_DEFAULT_EVERY = {"exact": 1, "joint": 32, "radius": 32}


@dataclass(frozen=True, slots=True)
class Policy:
    """A tail policy and how many tokens may pass between full-cache passes."""

    kind: Literal["exact", "joint", "radius"]
    every: int

    def __post_init__(self) -> None:
        if self.kind not in _DEFAULT_EVERY:
            raise InvalidInputError("policy", f"one of {', '.join(_DEFAULT_EVERY)}", self.kind)
        if self.every < 1:
            raise InvalidInputError("tokens between full-cache passes", "at least 1", self.every)


def parse_policy(text: str) -> Policy:
    """A policy from `exact`, `exact:4`, `joint`, `joint:8`, `radius`, ...

    Raises:
        InvalidInputError: unknown policy or a period that is not a positive number.
    """
    kind, _, every = text.partition(":")
    if kind not in _DEFAULT_EVERY or (every and not every.isdigit()):
        raise InvalidInputError("policy", "exact, joint or radius, with an optional period such as exact:4", text)
    return Policy(kind, int(every) if every else _DEFAULT_EVERY[kind])  # type: ignore[arg-type]
