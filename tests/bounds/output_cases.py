"""Exact random instances of the two output kinds."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import PARTS, changed, fractions_of, interval_cases, logit_cases, ratio_cases

VALUES = st.one_of(st.sampled_from([-1, 0, 1]), st.integers(-8, 8)).map(Fraction)
BOXES = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(5)])
SIGNS = st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)])
# 3-4-5 directions have rational norms, so that a value error can lie exactly on its ball.
DIRECTIONS = st.sampled_from([(1, 0), (0, -1), (Fraction(3, 5), Fraction(4, 5)), (Fraction(-4, 5), Fraction(3, 5))])


@st.composite
def linf_cases(draw: st.DrawFn, max_tokens: int = 4, logits: bool = False) -> Instance:
    """Two coordinates; value errors at the ends of their box or zero."""
    base = _weights(draw, max_tokens, logits)
    n = _tokens(base)
    values, box = draw(_rows(VALUES, n)), draw(_rows(BOXES, n))
    signs = draw(_rows(SIGNS, n))
    errors = tuple(tuple(s * b for s, b in zip(*row, strict=True)) for row in zip(signs, box, strict=True))
    fields = {**base.fields, "values_hat": values, "value_box": box, "value_errors": errors}
    return Instance("attention_linf", fields)


@st.composite
def l2_cases(draw: st.DrawFn, max_tokens: int = 4, logits: bool = False) -> Instance:
    """Two coordinates; value errors on the ball of their radius or zero."""
    base = _weights(draw, max_tokens, logits)
    n = _tokens(base)
    values, radii = draw(_rows(VALUES, n)), draw(st.tuples(*[BOXES] * n))
    scales, directions = draw(st.tuples(*[PARTS] * n)), draw(st.tuples(*[DIRECTIONS] * n))
    rows = zip(radii, scales, directions, strict=True)
    errors = tuple(tuple(Fraction(nu * scale * c) for c in direction) for nu, scale, direction in rows)
    fields = {**base.fields, "values_hat": values, "value_radii": radii, "value_errors": errors}
    return Instance("attention_l2", fields)


def moved(case: Instance, shift: int) -> Instance:
    """All compressed values shifted by one vector."""
    values: Any = case.fields["values_hat"]
    return changed(case, values_hat=tuple(tuple(c + shift for c in row) for row in values))


def _weights(draw: st.DrawFn, max_tokens: int, logits: bool) -> Instance:
    if logits:
        return draw(logit_cases())
    return draw(st.one_of(ratio_cases(max_tokens), interval_cases(max_tokens)))


def _tokens(base: Instance) -> int:
    return len(fractions_of(base, "weights" if "weights" in base.fields else "logits_hat"))


def _rows(entries: st.SearchStrategy[Fraction], n: int) -> st.SearchStrategy[tuple[tuple[Fraction, ...], ...]]:
    return st.tuples(*[st.tuples(entries, entries)] * n)
