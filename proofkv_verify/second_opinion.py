"""A verdict once more with mpmath in place of Arb: does another library come to the same numbers and the same answer?

The checker's verdict stands alone; this opinion can only support or contradict it. Premises, the true quantity and
the claimed number are evaluated by `MpMath` at 60 and at 120 digits, and the true quantity also by `mp_truth`,
which shares no formula with the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Counterexample, Interval
from proofkv_verify.check import Judgement, check_certificate, replay
from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError, UndecidedError
from proofkv_verify.kinds import Kind, view
from proofkv_verify.mp_math import Approx, Decision, MpMath
from proofkv_verify.mp_truth import true_quantity
from proofkv_verify.reference.registry import kind_named

DIGITS = (60, 120)
AGREED_DIGITS = 40
Document: TypeAlias = Certificate | Counterexample


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """What another library says of a verdict.

    Attributes:
        agrees: True: same numbers and same verdict; False: a contradiction, so one of the two is wrong;
            None: this evaluation cannot tell.
        text: one sentence with the numbers.
    """

    agrees: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """One evaluation: what verdict it gives (None: undecided) and the two numbers where they exist."""

    verdict: str | None
    claimed: Approx | None = None
    truth: Approx | None = None


def second_opinion(document: Document, claim: Claim | None = None) -> SecondOpinion:
    """Evaluates a certificate or counterexample with mpmath and compares with the checker.

    Args:
        document: a certificate, or a counterexample.
        claim: with a counterexample, the function to evaluate again in place of the recorded number.

    Raises:
        InvalidInputError: whatever the checker refuses; a claim beside a certificate.
    """
    judged = _judge(document, claim)
    if not _has_number(document, claim):
        return SecondOpinion(None, "no claimed number to evaluate a second time")
    first, second = (_read(document, claim, digits) for digits in DIGITS)
    if first.verdict != second.verdict or second.verdict is None:
        return SecondOpinion(None, f"{DIGITS[0]} and {DIGITS[1]} digits do not decide")
    faults = [*_number_faults(judged, first, second), *_formula_faults(document, second)]
    if type(judged.verdict).__name__ != second.verdict:
        faults.append(f"verdict {second.verdict}, checker {type(judged.verdict).__name__}")
    return SecondOpinion(not faults, "; ".join(faults) or _summary(second))


def _judge(document: Document, claim: Claim | None) -> Judgement:
    if isinstance(document, Counterexample):
        return replay(document, claim)
    if claim is not None:
        raise InvalidInputError("claim", "none beside a certificate, which states its number", claim.name)
    return check_certificate(document)


def _has_number(document: Document, claim: Claim | None) -> bool:
    if isinstance(document, Counterexample):
        return claim is not None or document.claimed.upper is not None
    return isinstance(document.claimed, Fraction)


def _read(document: Document, claim: Claim | None, digits: int) -> _Reading:
    try:
        return _evaluate(document, claim, MpMath(digits))
    except UndecidedError:
        return _Reading(None)
    except ZeroDivisionError:
        return _Reading("Inconclusive")


def _evaluate(document: Document, claim: Claim | None, math: MpMath) -> _Reading:
    instance, kind = document.instance, kind_named(document.instance.kind)
    hidden = isinstance(document, Counterexample) or _carries_hidden(document, kind)
    full, known = (view(instance, kind, math, hidden=seen) for seen in (hidden, False))
    premises = [*kind.known_premises(full, math), *(kind.hidden_premises(full, math) if hidden else ())]
    held = [condition.value for _, condition in premises]
    if False in held or None in held:
        return _Reading("Inconclusive" if False in held else None)
    claimed = math.const(claim(known, math) if claim is not None else _stated(document))
    if hidden:
        truth = math.const(kind.truth(full, math))
        return _Reading(_word(_is_sound(kind, claimed, truth), "Refuted"), claimed, truth)
    assert isinstance(document, Certificate)  # only a certificate may lack hidden data
    value = math.const(BOUNDS[document.bound](known, math))
    reached = claimed <= value if kind.relation == "decision" else claimed >= value
    return _Reading(_word(reached, "Inconclusive"), claimed, value)


def _carries_hidden(document: Certificate, kind: Kind) -> bool:
    return any(item.hidden and item.name in document.instance.fields for item in kind.fields)


def _stated(document: Document) -> Any:
    return document.claimed if isinstance(document, Certificate) else document.claimed.upper


def _is_sound(kind: Kind, claimed: Approx, truth: Approx) -> Decision:
    return (claimed <= 0) | (truth > 0) if kind.relation == "decision" else truth <= claimed


def _word(sound: Decision, otherwise: str) -> str | None:
    return None if sound.value is None else "Verified" if sound.value else otherwise


def _number_faults(judged: Judgement, first: _Reading, second: _Reading) -> list[str]:
    faults = []
    for name in ("claimed", "truth"):
        coarse, fine, interval = getattr(first, name), getattr(second, name), getattr(judged, name)
        if coarse is None or fine is None or interval is None:
            continue
        if abs(coarse.point - fine.point) > coarse.radius + fine.radius:
            faults.append(f"{name}: {_show(coarse)} and {_show(fine)} at {DIGITS[0]} and {DIGITS[1]} digits")
        if not _inside(fine, interval):
            faults.append(f"{name}: {_show(fine)} lies outside the checker's enclosure")
    return faults


def _inside(number: Approx, interval: Interval) -> bool:
    low, high = number.point - number.radius, number.point + number.radius
    above = interval.lower is None or high >= number.math.point(interval.lower)
    return bool(above and (interval.upper is None or low <= number.math.point(interval.upper)))


def _formula_faults(document: Document, reading: _Reading) -> list[str]:
    kind = kind_named(document.instance.kind)
    if reading.truth is None or (isinstance(document, Certificate) and not _carries_hidden(document, kind)):
        return []
    plain = true_quantity(document.instance, DIGITS[1])
    if _same(plain, reading.truth, kind):
        return []
    return [f"truth: the plain formula gives {mpmath.nstr(plain, 15)}, the reference {_show(reading.truth)}"]


def _same(plain: Any, truth: Approx, kind: Kind) -> bool:
    if kind.relation == "decision":
        return bool((plain > 0) == (truth.point > 0))
    return bool(abs(plain - truth.point) <= max(1, abs(plain)) / truth.math.point(Fraction(10**AGREED_DIGITS)))


def _summary(reading: _Reading) -> str:
    if reading.claimed is None or reading.truth is None:
        return f"{reading.verdict}: a premise does not hold or a value is undefined"
    return f"{reading.verdict}: claimed {_show(reading.claimed)} against {_show(reading.truth)}"


def _show(number: Approx) -> str:
    return str(mpmath.nstr(number.point, 15))
