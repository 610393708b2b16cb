"""Exact random instances of the weight kinds, and the facts that several bounds share."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.check import check_claim
from proofkv_verify.claims import Claim
from proofkv_verify.kinds import Instance, view
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.reference.tv_optimum import best_subset
from proofkv_verify.verdict import Verified
from tests.profiles import budget

MATH = BallMath()
facts = budget(30)
few = budget(12)  # for claims that take tens of milliseconds

# Corners where wrong bounds die: equal weights, one tiny mass, no error, small error, a huge ratio.
WEIGHTS = st.one_of(st.integers(1, 9), st.sampled_from([1, 999, 999999])).map(Fraction)
RATIOS = st.one_of(
    st.sampled_from([Fraction(1), Fraction(101, 100), Fraction(3, 2), Fraction(2), Fraction(1000)]),
    st.fractions(1, 20, max_denominator=8),
)
PARTS = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1)])
LOGITS = st.integers(-24, 24).map(lambda k: Fraction(k, 8))
RADII = st.integers(1, 24).map(lambda k: Fraction(k, 8))


@st.composite
def ratio_cases(draw: st.DrawFn, max_tokens: int = 5) -> Instance:
    """Ratio form, tilts at the ends and inside."""
    n = draw(st.integers(1, max_tokens))
    weights, ratios, parts = (draw(st.tuples(*[s] * n)) for s in (WEIGHTS, RATIOS, PARTS))
    tilts = tuple(1 / r + part * (r - 1 / r) for r, part in zip(ratios, parts, strict=True))
    return Instance("softmax_tv", {"weights": weights, "ratios": ratios, "tilts": tilts})


@st.composite
def interval_cases(draw: st.DrawFn, max_tokens: int = 5) -> Instance:
    """Interval form: lower and upper ends that need not lie around 1."""
    n = draw(st.integers(1, max_tokens))
    weights, widths, parts = (draw(st.tuples(*[s] * n)) for s in (WEIGHTS, RATIOS, PARTS))
    lower = draw(st.tuples(*[st.fractions("1/4", 4, max_denominator=4)] * n))
    upper = tuple(low * r for low, r in zip(lower, widths, strict=True))
    tilts = tuple(low + part * (high - low) for low, high, part in zip(lower, upper, parts, strict=True))
    return Instance("softmax_tv", {"weights": weights, "lower": lower, "upper": upper, "tilts": tilts})


@st.composite
def logit_cases(draw: st.DrawFn) -> Instance:
    """Logit form with at least two tokens, positive radii and errors strictly inside them."""
    n = draw(st.integers(2, 4))
    logits_hat, radii, parts = (draw(st.tuples(*[s] * n)) for s in (LOGITS, RADII, PARTS))
    rows = zip(logits_hat, radii, parts, strict=True)
    logits = tuple(s + c * (part - Fraction(1, 2)) for s, c, part in rows)
    return Instance("softmax_tv", {"logits_hat": logits_hat, "logit_radii": radii, "logits": logits})


def fractions_of(instance: Instance, name: str) -> tuple[Fraction, ...]:
    """A field that is one tuple of rationals."""
    return tuple(entry for entry in instance.fields[name] if isinstance(entry, Fraction))


def changed(instance: Instance, **fields: Any) -> Instance:
    """The instance with some fields replaced or added."""
    return Instance(instance.kind, {**instance.fields, **fields}, instance.params)


def value(claim: Claim, instance: Instance, bits: int = 128) -> Real:
    """The claimed number from known data alone, at a precision."""
    with precision(bits):
        return Real(claim(view(instance, kind_named(instance.kind), MATH, hidden=False), MATH))


def ends(instance: Instance) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
    """Lower and upper ends of the weight ratios."""
    if "ratios" in instance.fields:
        ratios = fractions_of(instance, "ratios")
        return [1 / r for r in ratios], ratios
    return fractions_of(instance, "lower"), fractions_of(instance, "upper")


def optimum(instance: Instance) -> Fraction:
    """T* by all subsets."""
    return best_subset(fractions_of(instance, "weights"), *ends(instance))[0]


def attained(instance: Instance) -> Instance:
    """The instance with the tilts at which TV equals T*."""
    lower, upper = ends(instance)
    chosen = best_subset(fractions_of(instance, "weights"), lower, upper)[1]
    return changed(instance, tilts=tuple(upper[i] if i in chosen else lower[i] for i in range(len(lower))))


def assert_contains(claim: Claim, instance: Instance) -> None:
    """The claimed number is at least the true quantity, decided exactly."""
    judgement = check_claim(claim, instance)
    assert isinstance(judgement.verdict, Verified), f"{claim.name}: {judgement} on {instance}"


def assert_at_least(claim: Claim, instance: Instance, floor: Fraction) -> None:
    """The claimed number is not below `floor`; a ball may touch it."""
    high = value(claim, instance).upper()
    assert high is not None
    assert high >= floor, f"{claim.name}: claimed {high} < {floor} on {instance}"


def assert_tight(claim: Claim, instance: Instance, factor: Fraction) -> None:
    """The claimed number is at most `factor` times the optimum."""
    high, best = value(claim, instance).upper(), optimum(instance)
    assert high is not None
    assert high <= factor * best, f"{claim.name}: {float(high)} > {float(factor)} * {float(best)}"


def assert_overlap(left: Real, right: Real) -> None:
    """Two enclosures of one number have a common point."""
    ends_of = (left.lower(), left.upper(), right.lower(), right.upper())
    assert all(end is not None for end in ends_of), f"{left} {right}"
    assert not (left < right).value, f"{left} < {right}"
    assert not (left > right).value, f"{left} > {right}"


def assert_precisions_overlap(claim: Claim, instance: Instance) -> None:
    """Values at 64 and 256 bits enclose the same number, and more bits enclose it closer."""
    coarse, fine = value(claim, instance, 64), value(claim, instance, 256)
    assert_overlap(coarse, fine)
    with precision(256):
        low, high = fine.lower(), fine.upper()
    assert low is not None
    assert high is not None
    assert high - low < Fraction(1, 2**100)


def permuted(instance: Instance) -> Instance:
    """The same tokens in reverse order."""
    n = len(fractions_of(instance, "weights"))
    return changed(instance, **{k: v[::-1] for k, v in instance.fields.items() if isinstance(v, tuple) and len(v) == n})


def split_first(instance: Instance) -> Instance:
    """The first token split into two clones of a third and two thirds of its weight."""
    weights = fractions_of(instance, "weights")
    rest = {k: (v[0], *v) for k, v in instance.fields.items() if isinstance(v, tuple) and k != "weights"}
    return changed(instance, weights=(weights[0] / 3, weights[0] * 2 / 3, *weights[1:]), **rest)


def widened(instance: Instance, k: int) -> Instance:
    """The same instance with the ratio of token k (modulo n) doubled."""
    ratios = list(fractions_of(instance, "ratios"))
    ratios[k % len(ratios)] *= 2
    return changed(instance, ratios=tuple(ratios))


def scaled(instance: Instance, name: str, factor: Fraction) -> Instance:
    """The same instance with one field multiplied by a factor."""
    return changed(instance, **{name: tuple(v * factor for v in fractions_of(instance, name))})


def ratio_case(weights: Sequence[Any], ratios: Sequence[Any], **more: Sequence[Any]) -> Instance:
    """An instance in ratio form from literals, with tilts at which T* is attained."""
    fields = {"weights": weights, "ratios": ratios, "tilts": [1] * len(weights), **more}
    return attained(Instance("softmax_tv", {k: tuple(Fraction(e) for e in v) for k, v in fields.items()}))


SPREAD = ratio_case([8, 4, 2, 1, 1], ["11/10", "6/5", "3/2", 2, 4])
EQUAL = ratio_case([1] * 6, ["6/5"] * 6)
HEAVY_TAIL = ratio_case([999, 1], [1, 1000])
SMALL_ERRORS = ratio_case([5, 3, 1], ["1001/1000", "1002/1000", "1001/1000"])
GUARDS = (SPREAD, EQUAL, HEAVY_TAIL, SMALL_ERRORS)
