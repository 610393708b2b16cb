"""The sections of `decode.py` about the rows of generated tokens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.decode_report import Report
from proofkv_verify.decode.attack import push_inside, random_vertex
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.joint import JointTail
from proofkv_verify.decode.loop import Decision, open_cache
from proofkv_verify.decode.model import Cache, Model, Trace, advance
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.windows import WINDOWS, window

PROMPT, TOKENS = 256, 32
_TAILS = (
    (2, 10, 32), (2, 8, 32), (4, 10, 32), (4, 9, 32), (4, 8, 32), (4, 8, 8), (4, 8, 4), (6, 10, 32), (6, 8, 4),
)  # fmt: skip
_POLICIES = (
    ("exact", (4, 6, 8, 10, 12, 16)), ("exact:16", (4, 16)), ("joint", (10, 16)), ("joint", (9, 16)),
    ("joint", (8, 16)), ("joint:4", (8, 16)), ("radius", (10, 16)), ("radius", (8, 16)),
)  # fmt: skip


def _sequences(count: int) -> list[list[int]]:
    return [window(i * WINDOWS // count)[: PROMPT + 1] for i in range(count)]


def tails(report: Report, models: dict[int, Model], steps: int) -> None:
    """The joint tail over 256 + 32 tokens: the greedy tokens of the full cache are fed whatever the certificates say,
    with a full-cache pass every so many tokens or none. Tokens of one sequence are correlated.
    """
    head = [
        "model",
        "width",
        "full-cache pass every",
        "certified",
        "per sequence",
        "first failure",
        "CPU seconds a token",
    ]
    rows = [head]
    for layers, bits, every in _TAILS:
        if layers not in models:
            continue
        runs = [_tail(report, models[layers], ids, bits, every) for ids in _sequences(steps)]
        flat = [ok for run, _ in runs for ok in run]
        first = [next((i for i, ok in enumerate(run) if not ok), len(run)) for run, _ in runs]
        rows.append([
            f"{layers} layers", f"int{bits}", "-" if every == TOKENS else str(every), f"{sum(flat) / len(flat):.2f}",
            " ".join(f"{sum(run) / len(run):.2f}" for run, _ in runs), " ".join(map(str, first)),
            f"{statistics.fmean(s for _, s in runs):.2f}",
        ])  # fmt: skip
        report.add(rows)


def _tail(report: Report, model: Model, ids: list[int], bits: int, every: int) -> tuple[list[bool], float]:
    full = FullCache.of_prompt(model, ids[:PROMPT])
    opened, token, found, spent = open_cache(full, Scheme((bits, 16))), ids[PROMPT], [], 0.0
    for start in range(0, TOKENS, every):
        tail = JointTail(model, every)
        for _ in range(start, min(start + every, TOKENS)):
            began = time.process_time()
            decision, certified = tail.step(opened, token)
            spent += time.process_time() - began
            trace = full.step(token)
            found.append(certified)
            report.count(certified, decision.token, trace.token)
            token = trace.token
        opened.drop_uncertain()
        for _ in range(start, min(start + every, TOKENS)):
            _append_exact(opened, full)
    return found, spent / TOKENS


def _append_exact(opened: Opened, full: FullCache) -> None:
    at = opened.num_tokens
    keys = torch.stack([c.keys[:, at] for c in full.caches])
    opened.append(torch.stack([keys, torch.stack([c.values[:, at] for c in full.caches])]))


@dataclass(frozen=True)
class _Run:
    """A tail of certificates to attack: prompt rows as read, their sets, the tokens fed, a decision for each."""

    model: Model
    caches: list[Cache]
    sets: list[Sets]
    fed: list[int]
    decisions: list[Decision]


def attacks(report: Report, models: dict[int, Model], steps: int) -> None:
    """Other prompt rows inside the sets, the whole joint tail run again over them with every row stored as the full
    cache stores it: the true rows, random vertices, and a gradient step towards either side of the hardest rival's gap
    at one token. At every token whose radii are finite every rival's gap is compared with its radius, so that one state
    makes up to 32 x 127 comparisons. The last column is the largest move of an aimed gap over its radius.
    """
    rows = [
        ["model", "width", "states tried", "left a radius", "flipped a certified token", "best aimed move / radius"]
    ]
    for layers, bits in ((2, 8), (2, 10), (4, 9), (4, 10)):
        if layers not in models:
            continue
        tried = left = flipped = 0
        best = [0.0]
        for ids in _sequences(steps):
            run = _certified_run(models[layers], ids, bits)
            for states, aim in _states(run, ids):
                out, flips, ratio = _compare(run, states, aim)
                tried, left, flipped = tried + 1, left + out, flipped + flips
                best.append(ratio)
        report.attacked(tried, left + flipped)
        rows.append([
            f"{layers} layers", f"int{bits}", str(tried), str(left), str(flipped), f"{max(best):.2f}",
        ])  # fmt: skip
        report.add(rows)


def _certified_run(model: Model, ids: list[int], bits: int) -> _Run:
    full = FullCache.of_prompt(model, ids[:PROMPT])
    opened, token = open_cache(full, Scheme((bits, 16))), ids[PROMPT]
    caches = [opened.cache(i) for i in range(len(model.layers))]
    sets = [opened.sets(i) for i in range(len(model.layers))]
    tail, fed, decisions = JointTail(model, TOKENS), [], []
    for _ in range(TOKENS):
        decision, _ = tail.step(opened, token)
        fed.append(token)
        decisions.append(decision)
        token = full.step(token).token
    return _Run(model, caches, sets, fed, decisions)


def _states(run: _Run, ids: list[int]) -> Iterator[tuple[list[Trace], int | None]]:
    """Attacked tails, with the token that a gradient step aimed at."""
    yield _rerun(run, FullCache.of_prompt(run.model, ids[:PROMPT]).caches), None
    for seed in range(6):
        yield _rerun(run, _moved(run, random_vertex(run.caches, run.sets, seed))), None
    for at in (0, 3, 7, 11, 15, 23, TOKENS - 1):
        radii = run.decisions[at].enclosure.radii
        if bool(radii.isfinite().all()):
            for sign in (1.0, -1.0):
                yield _rerun(run, _moved(run, _gradient_step(run, at, sign))), at


def _moved(run: _Run, errors: list[tuple[Tensor, Tensor]]) -> list[Cache]:
    return [Cache(c.keys + k, c.values + v) for c, (k, v) in zip(run.caches, errors, strict=True)]


def _rerun(run: _Run, caches: list[Cache]) -> list[Trace]:
    full = FullCache(run.model, list(caches))
    return [full.step(token) for token in run.fed]


def _gradient_step(run: _Run, at: int, sign: float) -> list[tuple[Tensor, Tensor]]:
    """Every row's error at its norm, along the gradient through the whole tail of the hardest gap at one token."""
    found = run.decisions[at].enclosure
    row = sign * (run.model.head[found.winner] - run.model.head[found.hardest])
    leaves = [(c.keys.clone().requires_grad_(), c.values.clone().requires_grad_()) for c in run.caches]
    caches = [Cache(k, v) for k, v in leaves]
    for token in run.fed[: at + 1]:
        trace = advance(run.model, token, caches[0].keys.shape[1], caches)
        own = [(tr.keys[:, -1:], tr.values[:, -1:]) for tr in trace.layers]
        caches = [c.extended(k, v) for c, (k, v) in zip(caches, own, strict=True)]
    (row @ trace.final).backward()  # type: ignore[no-untyped-call]
    return [
        push_inside(_along(k, s.key_norm), _along(v, s.value_norm), s)
        for (k, v), s in zip(leaves, run.sets, strict=True)
    ]


