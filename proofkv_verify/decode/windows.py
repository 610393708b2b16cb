"""Held-out windows of text for tests and benchmarks, and the steps taken from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import open_cache
from proofkv_verify.decode.model import Model, Trace
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme

_TEXT = Path(__file__).parent.parent / "data" / "byte_held_out.txt"
SIZE = 400


def window(index: int) -> list[int]:
    """The token ids of one held-out window, 400 bytes; windows 0 to 47."""
    text = _TEXT.read_bytes()
    return list(text[index % (len(text) // SIZE) * SIZE :][:SIZE])


@dataclass(frozen=True, slots=True)
class WindowStep:
    """One teacher-forced step: the token fed at a position, the exact prefix and what the full cache computes."""

    window: int
    token: int
    full: FullCache
    trace: Trace

    def opened(self, scheme: Scheme) -> Opened:
        """The prefix in pages."""
        return open_cache(self.full, scheme)


def window_steps(model: Model, count: int, positions: tuple[int, ...] = (256, 300, 340, 380)) -> Iterator[WindowStep]:
    """Steps at the given positions of the first windows, `count` in all; the prefix is prefilled exactly each time."""
    for at in range(count):
        index, position = at // len(positions), positions[at % len(positions)]
        ids = window(index)
        full = FullCache.of_prompt(model, ids[:position])
        after = FullCache(model, list(full.caches))
        yield WindowStep(index, ids[position], full, after.step(ids[position]))
