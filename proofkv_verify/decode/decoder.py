"""Greedy decoding from lossy pages with a proof for each token, or a read of the full cache."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from proofkv_verify.decode.enclosure import Enclosure, directions
from proofkv_verify.decode.full_cache import FullCache, row_of
from proofkv_verify.decode.loop import ContradictionError, Decider, Decision, open_cache
from proofkv_verify.decode.model import Model, Trace, check_ids
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import FULL, Scheme
from proofkv_verify.decode.policy import Policy, parse_policy
from proofkv_verify.decode.record import Outcome, StepRecord, Summary, summarise
from proofkv_verify.decode.tail import Tail, tail_of
from proofkv_verify.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Result:
    """Tokens emitted, a record of each and the totals."""

    tokens: tuple[int, ...]
    records: tuple[StepRecord, ...]
    summary: Summary


@dataclass(slots=True)
class _State:
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
    """

    def __init__(
        self, model: Model, scheme: Scheme, policy: Policy | str = "exact", *, method: str = "ellipsoid", keep_levels: bool = False
    ) -> None:
        if method == "first-order":
            raise InvalidInputError("method", "one whose radii are a proof", method)
        self.model, self.scheme, self.keep_levels = model, scheme, keep_levels
        self.policy = parse_policy(policy) if isinstance(policy, str) else policy
        self.decider = Decider(model, method)
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
        check_ids(self.model, ids, n)
        full = FullCache.of_prompt(self.model, ids[:-1])
        opened = open_cache(full, self.scheme)
        state, token, left = _State(full, opened, tail_of(self.policy, self.model, opened), []), ids[-1], n
        while left:
            for record in self._advance(state, token, left):
                yield record
                token, left = record.token, left - 1

    def _advance(self, state: _State, token: int, left: int) -> list[StepRecord]:
        return self._exact(state, token, left) if self.policy.kind == "exact" else [self._uncertain(state, token)]

    def _exact(self, state: _State, token: int, left: int) -> list[StepRecord]:
        """A certified step, drafts after it if the period asks for them, then one full-cache pass over all of these."""
        start = time.perf_counter()
        state.opened.begin_step(keep_levels=self.keep_levels)
        decision = self.decider.decide(state.opened, token)
        assert decision is not None  # with refinement allowed the last rung decides
        spent, read = time.perf_counter() - start, (state.opened.payload_bits, state.opened.sidecar_bits)
        drafted = state.tail.draft(state.opened, decision, min(self.policy.every, left) - 1)
        records: list[StepRecord] = []
        for at, (fed, drafted_token) in enumerate(zip([token, decision.token, *drafted], [decision.token, *drafted], strict=False)):
            bits, trace = state.full.bits, state.full.step(fed)
            state.opened.append(row_of(trace))
            if at == 0:
                _check(decision, trace)
                records.append(self._record(state, decision, trace, read, bits, spent))
            else:
                agreed: Outcome = "drafted" if trace.token == drafted_token else "anchored"
                records.append(self._verified(state, trace, agreed, bits))
            if trace.token != drafted_token:
                break
        return records

    def _uncertain(self, state: _State, token: int) -> StepRecord:
        """A step certified over the uncertain tail, or else a full-cache pass over the tail and this token."""
        start = time.perf_counter()
        state.opened.begin_step(keep_levels=self.keep_levels)
        position = state.opened.num_tokens
        decision = None if len(state.pending) >= self.policy.every else state.tail.certify(state.opened, token)
        read = (state.opened.payload_bits, state.opened.sidecar_bits)
        state.pending.append(token)
        if decision is not None:
            spent = time.perf_counter() - start
            return self._row(position, decision.token, decision.outcome, decision.enclosure, decision, read, 0, spent, state)
        bits, trace = self._anchor(state)
        spent = time.perf_counter() - start
        return self._row(position, trace.token, "anchored", _measure(self.model, trace), None, read, bits, spent, state)

    def _anchor(self, state: _State) -> tuple[int, Trace]:
        """Recomputes the rows of all pending tokens by full-cache steps and verifies the tokens emitted since."""
        state.opened.drop_uncertain(len(state.pending) - 1)
        bits, expected = state.full.bits, state.pending[1:]
        for at, fed in enumerate(state.pending):
            trace = state.full.step(fed)
            state.opened.append(row_of(trace))
            if at < len(expected) and trace.token != expected[at]:
                raise ContradictionError(f"a certified token is {expected[at]}, the full cache's is {trace.token}")
        state.pending, state.tail = [], tail_of(self.policy, self.model, state.opened)
        return bits, trace
