"""Fuzzing: adversarial batches screened in float64, then Hypothesis; the exact checker judges what is not decided."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random

import torch
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

from proofkv_verify.claims import Claim
from proofkv_verify.kinds import Instance
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.batch import Batch, Screened, complexity
from proofkv_verify.search.forms import Screen, refuted
from proofkv_verify.search.result import Clock, Found
from proofkv_verify.search.samplers import random_batch, space_of
from proofkv_verify.search.strategies import instances

BATCH = 1024
_DECIDED = -1e-7  # a relative excess below this is beyond any rounding of the float64 evaluation
_JUDGED_A_BATCH = 12
_HYPOTHESIS_EXAMPLES = 40
_HYPOTHESIS_EVERY = 16


def search_fuzz(claim: Claim, clock: Clock, seed: int) -> Found:
    """Looks for an instance on which the checker refutes the claim, until the clock is over."""
    rng = Random(seed)
    screen = Screen(claim)
    tightest, left = 0.0, 0
    for round_number in range(1 << 30):
        if clock.over():
            break
        if round_number % _HYPOTHESIS_EVERY == _HYPOTHESIS_EVERY - 1:
            instance = _hypothesis_round(claim, clock, rng, screen.forms)
        else:
            batch, excess, ratio = _screened(claim, screen, rng)
            tightest = max(tightest, ratio)
            instance, unjudged = judge(claim, batch, excess, clock)
            left += unjudged
        if instance is not None:
            return Found(clock.cases, instance, _tightness(screen, tightest), screen.note)
    notes = [screen.note, f"{left} cases were left undecided in float64 and not judged" if left else ""]
    return Found(clock.cases, None, _tightness(screen, min(tightest, 1.0)), "; ".join(filter(None, notes)))


def _screened(claim: Claim, screen: Screen, rng: Random) -> tuple[Batch, torch.Tensor, float]:
    """A batch, the excess of each case (NaN where it must be judged), and the largest truth / claimed in it."""
    form = rng.choice(screen.forms)
    size = BATCH if screen.vectorised else 8
    _, batch = random_batch(space_of(claim.kind), form, rng, batch=size)
    if not screen.vectorised:
        return batch, torch.full((size,), torch.nan), 0.0
    values = screen.evaluate(batch)
    if values is None:
        return batch, torch.full((size,), -torch.inf), 0.0
    return batch, values.excess, largest_ratio(claim, values)


def largest_ratio(claim: Claim, values: Screened) -> float:
    """The largest finite truth / claimed of a batch; 0 for a claim that decides and has no ratio."""
    if kind_named(claim.kind).relation == "decision":
        return 0.0
    ratio = values.truth / values.claimed
    # Below this the quotient is mostly rounding.
    meant = ratio.isfinite() & (values.truth > 1e-9)
    return float(ratio[meant].max()) if bool(meant.any()) else 0.0


def judge(claim: Claim, batch: Batch, excess: torch.Tensor, clock: Clock) -> tuple[Instance | None, int]:
    """Judges the cases that float64 does not decide, the worst first.

    Args:
        claim: the claim.
        batch: the cases.
        excess: [batch], as `batch.evaluate` gives it; NaN means that the case must be judged.
        clock: counts the decided cases.

    Returns:
        An instance that the checker refutes, or None, and how many undecided cases were not judged.
    """
    undecided = ~(excess < _DECIDED)
    order = excess.nan_to_num(0.0).argsort(descending=True)
    queue = [int(i) for i in order if undecided[i]]
    clock.count(len(batch) - len(queue))
    for done, index in enumerate(queue[:_JUDGED_A_BATCH]):
        if clock.over():
            return None, len(queue) - done
        instance = batch.instance(index)
        clock.count(1)
        if refuted(claim, instance):
            return instance, 0
    return None, max(len(queue) - _JUDGED_A_BATCH, 0)


def _hypothesis_round(claim: Claim, clock: Clock, rng: Random, forms: Sequence[str]) -> Instance | None:
    """Lets Hypothesis look for and minimise an instance; out of time it stops soon."""
    found: list[Instance] = []

    def fails(instance: Instance) -> bool:
        if clock.over():
            return False
        clock.count(1)
        if refuted(claim, instance):
            found.append(instance)
            return True
        return False

    # Flaky: the clock ended the minimising; what was found until then stands.
    with suppress(NoSuchExample, Unsatisfiable, Flaky):
        find(instances(claim.kind, tuple(forms)), fails, settings=_SETTINGS, random=Random(rng.getrandbits(62)))
    return min(found, key=complexity, default=None)


def _tightness(screen: Screen, ratio: float) -> float | None:
    return ratio if screen.vectorised and ratio > 0 else None


_SETTINGS = settings(
    max_examples=_HYPOTHESIS_EXAMPLES,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
