"""What a decoding run reports: one record a step, and the totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["certified", "refined", "full", "anchored", "drafted"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One emitted token.

    Attributes:
        position: of the token that was fed; token: the id emitted.
        outcome: "certified" without a further read, "refined" after some, "full" when the last rung (the whole full cache)
            decided, "anchored" when a full-cache pass decided at a re-anchor, "drafted" when only a later pass verified it.
        margin: smallest gap over all rivals; radius: of the rival that is hardest; both in units of the nominal scores.
        rounds: reads after the first; units_opened: units raised in this step.
        bits: mean level of the units at the end; payload_bits, sidecar_bits: read in this step; anchor_bits: read by
            full-cache passes at this step; seconds: spent on the step.
    """

    position: int
    token: int
    outcome: Outcome
    margin: float
    radius: float
    rounds: int
    units_opened: int
    bits: float
    payload_bits: int
    sidecar_bits: int
    anchor_bits: int
    seconds: float
    forward_seconds: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals of a run.

    Attributes:
        steps: tokens emitted; certified, refined, full, anchored, drafted: how many ended so.
        mean_bits: mean level of all units over the steps; units_opened: share of all units that a step raised, mean.
        bytes_read: pages and sidecars for decisions; anchor_bytes: full-cache passes; full_bytes: what the full cache
            would have read for the same steps.
        time_ratio: step time over the plain forward pass.
        mismatches: tokens that differ from the full cache's, None when it was not run beside.
        exact: the policy's invariant was established at every step, so the sequence is the full cache's.
    """

    steps: int
    certified: int
    refined: int
    full: int
    anchored: int
    drafted: int
    mean_bits: float
    units_opened: float
    bytes_read: float
    anchor_bytes: float
    full_bytes: float
    time_ratio: float
    mismatches: int | None
    exact: bool
