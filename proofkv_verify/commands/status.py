"""`status`: the checked link table."""

from __future__ import annotations

from rich.table import Table

from proofkv_verify.commands.console import OK, REFUTED, human, write_json
from proofkv_verify.links.checks import context_of, undeclared_gaps
from proofkv_verify.links.decode_checks import undeclared_uses
from proofkv_verify.links.index import Entry, Use, find_root, load_index
from proofkv_verify.links.lean_source import NAMESPACE
from proofkv_verify.links.page import document


def status_command(json_path: str | None) -> int:
    """Prints the table with all gaps; 1 if a link is broken or a gap undeclared."""
    root = find_root()
    index = load_index(root)
    context = context_of(index, root)
    missing, uses = undeclared_gaps(context), undeclared_uses(context)
    out = human(json_path)
    out.print(_table([(slug, index.bounds.get(slug), len(found)) for slug, found in missing.items()]))
    out.print()
    out.print(_use_table([(index.decode[name], len(found)) for name, found in uses.items()]))
    for name, found in [*missing.items(), *uses.items()]:
        for text in found:
            out.print(f"{name}: undeclared: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
    broken = any(missing.values()) or any(uses.values())
    if not broken:
        out.print("every link holds and every gap is declared; docs/status.md has the gaps in words")
    write_json(json_path, document(index, missing, uses))
    return REFUTED if broken else OK


def _table(rows: list[tuple[str, Entry | None, int]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("bound", "status", "Lean theorem", "gaps"):
        table.add_column(column, no_wrap=True)
    for slug, entry, undeclared in rows:
        gaps = str(undeclared + (len(entry.gaps) if entry else 0))
        cells = (entry.status, entry.lean.removeprefix(NAMESPACE)) if entry else ("", "")
        table.add_row(slug, *cells, gaps, style="red" if undeclared else None)
    return table


def _use_table(rows: list[tuple[Use, int]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("decoding", "Lean theorems", "gaps"):
        table.add_column(column, no_wrap=column != "Lean theorems", overflow="fold")
    for use, undeclared in rows:
        names = ", ".join(name.removeprefix(NAMESPACE) for name in use.lean)
        table.add_row(use.name, names, str(undeclared + len(use.gaps)), style="red" if undeclared else None)
    return table
