"""Decides: exact data and a claimed number in, a verdict out. Nothing that searches is trusted here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from proofkv_verify.ball import BallMath, Real, Truth, precision
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Claimed, Counterexample, Interval
from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError, UndecidedError
from proofkv_verify.kinds import Instance, Kind, View, view
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.verdict import Inconclusive, Refuted, Verdict, Verified

PRECISIONS = (64, 128, 256, 512, 1024, 2048)
_MATH = BallMath()
Claimant: TypeAlias = Callable[[View], Real]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the enclosures it rests on (absent when a premise failed or a value was undefined)."""

    verdict: Verdict
    claimed: Interval | None = None
    truth: Interval | None = None


def check_claim(claim: Claim, instance: Instance) -> Judgement:
    """Judges a claim's function on one instance with hidden data: is the true quantity on the claimed side?

    Returns:
        `Verified` or `Refuted` when shown by exact or outward-rounded comparison; `Inconclusive` when a premise does
        not hold, the claimed value is undefined, or 2048 bits do not decide.

    Raises:
        InvalidInputError: the instance does not have the fields of its kind.
    """
    if instance.kind != claim.kind:
        raise InvalidInputError("kind", claim.kind, instance.kind)
    return judge(kind_named(claim.kind), instance, lambda known: Real(claim(known, _MATH)))


def check_number(instance: Instance, claimed: Claimed) -> Judgement:
    """Judges a claimed number against the true quantity of one instance with hidden data."""
    kind = kind_named(instance.kind)
    if isinstance(claimed, str):
        return Judgement(_special(kind, claimed))
    return judge(kind, instance, lambda known: Real(claimed))


def check_certificate(certificate: Certificate) -> Judgement:
    """Judges a certificate: against the exact data where it is carried, else against the value of its bound.

    Without hidden data a claimed number that is at least the bound's reference value is `Verified` by the bound's
    theorem; a smaller one is `Inconclusive`, since a formula that is not reached is no counterexample.
    """
    kind = kind_named(certificate.instance.kind)
    if has_hidden(certificate.instance):
        return check_number(certificate.instance, certificate.claimed)
    if certificate.bound not in BOUNDS or BOUNDS[certificate.bound].kind != kind.name:
        raise InvalidInputError("bound", f"a bound about {kind.name}", certificate.bound)
    if isinstance(certificate.claimed, str):
        return Judgement(_special(kind, certificate.claimed))
    return _against_formula(BOUNDS[certificate.bound], certificate.instance, certificate.claimed)


def replay(counterexample: Counterexample, claim: Claim | None = None) -> Judgement:
    """Re-evaluates a counterexample exactly: premises, true quantity, and the claimed number.

    With `claim` its function is evaluated again; without, the recorded upper end of the claimed number is taken.
    `Refuted` means that the counterexample stands.
    """
    if claim is not None:
        return check_claim(claim, counterexample.instance)
    if counterexample.claimed.upper is None:
        return Judgement(Inconclusive("the recorded claimed number has no upper end"))
    return check_number(counterexample.instance, counterexample.claimed.upper)


def judge(kind: Kind, instance: Instance, claimant: Claimant) -> Judgement:
    """The decision procedure: raises the precision until premises and comparison are decided."""
    last = Judgement(Inconclusive("nothing was evaluated"))
    for bits in PRECISIONS:
        with precision(bits):
            last = _judge_once(kind, instance, claimant, bits)
        if last.verdict != _undecided(bits):
            return last
    return last


def _judge_once(kind: Kind, instance: Instance, claimant: Claimant, bits: int) -> Judgement:
    full = view(instance, kind, _MATH, hidden=True)
    broken = _broken_premise([*kind.known_premises(full, _MATH), *kind.hidden_premises(full, _MATH)], bits)
    if broken is not None:
        return Judgement(broken)
    try:
        claimed = claimant(view(instance, kind, _MATH, hidden=False))
    except ZeroDivisionError:
        return Judgement(Inconclusive("the claimed value is undefined: division by zero"))
    except UndecidedError:
        return Judgement(_undecided(bits))
    truth = Real(kind.truth(full, _MATH))
    return Judgement(_compare(kind, claimed, truth, bits), _interval(claimed), _interval(truth))


def _broken_premise(premises: Sequence[tuple[str, Truth]], bits: int) -> Inconclusive | None:
    for name, condition in premises:
        if condition.value is False:
            return Inconclusive(f"the premise does not hold: {name}")
    return _undecided(bits) if any(condition.value is None for _, condition in premises) else None


def _compare(kind: Kind, claimed: Real, truth: Real, bits: int) -> Verdict:
    if kind.relation == "decision":
        holds, fails = (claimed <= 0) | (truth > 0), (claimed > 0) & (truth <= 0)
    else:
        holds, fails = truth <= claimed, truth > claimed
    if holds.value is True:
        return Verified()
    return Refuted("the true quantity is on the wrong side") if fails.value is True else _undecided(bits)


def _against_formula(bound: Claim, instance: Instance, claimed: Fraction) -> Judgement:
    kind = kind_named(bound.kind)
    last = Judgement(Inconclusive("nothing was evaluated"))
    for bits in PRECISIONS:
        with precision(bits):
            last = _formula_once(kind, bound, instance, Real(claimed), bits)
        if last.verdict != _undecided(bits):
            return last
    return last


def _formula_once(kind: Kind, bound: Claim, instance: Instance, claimed: Real, bits: int) -> Judgement:
    known = view(instance, kind, _MATH, hidden=False)
    broken = _broken_premise(kind.known_premises(known, _MATH), bits)
    if broken is not None:
        return Judgement(broken)
    try:
        value = Real(bound(known, _MATH))
    except ZeroDivisionError:
        return Judgement(Inconclusive("the bound is undefined: division by zero"))
    except UndecidedError:
        return Judgement(_undecided(bits))
    reached = (claimed <= value) if kind.relation == "decision" else (claimed >= value)
    return Judgement(_formula_verdict(bound.name, reached, bits), _interval(claimed), _interval(value))


def _formula_verdict(name: str, reached: Truth, bits: int) -> Verdict:
    if reached.value is None:
        return _undecided(bits)
    return Verified() if reached.value else Inconclusive(f"the claimed number is on the unsound side of {name}")


def _special(kind: Kind, claimed: str) -> Verdict:
    if kind.relation == "upper" and claimed == "inf":
        return Verified(vacuous=True)
    return Refuted(f"the claimed number is {claimed}")


def has_hidden(instance: Instance) -> bool:
    """Says whether the instance carries exact data behind its radii."""
    kind = kind_named(instance.kind)
    return any(item.hidden and item.name in instance.fields for item in kind.fields)


def _undecided(bits: int) -> Inconclusive:
    return Inconclusive(f"undecided at {bits} bits")


def _interval(value: Real) -> Interval:
    return Interval(value.lower(), value.upper())
