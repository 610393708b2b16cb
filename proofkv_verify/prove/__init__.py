"""Builds and audits the Lean development, with `lake` or with the WebAssembly build of Lean from npm."""

from __future__ import annotations

from proofkv_verify.prove.run import run_prove

__all__ = ["run_prove"]
