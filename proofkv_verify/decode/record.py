"""What a decoding run reports: one record a step, and the totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["certified", "refined", "full", "anchored", "drafted"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One emitted token.

    Attributes:
        position: of the token that was fed; token: the id emitted.
        outcome: "certified" without a further read, "refined" after some, "full" when the last rung (the whole full
            cache)
            decided, "anchored" when a full-cache pass decided at a re-anchor, "drafted" when only a later pass
            verified it.
        margin: smallest gap over all rivals; radius: of the rival that is hardest; both in units of the nominal scores.
        rounds: reads after the first; units_opened: units raised in this step.
        bits: mean level of the units at the end; payload_bits, sidecar_bits: read in this step; anchor_bits: read by
            full-cache passes at this step; elements: of the whole cache.
        seconds: spent on the step; forward_seconds: of them in the last plain forward pass, 0 where there was none.
        levels: how many units were read at each level at the end, as pairs of level and count.
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
    elements: int
    seconds: float
    forward_seconds: float
    levels: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals of a run.

    Attributes:
        steps: tokens emitted; certified, refined, full, anchored, drafted: how many ended so.
        mean_bits: mean level of all units over the steps; units_opened: units that a step raised, mean.
        bytes_read: pages and sidecars for decisions; anchor_bytes: full-cache passes; full_bytes: what the full cache
            would have read for the same steps.
        time_ratio: step time over the plain forward pass.
        tokens_per_pass: tokens emitted per full-cache pass, infinite if there was none.
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
    tokens_per_pass: float


def summarise(records: Sequence[StepRecord]) -> Summary:
    """The totals of a run; all zero for an empty one."""
    count = {
        name: sum(r.outcome == name for r in records)
        for name in ("certified", "refined", "full", "anchored", "drafted")
    }
    steps, passes = len(records), sum(r.anchor_bits > 0 for r in records)
    forward = sum(r.forward_seconds for r in records)
    timed = sum(r.seconds for r in records if r.forward_seconds)
    return Summary(
        steps, **count,
        mean_bits=sum(r.bits for r in records) / max(steps, 1),
        units_opened=sum(r.units_opened for r in records) / max(steps, 1),
        bytes_read=sum(r.payload_bits + r.sidecar_bits for r in records) / 8,
        anchor_bytes=sum(r.anchor_bits for r in records) / 8,
        full_bytes=sum(16 * r.elements for r in records) / 8,
        time_ratio=timed / forward if forward else 0.0,
        tokens_per_pass=steps / passes if passes else float("inf"),
    )  # fmt: skip


def confirmed(records: Sequence[StepRecord]) -> int:
    """How many tokens, from the first on, a full-cache pass has confirmed; those after them rest on certificates alone.

    A pass confirms every token before it, and the one that it decides.
    """
    last = [at for at, r in enumerate(records, 1) if r.anchor_bits or r.outcome in ("full", "anchored", "drafted")]
    return max(last, default=0)
