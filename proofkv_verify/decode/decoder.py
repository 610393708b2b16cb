"""Greedy decoding from lossy pages with a proof for each token, or a read of the full cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch

from proofkv_verify.decode.full_cache import FullCache, row_of
from proofkv_verify.decode.invariant import check_enclosed, check_rows
from proofkv_verify.decode.loop import ContradictionError, Decider, Decision, open_cache
from proofkv_verify.decode.meter import Meter, decided, verified
from proofkv_verify.decode.methods import method_named
from proofkv_verify.decode.model import Model, Trace, advance, check_ids
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.policy import Policy, parse_policy
from proofkv_verify.decode.processors import Processor, parse_processors
from proofkv_verify.decode.record import StepRecord, Summary, summarise
from proofkv_verify.decode.tail import Tail, tail_of
from proofkv_verify.errors import InvalidInputError

Observer: TypeAlias = Callable[[Opened, int, Decision], None]


@dataclass(frozen=True, slots=True)
class Result:
    """Tokens emitted, a record of each and the totals."""

    tokens: tuple[int, ...]
    records: tuple[StepRecord, ...]
    summary: Summary


@dataclass(slots=True)
class _Run:
    """A run in progress; `pending` are fed tokens whose exact rows are not known yet."""

    full: FullCache
    opened: Opened
    tail: Tail
    pending: list[int]


class CertifiedDecoder:
    """Decodes the tokens that the full cache would, reading lossy pages and only as much more as a proof needs.

    Args:
        model: the model.
        scheme: page size and ladder.
        policy: for the rows of generated tokens; text such as "exact" or "joint:16" or a `Policy`.
        method: which enclosure decides; "first-order" is refused, since it proves nothing.
        keep_levels: refined units stay refined for later steps.
        processors: logit processors that the engine applies, as text such as "temperature:0.7" or a `Processor`; only
            those are taken that cannot change the greedy token, so they change nothing here.
        slack: how many radii a gap must exceed, at least 1; more leaves room for the checker of a stored certificate,
            whose enclosure is wider. Under the `exact` policy only.
        observe: called with the cache as read, the token fed and the decision of each step under the `exact` policy.
    """

    def __init__(
        self,
        model: Model,
        scheme: Scheme,
        policy: Policy | str = "exact",
        *,
        method: str = "ellipsoid",
        keep_levels: bool = False,
        processors: Sequence[Processor | str] = (),
        slack: float = 1.0,
        observe: Observer | None = None,
    ) -> None:
        method_named(method)
        if method == "first-order":
            raise InvalidInputError("method", "one whose radii are a proof", method)
        self.model, self.scheme, self.keep_levels, self.observe = model, scheme, keep_levels, observe
        self.processors = parse_processors(processors)
        self.policy = parse_policy(policy) if isinstance(policy, str) else policy
        if not slack >= 1 or (slack != 1 and self.policy.kind != "exact"):
            raise InvalidInputError("slack", "at least 1, and 1 for another policy than exact", slack)
        self.decider = Decider(model, method, slack)
        if self.policy.kind != "exact" and method != "ellipsoid":
            raise InvalidInputError("method", "ellipsoid, the only one for an uncertain tail", method)

    def generate(self, ids: Sequence[int], n: int) -> Result:
        """Emits n tokens after the prompt.

        Raises:
            InvalidInputError: an empty prompt, an id outside the vocabulary, or more positions than the context.
            ContradictionError: a sidecar or a certificate proved false.
        """
        records = tuple(self.stream(ids, n))
        return Result(tuple(r.token for r in records), records, summarise(records))

    def stream(self, ids: Sequence[int], n: int) -> Iterator[StepRecord]:
        """The records of n tokens, each as soon as its token is final."""
        ids = list(ids)
        check_ids(self.model, ids, n)
        if n < 0:
            raise InvalidInputError("tokens to emit", "at least 0", n)
        full = FullCache.of_prompt(self.model, ids[:-1])
        opened = open_cache(full, self.scheme)
        run, token, left = _Run(full, opened, tail_of(self.policy, self.model), []), ids[-1], n
        while left:
            for record in self._exact(run, token, left) if self.policy.kind == "exact" else self._uncertain(run, token):
                yield record
                token, left = record.token, left - 1

    def _exact(self, run: _Run, token: int, left: int) -> Iterator[StepRecord]:
        """A certified step, drafts after it if the period asks for them, then one full-cache pass over all of these."""
        started = self._begin(run)
        decision = self.decider.decide(run.opened, token)
        assert decision is not None  # with refinement allowed the last rung decides
        meter = started.stop(run.opened)
        if self.observe is not None:
            self.observe(run.opened, token, decision)
        emitted = [decision.token, *draft(self.model, run.opened, decision, min(self.policy.every, left) - 1)]
        for at, (fed, guess) in enumerate(zip([token, *emitted], emitted, strict=False)):
            bits, trace = run.full.bits, run.full.step(fed)
            run.opened.append(row_of(trace))
            check_rows(run.opened, run.full)
            if at == 0:
                yield decided(meter, _settled(decision, trace), bits)
            else:
                yield verified(meter.moved(at), trace, self.model, "drafted" if trace.token == guess else "anchored")
            if trace.token != guess:
                return

    def _uncertain(self, run: _Run, token: int) -> Iterator[StepRecord]:
        """A step certified over the uncertain tail, or else a full-cache pass over the tail and this token."""
        started = self._begin(run)
        decision = None if len(run.pending) >= self.policy.every else run.tail.certify(run.opened, token)
        run.pending.append(token)
        if decision is not None:
            yield decided(started.stop(run.opened), decision, 0)
            return
        meter, bits = started.stop(run.opened), run.full.bits
        yield verified(meter, self._anchor(run), self.model, "anchored", bits)

    def _begin(self, run: _Run) -> Meter:
        run.opened.begin_step(keep_levels=self.keep_levels)
        return Meter.start(run.opened)

    def _anchor(self, run: _Run) -> Trace:
        """Recomputes the rows of all pending tokens by full-cache steps, verifies the tokens and their enclosures."""
        known = run.opened.uncertain
        rows, radii = run.opened.tail[..., -known:, :], run.opened.tail_norm[..., -known:]
        run.opened.drop_uncertain()
        for at, (fed, expected) in enumerate(zip(run.pending, [*run.pending[1:], None], strict=True)):
            trace = run.full.step(fed)
            if at < known:
                check_enclosed(rows[..., at, :], radii[..., at], row_of(trace), run.opened.num_tokens)
            run.opened.append(row_of(trace))
            if expected is not None and trace.token != expected:
                raise ContradictionError(f"a certified token is {expected}, the full cache's is {trace.token}")
        check_rows(run.opened, run.full)
        run.pending, run.tail = [], tail_of(self.policy, self.model)
        return trace


def _settled(decision: Decision, full: Trace) -> Decision:
    """The decision as the full cache confirms it; where all was read, the full cache's own argmax stands."""
    if decision.outcome == "full":
        return replace(decision, token=full.token)
    if decision.token != full.token:
        raise ContradictionError(f"a {decision.outcome} token is {decision.token}, the full cache's is {full.token}")
    return decision


def draft(model: Model, opened: Opened, decision: Decision, count: int) -> list[int]:
    """Tokens that the compressed pages would emit after a decision, over rows that nothing is known about."""
    tokens: list[int] = []
    rows = [row_of(decision.trace)]
    while len(tokens) < count:
        tail = torch.stack(rows, -2)
        caches = [opened.cache(i).extended(tail[0, i], tail[1, i]) for i in range(len(model.layers))]
        trace = advance(model, ([decision.token, *tokens])[-1], caches[0].keys.shape[1], caches)
        rows.append(row_of(trace))
        tokens.append(trace.token)
    return tokens
