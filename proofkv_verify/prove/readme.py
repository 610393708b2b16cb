"""The list of headline theorems in `lean/README.md`, made from the table that Lean wrote."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

_BEGIN, _END = "<!-- theorems: begin -->", "<!-- theorems: end -->"
_TITLE = re.compile(r"^\*\*(?P<title>[^*]+)\*\*")


def headline_list(table: str) -> str:
    """One line a headline theorem: name, sentence, file."""
    rows = [row for row in json.loads(table)["theorems"] if row["headline"]]
    lines = [f"- `{row['name']}`: {_sentence(row['statement'])} [{row['file']}]({_link(row)})" for row in rows]
    return "\n".join([f"{len(rows)} headline theorems.", "", *lines])


def with_list(readme: str, table: str) -> str:
    """The README with the text between the markers replaced by the list."""
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{headline_list(table)}\n{_END}{after}"


def _sentence(statement: str) -> str:
    match = _TITLE.match(statement)
    return f"{match['title']}{statement[match.end() :]}" if match else statement


def _link(row: dict[str, str]) -> str:
    return f"{row['file'].removeprefix('lean/')}#L{row['line']}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the list: `readme proofs/theorems.json lean/README.md`."""
    table, readme = (Path(argument) for argument in arguments)
    text = with_list(readme.read_text(encoding="utf-8"), table.read_text(encoding="utf-8"))
    readme.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
