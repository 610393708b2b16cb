"""`list`: what is built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.table import Table
from rich.text import Text

from proofkv_verify.commands.console import OK, human, write_json
from proofkv_verify.errors import InvalidInputError

Row = tuple[str, ...]


def list_command(what: str, json_path: str | None) -> int:
    """Prints one table of built-in things."""
    if what not in _LISTS:
        raise InvalidInputError("list", f"one of {', '.join(_LISTS)}", what)
    columns, rows_of, empty = _LISTS[what]
    rows = rows_of()
    out = human(json_path)
    out.print(_table(columns, rows))
    if not rows:
        out.print(empty)
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    write_json(json_path, {"schema": "proofkv-verify/list/1", what: named})
    return OK


def _table(columns: Row, rows: list[Row]) -> Table:
    """A row each; only the last column wraps."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _schemes() -> list[Row]:
    from proofkv_verify.schemes.registry import SCHEMES, scheme_names

    return [(name, SCHEMES[name].summary if name in SCHEMES else "installed entry point") for name in scheme_names()]


def _bounds() -> list[Row]:
    from proofkv_verify.bounds.registry import BOUNDS

    return [(name, bound.statement) for name, bound in BOUNDS.items()]


def _mutants() -> list[Row]:
    from proofkv_verify.mutants.registry import MUTANTS

    return [(name, f"{mutant.mutates}: {mutant.statement}") for name, mutant in MUTANTS.items()]


def _models() -> list[Row]:
    from proofkv_verify.adapters.record import MODELS as RECORDED
    from proofkv_verify.decode.defaults import MODELS as DECODED

    recorded = [(name, f"trace record --model {name}") for name in RECORDED]
    return [*recorded, *((name, f"decode --model {name}") for name in DECODED)]


_LISTS: Mapping[str, tuple[Row, Callable[[], list[Row]], str]] = {
    "schemes": (("name", "what"), _schemes, ""),
    "evictors": (("name", "what"), list, "no evictor is built in yet"),
    "bounds": (("name", "statement"), _bounds, ""),
    "mutants": (("name", "mistake"), _mutants, ""),
    "models": (("name", "used by"), _models, ""),
}
