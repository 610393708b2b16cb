"""Tails whose rows are not exact: the independent-radius baseline, and which object a policy uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from proofkv_verify.decode.enclosure import layer_bounds
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import Decider, Decision
from proofkv_verify.decode.model import Model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.policy import Policy
from proofkv_verify.decode.stored_rows import own_row


class Tail(Protocol):
    """Certifies steps over rows that the compressed pass computed, until the next full-cache pass."""

    def certify(self, opened: Opened, token: int) -> Decision | None:
        """Decides a step and adds its row to the tail with what is known of it, or None and no row."""
        ...


@dataclass(slots=True)
class RadiusTail:
    """Every row of the tail has a radius of its own, as if its error had nothing to do with any other."""

    decider: Decider

    def certify(self, opened: Opened, token: int) -> Decision | None:
        """As `Tail.certify`."""
        decision = self.decider.decide(opened, token, refine=False)
        if decision is None:
            return None
        sets = [opened.sets(i) for i in range(len(self.decider.model.layers))]
        bounds, _ = layer_bounds(self.decider.model, decision.trace, sets)
        own = [own_row(bound.maps, bound.attention.p_in) for bound in bounds]
        opened.append_uncertain(torch.stack([o.row for o in own], 1), torch.stack([o.total for o in own], 1))
        return decision


def tail_of(policy: Policy, model: Model) -> Tail:
    """A fresh tail for a policy; under `exact` it is never asked."""
    return JointTail(model, policy.every) if policy.kind == "joint" else RadiusTail(Decider(model))
