"""The table as people and programs read it: JSON, Markdown for docs/status.md, rows for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from proofkv_verify.links.index import Entry, Index, Use
from proofkv_verify.links.lean_source import NAMESPACE

SCHEMA = "proofkv-verify/status/1"
LINKS = ("slug", "lean", "reference", "fast", "smt", "fuzz", "sheet", "status")
UNDECLARED = "undeclared: "
_HEAD = """# Status

What was proved, written and searched about each bound. Written by `scripts/status_page.py` from `proofs/index.toml`;
`proofkv-verify status` and `tests/links` check every link of it. A gap is what no machine has proved, or what does not
exist.

*proved*: Lean theorems state the whole inequality between exact numbers. *proved in part*: steps of the proof are on
paper (`proofs/<slug>.md`) and tested, not in Lean. Neither says anything about floats: that the fast path returns no
less than the formula is tested by exact comparison (`tests/fast`), not proved.
"""

_USES = """
## Certified decoding

What `decode` leans on, step by step: the theorem, the code that uses it, what it covers. That each named object does
what the theorem speaks of is tested (`proofs/index.toml` names the tests), not proved."""


def document(
    index: Index,
    undeclared: Mapping[str, Sequence[str]],
    uses_undeclared: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The JSON document of `status`: absent things are null, undeclared gaps follow the declared ones and say so."""
    rows = [_row(index.bounds.get(slug), slug, missing) for slug, missing in undeclared.items()]
    uses = [_use_row(use, (uses_undeclared or {}).get(name, ())) for name, use in index.decode.items()]
    return {"schema": SCHEMA, "bounds": rows, "decode": uses}


def _use_row(use: Use, missing: Sequence[str]) -> dict[str, Any]:
    lists = {name: list(getattr(use, name)) for name in ("lean", "code", "tests")}
    return {"name": use.name, **lists, "gaps": [*use.gaps, *(UNDECLARED + text for text in missing)]}


def _row(entry: Entry | None, slug: str, missing: Sequence[str]) -> dict[str, Any]:
    links = {name: getattr(entry, name, "") or None for name in LINKS} | {"slug": slug}
    declared = () if entry is None else entry.gaps
    return {**links, "gaps": [*declared, *(UNDECLARED + text for text in missing)]}


def markdown(index: Index) -> str:
    """The page docs/status.md, from what the table declares."""
    entries = index.bounds.values()
    head = ["| bound | status | Lean | fast | z3 | fuzz | sheet |", "| --- | --- | --- | --- | --- | --- | --- |"]
    sections = [part for entry in entries for part in _section(entry)]
    uses = [part for use in index.decode.values() for part in _use_section(use)]
    return "\n".join([_HEAD, *head, *map(_line, entries), *sections, *([_USES] if uses else []), *uses]) + "\n"


def _line(entry: Entry) -> str:
    sheet = f"[sheet](../{entry.sheet})" if entry.sheet else "none"
    lean, fuzz = entry.lean.removeprefix(NAMESPACE), PurePosixPath(entry.fuzz).name
    cells = (f"[{entry.slug}](#{entry.slug})", entry.status, _code(lean), "yes" if entry.fast else "none", entry.smt)
    return f"| {' | '.join(cells)} | {_code(fuzz)} | {sheet} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else "none"


def _section(entry: Entry) -> list[str]:
    lean = [entry.lean, *entry.also] if entry.lean else []
    return [
        f"\n## {entry.slug}\n",
        f"{entry.title}\n",
        f"- Hypotheses: {', '.join(map(_code, entry.hypotheses))}.",
        f"- Lean: {', '.join(_code(name.removeprefix(NAMESPACE)) for name in lean) or 'none'}.",
        *(f"- Covers: {text}" for text in entry.covers),
        *(f"- Does not cover: {text}" for text in entry.does_not_cover),
        *(f"- Gap: {text}" for text in entry.gaps),
    ]


def _use_section(use: Use) -> list[str]:
    return [
        f"\n### {use.name}\n",
        f"{use.relies_on}\n",
        f"- Lean: {', '.join(_code(name.removeprefix(NAMESPACE)) for name in use.lean)}.",
        f"- Code: {', '.join(map(_code, use.code))}.",
        *(f"- Covers: {text}" for text in use.covers),
        *(f"- Does not cover: {text}" for text in use.does_not_cover),
        *(f"- Gap: {text}" for text in use.gaps),
    ]
