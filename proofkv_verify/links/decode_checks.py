"""Checks what certified decoding leans on: theorems as stated here and exported by Lean, code and tests by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from operator import attrgetter

from proofkv_verify.links.checks import NOT_EXPORTED, Context, different, redefined, unexported
from proofkv_verify.links.index import TABLE, Use


def undeclared_uses(context: Context) -> dict[str, tuple[str, ...]]:
    """For each step of decoding in the table, what does not hold and is not declared; empty texts mean none."""
    return {name: tuple(use_gaps(use, context)) for name, use in context.index.decode.items()}


def use_gaps(use: Use, context: Context) -> Iterator[str]:
    """What does not hold of one step and is not declared."""
    for word in ("relies_on", "lean", "code", "tests", "covers", "does_not_cover"):
        if not getattr(use, word):
            yield f"{word} is empty"
    for name in use.lean:
        yield from _theorem(name, context)
    for name in use.code:
        if not _exists(name):
            yield f"code: no object {name}"
    for name in use.tests:
        yield from _test(name, context)


def _theorem(name: str, context: Context) -> Iterator[str]:
    yield from unexported(name, context)
    if context.sources.exported is None:
        yield NOT_EXPORTED
    expected, found = context.index.theorems.get(name), context.sources.statement(name)
    if expected is None:
        yield f"lean: {TABLE} does not state {name}"
    elif found is not None:
        yield from different(expected, found)
        yield from redefined(expected, context)


def _exists(name: str) -> bool:
    module, _, chain = name.partition(":")
    try:
        attrgetter(chain)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError):
        return False
    return bool(chain)


def _test(name: str, context: Context) -> Iterator[str]:
    path, _, function = name.partition("::")
    file = context.root / path
    if not file.is_file():
        yield f"no file {path}"
    elif not re.search(rf"^def {re.escape(function)}\(", file.read_text("utf-8"), re.MULTILINE):
        yield f"no test {function} in {path}"
