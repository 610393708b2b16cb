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
SIZE, WINDOWS = 400, 48


def window(index: int) -> list[int]:
    """The token ids of one held-out window, 400 bytes; windows 0 to 47."""
    return list(_TEXT.read_bytes()[index % WINDOWS * SIZE :][:SIZE])


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
    """`count` steps spread evenly over the windows, the positions in turn; each prefix is prefilled exactly."""
    for at in range(count):
        index, position = at * WINDOWS // count, positions[at % len(positions)]
        ids = window(index)
        full = FullCache.of_prompt(model, ids[:position])
        after = FullCache(model, list(full.caches))
        yield WindowStep(index, ids[position], full, after.step(ids[position]))
