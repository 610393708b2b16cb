"""Time and bytes of one step, and the record made from them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace

import torch

from proofkv_verify.decode.enclosure import Enclosure, directions, rivals_by_gap
from proofkv_verify.decode.loop import Decision
from proofkv_verify.decode.model import F64, Model, Trace
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.record import Outcome, StepRecord


@dataclass(frozen=True, slots=True)
class Meter:
    """When a step began and at which position; once stopped, what it read."""

    began: float
    position: int
    seconds: float = 0.0
    bits: float = 16.0
    payload_bits: int = 0
    sidecar_bits: int = 0
    elements: int = 0
    levels: tuple[tuple[int, int], ...] = ()

    @classmethod
    def start(cls, opened: Opened) -> Meter:
        """Starts at the position that the cache is about to be asked about."""
        return cls(time.perf_counter(), opened.num_tokens)

    def stop(self, opened: Opened) -> Meter:
        """What the step took and read up to now."""
        mean = float(opened.levels.to(F64).mean()) if opened.levels.numel() else 16.0
        elements = opened.pages.rows.numel() + opened.tail.numel()
        spent = time.perf_counter() - self.began
        levels = tuple(sorted(Counter(opened.levels.flatten().tolist()).items()))
        read = opened.payload_bits, opened.sidecar_bits
        return Meter(self.began, self.position, spent, mean, *read, elements, levels)

    def moved(self, steps: int) -> Meter:
        """The same for a step that came later in the window."""
        return replace(self, position=self.position + steps)


def decided(meter: Meter, decision: Decision, anchor_bits: int) -> StepRecord:
    """The record of a step that the decider ended."""
    margin, radius = hardest_pair(decision.enclosure)
    return StepRecord(
        meter.position, decision.token, decision.outcome, margin, radius, decision.rounds, decision.units_opened,
        meter.bits, meter.payload_bits, meter.sidecar_bits, anchor_bits, meter.elements, meter.seconds,
        decision.forward_seconds, meter.levels,
    )  # fmt: skip


def verified(meter: Meter, trace: Trace, model: Model, outcome: Outcome, anchor_bits: int = 0) -> StepRecord:
    """The record of a step that a full-cache pass ended."""
    _, gaps = directions(model, trace)
    margin = float(gaps[rivals_by_gap(gaps, trace.token)[0]])
    return StepRecord(
        meter.position, trace.token, outcome, margin, 0.0, 0, 0, meter.bits, meter.payload_bits, meter.sidecar_bits,
        anchor_bits, meter.elements, time.perf_counter() - meter.began, 0.0, meter.levels,
    )  # fmt: skip


def hardest_pair(found: Enclosure) -> tuple[float, float]:
    """The gap and the radius of the rival that the winner is least safe against."""
    others = torch.arange(len(found.gaps)) != found.winner
    slack = torch.where(others, found.gaps - found.radii, torch.inf)
    at = (
        int(slack.argmin())
        if bool(found.radii.isfinite().all())
        else int(torch.where(others, found.gaps, torch.inf).argmin())
    )
    return float(found.gaps[at]), float(found.radii[at])
