"""`python -m proofkv_verify.prove`: the command line of the proof checker."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from proofkv_verify.prove.run import run_prove


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the proof checker; the exit code."""
    parser = argparse.ArgumentParser(prog="proofkv-verify prove", description="Build and audit the Lean proofs.")
    parser.add_argument("--engine", choices=["auto", "lake", "wasm"], default="auto")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    parser.add_argument(
        "--lean", metavar="DIR", type=Path, help="folder of the Lean project (default: lean/ of the checkout)"
    )
    parser.add_argument("--cache", metavar="DIR", type=Path, help="folder for downloads and object files")
    parser.add_argument(
        "--write-theorems", action="store_true", help="write proofs/theorems.json instead of comparing with it"
    )
    parser.add_argument(
        "--jobs", type=int, help="resident processes, up to 3 GB of memory each (wasm); default: 1 or 2"
    )
    chosen = parser.parse_args(arguments)
    return run_prove(
        chosen.engine,
        chosen.json,
        lean_dir=chosen.lean,
        cache_dir=chosen.cache,
        write_theorems=chosen.write_theorems,
        jobs=chosen.jobs,
    )


if __name__ == "__main__":
    sys.exit(main())
