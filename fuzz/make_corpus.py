"""Writes fuzz/corpus/, one minimised counterexample of each mutant as JSON: python fuzz/make_corpus.py [NAME...]."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from proofkv_verify.certificate import to_json
from proofkv_verify.claims import Claim
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.driver import ENGINES, find_counterexample

CORPUS = Path(__file__).parent / "corpus"


def smallest(mutant: Claim) -> str:
    """JSON of the shortest counterexample that the engines find."""
    results = [find_counterexample(mutant, engine, budget_s=10.0, seed=0) for engine in ENGINES]
    killed = [result for result in results if result.shrunk_size is not None]
    best = min(killed, key=lambda result: result.shrunk_size or 0)
    assert best.counterexample is not None
    return to_json(best.counterexample)


def main(names: list[str]) -> None:
    """Writes the files of the named mutants, or of all."""
    torch.set_num_threads(1)
    CORPUS.mkdir(exist_ok=True)
    for name in names or MUTANTS:
        (CORPUS / f"{name}.json").write_text(smallest(MUTANTS[name]) + "\n")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
