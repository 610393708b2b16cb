"""Writes docs/status.md from proofs/index.toml."""

from __future__ import annotations

from proofkv_verify.links.index import find_root, load_index
from proofkv_verify.links.page import markdown

if __name__ == "__main__":
    root = find_root()
    (root / "docs" / "status.md").write_text(markdown(load_index(root)), "utf-8")