def _along(leaf: Tensor, norm: Tensor) -> Tensor:
    assert leaf.grad is not None
    size = leaf.grad.norm(dim=-1, keepdim=True)
    return -norm[..., None] * leaf.grad / torch.where(size == 0, 1.0, size)


def _compare(run: _Run, states: list[Trace], aim: int | None) -> tuple[bool, bool, float]:
    """Whether a gap left its radius, whether a certified token flipped, and the aimed move over its radius."""
    left = flipped = False
    ratio = 0.0
    for at, (decision, state) in enumerate(zip(run.decisions, states, strict=True)):
        found, nominal = decision.enclosure, decision.trace
        known = found.radii.isfinite()
        moved = (state.scores[found.winner] - state.scores) - (nominal.scores[found.winner] - nominal.scores)
        left |= bool((moved.abs() > found.radii)[known].any())
        flipped |= found.certified and state.token != found.winner
        if at == aim:
            ratio = float(moved[found.hardest].abs() / found.radii[found.hardest])
    return left, flipped, ratio


def policies(report: Report, models: dict[int, Model], steps: int) -> None:
    """What the tail policies read over 32 tokens from 256, 4 layers: passes come on failure for `joint` and `radius`,
    after every token for `exact`; `exact:16` drafts 15 tokens from 4 bits and verifies them, which is the competitor
    without certificates (its certificate is sought at the first token of each pass only). Bytes with sidecars, over the
    bytes of reading the full cache at every token.
    """
    head = [
        "policy", "ladder", "tokens", "proved", "passes on failure", "tokens per pass", "bytes to decide",
        "bytes of passes",
    ]  # fmt: skip
    rows = [head]
    for policy, levels in _POLICIES:
        runs = [
            CertifiedDecoder(models[4], Scheme(levels), policy).generate(ids[:PROMPT], TOKENS)
            for ids in _sequences(steps)
        ]
        total = [r.summary for r in runs]
        tokens, passes = sum(s.steps for s in total), sum(r.anchor_bits > 0 for run in runs for r in run.records)
        read, anchors, whole = (sum(getattr(s, k) for s in total) for k in ("bytes_read", "anchor_bytes", "full_bytes"))
        rows.append([
            policy, ":".join(map(str, levels)), str(tokens),
            f"{sum(s.certified + s.refined for s in total) / tokens:.2f}", str(sum(s.anchored for s in total)),
            f"{tokens / passes:.1f}" if passes else "no pass", f"{read / whole:.2f}", f"{anchors / whole:.2f}",
        ])  # fmt: skip
        report.add(rows)
