"""The two Lean files that import every module: the root `ProofKV.lean` and the audit `ProofKVAudit.lean`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from proofkv_verify.prove.sources import read_modules

_ROOT_TEXT = """module

{imports}

/-! The whole development: importing this file imports every theorem. -/
"""


def root_text(names: Iterable[str]) -> str:
    """The root file that imports the given modules publicly."""
    return _ROOT_TEXT.format(imports="\n".join(f"public import {name}" for name in sorted(names)))


def audit_text(current: str, names: Iterable[str]) -> str:
    """The audit file with its `import all` lines replaced by those of the given modules."""
    kept = [line for line in current.splitlines() if not line.startswith("import all ")]
    first = next(i for i, line in enumerate(kept) if line.startswith("/-!"))
    head = "\n".join(kept[:first]).rstrip()
    block = "\n".join(f"import all {name}" for name in sorted(names))
    return f"{head}\n{block}\n\n" + "\n".join(kept[first:]) + "\n"


def write_roots(lean_dir: Path) -> None:
    """Rewrite both files for the modules that are there."""
    names = [name for name in read_modules(lean_dir) if name.startswith("ProofKV.")]
    (lean_dir / "ProofKV.lean").write_text(root_text(names), encoding="utf-8")
    audit = lean_dir / "ProofKVAudit.lean"
    audit.write_text(audit_text(audit.read_text(encoding="utf-8"), names), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Rewrite the files of the Lean project given, by default `lean`."""
    write_roots(Path(arguments[0]) if arguments else Path("lean"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
