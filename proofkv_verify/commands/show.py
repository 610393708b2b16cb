"""Counterexamples and judgements as text: every number exact, with a decimal reading beside it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from proofkv_verify.certificate import Certificate, Counterexample, Interval
from proofkv_verify.check import Judgement, has_hidden
from proofkv_verify.exact import format_exact
from proofkv_verify.kinds import Exact, Instance
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.verdict import Inconclusive, Refuted, Verdict, Verified

ROW_LIMIT = 16
"""Longer vectors are shown by their first entries; the file holds all of them."""


def verdict_text(verdict: Verdict) -> str:
    """The verdict in one line."""
    if isinstance(verdict, Refuted):
        return f"Refuted: {verdict.reason}"
    if isinstance(verdict, Inconclusive):
        return f"Inconclusive: {verdict.reason}"
    return "Verified, but vacuous: the claimed number is infinite" if verdict.vacuous else "Verified"


def replayed(found: Counterexample, judgement: Judgement) -> Iterator[str]:
    """Lines that say what was claimed, on which numbers, what is true, and whether the counterexample stands."""
    kind = kind_named(found.instance.kind)
    yield f"claim    {found.claim}"
    yield f"about    {kind.doc}"
    if found.note:
        yield f"note     {found.note}"
    yield f"found by {found.engine}, seed {found.seed}"
    yield from instance_lines(found.instance)
    yield from judgement_lines(judgement)
    stands = {Refuted: "the counterexample stands", Verified: "the claim holds on these numbers"}
    yield f"verdict  {verdict_text(judgement.verdict)}"
    yield f"         {stands.get(type(judgement.verdict), 'nothing was decided')}"


def checked(certificate: Certificate, judgement: Judgement) -> Iterator[str]:
    """Lines that say what a certificate claims and what the checker makes of it."""
    claimed = certificate.claimed
    against = "true" if has_hidden(certificate.instance) else "bound is"
    yield f"bound    {certificate.bound}"
    yield f"claimed  {claimed if isinstance(claimed, str) else number(claimed)}"
    if judgement.truth is not None:
        yield f"{against:<8} {interval_text(judgement.truth)}"
    yield f"verdict  {verdict_text(judgement.verdict)}"


def judgement_lines(judgement: Judgement) -> Iterator[str]:
    """The enclosures that a verdict rests on."""
    for name, interval in (("claimed", judgement.claimed), ("true", judgement.truth)):
        if interval is not None:
            yield f"{name:<8} {interval_text(interval)}"


def instance_lines(instance: Instance) -> Iterator[str]:
    """One line a field or parameter; hidden fields, which a certificate does not see, are marked."""
    kind = kind_named(instance.kind)
    for item in kind.fields:
        if item.name in instance.fields:
            mark = "  (exact data behind the radii)" if item.hidden else ""
            yield f"  {item.name} = {exact_text(instance.fields[item.name])}{mark}"
    for name, value in instance.params.items():
        if value not in ([], False):
            yield f"  {name} = {value}"


def exact_text(value: Exact) -> str:
    """Exact numbers, nested as they are, the first `ROW_LIMIT` of each row."""
    if isinstance(value, Fraction):
        return format_exact(value)
    inner = [exact_text(entry) for entry in value[:ROW_LIMIT]]
    more = f", ... {len(value)} in all" if len(value) > ROW_LIMIT else ""
    return f"[{', '.join(inner)}{more}]"


def interval_text(interval: Interval) -> str:
    """An exact number, or the two ends of an enclosure in decimals."""
    lower, upper = interval.lower, interval.upper
    if lower is not None and lower == upper:
        return number(lower)
    ends = ["unbounded" if end is None else decimal(end) for end in (lower, upper)]
    return f"in [{ends[0]}, {ends[1]}]"


def number(value: Fraction) -> str:
    """The exact text, and decimals where that is not a plain integer or too long to read."""
    text = format_exact(value)
    if value.denominator == 1 and len(text) < 20:
        return text
    return f"{text} = {decimal(value)}" if len(text) <= 48 else decimal(value)


def decimal(value: Fraction) -> str:
    """Twelve significant digits, or fewer where they are exact; rounded to nearest, for reading only."""
    if value == 0:
        return "0"
    exponent = _decimal_exponent(abs(value))
    if -5 <= exponent < 15:
        return f"{float(value):.12g}"
    scaled = float(value / Fraction(10) ** exponent)
    return f"{scaled:.12g}e{exponent}"


def _decimal_exponent(value: Fraction) -> int:
    """The largest e with 10^e <= value, without writing out numbers of very many digits."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    guess = bits * 30103 // 100000 - 2
    while value >= Fraction(10) ** (guess + 1):
        guess += 1
    return guess
