"""The checkers' golden vectors: Python decides the same cases that Lean's kernel decides."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.prove.golden import golden_lean

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "tests" / "golden" / "lean_checkers.json").read_text(encoding="utf-8"))


def tokens(case: dict[str, Any]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(p), Fraction(r)) for p, r in case["tokens"]]


def valid(pairs: list[tuple[Fraction, Fraction]]) -> bool:
    return all(p >= 0 and r >= 1 for p, r in pairs) and sum(p for p, _ in pairs) == 1


def tv_odds(case: dict[str, Any]) -> bool:
    pairs, cap = tokens(case), Fraction(case["cap"])
    radii = [r for _, r in pairs]
    covered = all(a * b <= cap * cap for i, a in enumerate(radii) for b in radii[i + 1 :])
    return valid(pairs) and cap >= 1 and covered and (cap - 1) / (cap + 1) <= Fraction(case["bound"])


def tv_mean(case: dict[str, Any]) -> bool:
    pairs = tokens(case)
    mean = sum(p * r for p, r in pairs)
    return valid(pairs) and mean <= 2 and 1 - 1 / mean <= Fraction(case["bound"])


def tv_hinge(case: dict[str, Any]) -> bool:
    pairs, cap = tokens(case), Fraction(case["cap"])
    excess = sum(p * max(r - cap, Fraction(0)) for p, r in pairs)
    bound = (cap - 1) / (cap + 1) + cap * excess / (1 + cap * excess)
    return valid(pairs) and cap >= 1 and excess <= cap and bound <= Fraction(case["bound"])


def above(winner: list[str], others: list[list[str]]) -> bool:
    return all(Fraction(high) < Fraction(winner[0]) for _, high in others)


def margin(case: dict[str, Any]) -> bool:
    return above(case["winner"], case["others"])


def trace(case: dict[str, Any]) -> bool:
    steps = [[(Fraction(a), Fraction(b)) for a, b in step] for step in case["enclosures"]]
    nested = all(
        len(outer) == len(inner) and all(a <= c and d <= b for (a, b), (c, d) in zip(outer, inner, strict=True))
        for outer, inner in pairwise(steps)
    )
    last = case["enclosures"][-1]
    return nested and above(last[0], last[1:])


def ledger(case: dict[str, Any]) -> bool:
    spent = [Fraction(d) for d in case["spent"]]
    return all(d >= 0 for d in spent) and sum(spent) <= Fraction(case["budget"])


DECIDE = {f.__name__: f for f in (tv_odds, tv_mean, tv_hinge, margin, trace, ledger)}


@pytest.mark.parametrize("case", DOCUMENT["cases"], ids=lambda case: case["check"])
def test_python_decides_the_golden_case_as_lean_does(case: dict[str, Any]) -> None:
    assert DECIDE[case["check"]](case) is case["accepts"], case


def test_every_checker_has_an_accepted_and_a_rejected_case() -> None:
    seen = {(case["check"], case["accepts"]) for case in DOCUMENT["cases"]}
    assert seen == {(name, answer) for name in DECIDE for answer in (True, False)}


def test_the_lean_file_is_generated_from_the_vectors() -> None:
    committed = (ROOT / "lean" / "ProofKVTest" / "Golden.lean").read_text(encoding="utf-8")
    assert committed == golden_lean(DOCUMENT)


def test_an_unknown_checker_is_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="check"):
        golden_lean({"cases": [{"check": "tv", "accepts": True}]})
