"""`status`: the checked link table."""

from __future__ import annotations

from rich.table import Table

from proofkv_verify.commands.console import OK, REFUTED, human, write_json
from proofkv_verify.links.checks import context_of, undeclared_gaps
from proofkv_verify.links.index import Entry, find_root, load_index
from proofkv_verify.links.lean_source import NAMESPACE
from proofkv_verify.links.page import document


def status_command(json_path: str | None) -> int:
    """Prints the table with all gaps; 1 if a link is broken or a gap undeclared."""
    root = find_root()
    index = load_index(root)
    missing = undeclared_gaps(context_of(index, root))
    out = human(json_path)
    out.print(_table([(slug, index.bounds.get(slug), len(found)) for slug, found in missing.items()]))
    for slug, found in missing.items():
        for text in found:
            out.print(f"{slug}: undeclared: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
    if not any(missing.values()):
        out.print("every link holds and every gap is declared; docs/status.md has the gaps in words")
    write_json(json_path, document(index, missing))
    return REFUTED if any(missing.values()) else OK


def _table(rows: list[tuple[str, Entry | None, int]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("bound", "status", "Lean theorem", "gaps"):
        table.add_column(column, no_wrap=True)
    for slug, entry, undeclared in rows:
        gaps = str(undeclared + (len(entry.gaps) if entry else 0))
        cells = (entry.status, entry.lean.removeprefix(NAMESPACE)) if entry else ("", "")
        table.add_row(slug, *cells, gaps, style="red" if undeclared else None)
    return table
