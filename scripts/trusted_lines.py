"""Writes the sizes of all modules that `import proofkv_verify.check` loads into docs/trust.md; `--list` prints them."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRUST = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- trusted-lines: begin -->", "<!-- trusted-lines: end -->"
_LOADED = """
import sys, proofkv_verify.check
print("\\n".join(sorted(m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "proofkv_verify")))
"""
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def trusted_files() -> list[Path]:
    """The files of this package that the checker loads."""
    done = subprocess.run([sys.executable, "-c", _LOADED], check=True, capture_output=True, text=True, cwd=ROOT)
    return [Path(line) for line in done.stdout.split()]


def code_lines(path: Path) -> int:
    """Lines that hold a token other than a comment, a blank or a docstring."""
    text = path.read_text()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(text))


def table() -> str:
    """The Markdown table, one row a file, bounds as one row apart from the total."""
    files = [path.relative_to(ROOT / "proofkv_verify") for path in trusted_files()]
    counts = {path.as_posix(): code_lines(ROOT / "proofkv_verify" / path) for path in files}
    bounds = sum(count for name, count in counts.items() if name.startswith("bounds/"))
    rows = [(f"`{name}`", count) for name, count in counts.items() if count and not name.startswith("bounds/")]
    rows += [("**core**", sum(count for _, count in rows)), ("`bounds/` (all)", bounds)]
    return "| file | lines |\n| --- | --- |\n" + "\n".join(f"| {name} | {count} |" for name, count in rows)


def updated(text: str) -> str:
    """The page with the current table between the marks."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _docstring_lines(text: str) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


if __name__ == "__main__":
    if "--list" in sys.argv:
        sys.stdout.write(",".join(str(path) for path in trusted_files()) + "\n")
    else:
        TRUST.write_text(updated(TRUST.read_text()))
