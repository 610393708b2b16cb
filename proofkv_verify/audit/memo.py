"""Evaluated cases, kept for the claims that share them."""

from __future__ import annotations

from collections.abc import Iterator

from proofkv_verify.audit.attention import Attention, attend
from proofkv_verify.audit.claim import Setting
from proofkv_verify.audit.data import Case

MEMO_BYTES = 400 << 20
"""What is kept at most; a case beyond it is evaluated again for each claim."""


def evaluated(setting: Setting, case: Case) -> Iterator[Attention]:
    """The parts of a case; cases of one name are the same case."""
    known = setting.memo.get(case.name)
    if known is not None:
        yield from known
        return
    parts = []
    for part in attend(setting, case):
        yield part
        parts.append(part)
    held = sum(_bytes(p) for kept in setting.memo.values() for p in kept)
    if held + sum(map(_bytes, parts)) <= MEMO_BYTES:
        setting.memo[case.name] = parts


def _bytes(part: Attention) -> int:
    return part.logits_hat.numel() * 8 * (9 + len(part.claimed))
