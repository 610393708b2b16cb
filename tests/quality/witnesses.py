"""Helpers for named witnesses: short exact instances, and the two facts each of them shows."""

from fractions import Fraction
from typing import Any

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.check import check_claim
from proofkv_verify.claims import Claim
from proofkv_verify.kinds import Exact, Instance
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.verdict import Refuted, Verified


def exact(value: Any) -> Exact:
    """Ints, "p/q" text and nested lists as exact numbers."""
    if isinstance(value, list | tuple):
        return tuple(exact(entry) for entry in value)
    return Fraction(value)


def instance(kind: str, params: dict[str, Any] | None = None, **fields: Any) -> Instance:
    """An instance from short literals."""
    return Instance(kind, {name: exact(value) for name, value in fields.items()}, params or {})


def assert_witness_kills(name: str, witness: Instance) -> None:
    """The mutant is refuted on the witness, and the bound that it varies holds there."""
    mutant = MUTANTS[name]
    dead, sound = check_claim(mutant, witness), check_claim(BOUNDS[mutant.mutates], witness)
    assert isinstance(dead.verdict, Refuted), f"{name}: {dead.verdict}"
    assert isinstance(sound.verdict, Verified), f"{mutant.mutates}: {sound.verdict}"


def mutants_of(slugs: tuple[str, ...]) -> set[str]:
    """Names of the mutants of these bounds."""
    return {name for name, mutant in MUTANTS.items() if mutant.mutates in slugs}


__all__ = ["Claim", "assert_witness_kills", "exact", "instance", "mutants_of"]
