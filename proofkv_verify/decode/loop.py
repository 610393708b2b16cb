"""One step of the loop: enclose, certify, or read more and enclose again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from proofkv_verify.decode.enclosure import Enclosure
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.methods import method_named
from proofkv_verify.decode.model import Model, Trace, advance
from proofkv_verify.decode.noise import score_noise
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import FULL, Scheme, compress, paged_rows
from proofkv_verify.decode.planner import needs, next_levels
from proofkv_verify.decode.record import Outcome
from proofkv_verify.errors import ProofkvError


class ContradictionError(ProofkvError):
    """Two enclosures of one number do not meet, or a certified token is not the full cache's: some premise is false."""


@dataclass(slots=True)
class Gaps:
    """Enclosures of the true score gaps of one step, met over its rounds while the nominal winner stays the same."""

    winner: int = -1
    low: Tensor = field(default_factory=lambda: torch.zeros(0))
    high: Tensor = field(default_factory=lambda: torch.zeros(0))

    def meet(self, found: Enclosure, noise: Tensor, slack: float = 1.0) -> bool:
        """Intersects with a new enclosure and says whether the winner is now shown strictly above every other.

        Args:
            found: the new enclosure.
            noise: rounding of each gap `[V]`.
            slack: how many radii a gap must exceed, at least 1.

        Raises:
            ContradictionError: the intersection is empty, so some sidecar is wrong.
        """
        if not found.proof:
            return False
        low = (found.gaps - slack * found.radii).nan_to_num(-torch.inf, torch.inf, -torch.inf)
        high = (found.gaps + 2 * noise + found.radii).nan_to_num(torch.inf, torch.inf, torch.inf)
        if self.winner == found.winner:
            low, high = torch.maximum(low, self.low), torch.minimum(high, self.high)
        if bool((low > high).any()):
            raise ContradictionError(
                f"token {int((low > high).nonzero()[0, 0])}: the enclosures of two rounds do not meet"
            )
        self.winner, self.low, self.high = found.winner, low, high
        others = torch.arange(len(low)) != found.winner
        return not found.reason and bool((low > 0)[others].all())


@dataclass(frozen=True, slots=True)
class Decision:
    """How one step ended: the nominal trace and enclosure that decided, and what was read for it."""

    token: int
    outcome: Outcome
    trace: Trace
    enclosure: Enclosure
    rounds: int
    units_opened: int
    forward_seconds: float


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides one step on the pages opened so far, reading more until the winner is certified or all is read.

    With a slack above 1 a gap must exceed that many radii, so that a checker with wider ones can follow.
    """

    model: Model
    method: str = "ellipsoid"
    slack: float = 1.0

    def decide(self, opened: Opened, token: int, *, refine: bool = True) -> Decision | None:
        """The next token with its proof; with every unit at level 16 the full cache's argmax.

        Returns:
            The decision, or None if `refine` is false and the levels as they are do not certify.
        """
        gaps, raised, rounds, at = Gaps(), 0, 0, 0
        enclose = method_named(self.method)
        while True:
            trace, sets, forward = plain_step(self.model, opened, token)
            found = enclose(self.model, trace, sets)
            noise = score_noise(self.model.head, trace.final)
            if gaps.meet(found, noise + noise[trace.token], self.slack):
                return Decision(
                    trace.token, "refined" if rounds else "certified", trace, found, rounds, raised, forward
                )
            if not refine:
                return None
            if bool((opened.levels == FULL).all()) and not opened.uncertain:
                return Decision(trace.token, "full", trace, found, rounds, raised, forward)
            wanted, at = next_levels(needs(self.model, trace, sets), opened.levels, opened.scheme.ladder, at)
            raised, rounds = raised + opened.refine(wanted), rounds + 1


def plain_step(model: Model, opened: Opened, token: int) -> tuple[Trace, list[Sets], float]:
    """The nominal step on the rows as read, the uncertainty set of each layer, and the seconds of the forward pass."""
    caches = [opened.cache(i) for i in range(len(model.layers))]
    start = time.perf_counter()
    trace = advance(model, token, opened.num_tokens, caches)
    seconds = time.perf_counter() - start
    return trace, [opened.sets(i) for i in range(len(model.layers))], seconds


def open_cache(full: FullCache, scheme: Scheme) -> Opened:
    """The pages of a full cache, opened at the first level."""
    paged, tail = paged_rows([c.keys for c in full.caches], [c.values for c in full.caches], scheme.page_size)
    return Opened(compress(paged, scheme), scheme, tail)
