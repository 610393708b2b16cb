"""Hypothesis strategies for admissible instances: every premise holds by construction, at its boundary now and then."""

from fractions import Fraction
from math import isqrt
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from proofkv_verify.kinds import Instance
from tests.profiles import budget
from tests.quality.witnesses import instance

FACT = budget(40)
SMALL = st.fractions(min_value=-4, max_value=4, max_denominator=8)
NUMBERS = st.one_of(SMALL, st.sampled_from([Fraction(0), Fraction(1 << 20), Fraction(-1, 1 << 30)]))
SLACK = st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 1 << 20), Fraction(1, 3), Fraction(5)])
POSITIVE = st.one_of(
    st.fractions(min_value=Fraction(1, 64), max_value=8, max_denominator=64),
    st.sampled_from([Fraction(1, 1 << 40), Fraction(1 << 20)]),
)


def root_above(square: Fraction) -> Fraction:
    """The square root if it is rational, else a rational a little above it."""
    p, q = isqrt(square.numerator), isqrt(square.denominator)
    if Fraction(p * p, q * q) == square:
        return Fraction(p, q)
    scale = 1 << 40
    return Fraction(isqrt(int(square * scale * scale)) + 1, scale)


def norm_above(vector: list[Fraction]) -> Fraction:
    """An upper bound of the Euclidean norm, exact where the norm is rational."""
    return root_above(sum((v * v for v in vector), Fraction(0)))


def vectors(size: int, numbers: st.SearchStrategy[Fraction] = NUMBERS) -> st.SearchStrategy[list[Fraction]]:
    """Lists of `size` rationals."""
    return st.lists(numbers, min_size=size, max_size=size)


@st.composite
def turns(draw: st.DrawFn, count: int) -> tuple[list[Fraction], list[Fraction]]:
    """Rational cosines and sines: points ((1 - t^2)/(1 + t^2), 2t/(1 + t^2)) and the quarter turns."""
    cos, sin = [], []
    for _ in range(count):
        t = draw(st.fractions(min_value=-3, max_value=3, max_denominator=5))
        c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        c, s = draw(st.sampled_from([(c, s), (-c, s), (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]))
        cos.append(c)
        sin.append(s)
    return cos, sin


@st.composite
def quantizer_steps(draw: st.DrawFn) -> Instance:
    """An element through an affine quantizer, saturated or not, with tie codes in both directions."""
    divisor, scale = draw(POSITIVE), draw(POSITIVE)
    scale = draw(st.sampled_from([divisor, scale, divisor * Fraction(1025, 1024)]))
    offset_in, offset_out = draw(NUMBERS), draw(NUMBERS)
    offset_out = draw(st.sampled_from([offset_in, offset_out]))
    low, high = draw(st.sampled_from([(-127, 127), (-8, 7), (0, 3), (0, 0)]))
    quotient = draw(st.fractions(min_value=low - 2, max_value=high + 2, max_denominator=4))
    code = min(
        max(round(quotient + draw(st.sampled_from([0, Fraction(1, 1 << 60), Fraction(-1, 1 << 60)]))), low), high
    )
    value, grid = divisor * quotient + offset_in, scale * code + offset_out
    roundoff = draw(st.sampled_from([Fraction(0), Fraction(1, 256), Fraction(1, 1 << 24)]))
    share = draw(st.sampled_from([-1, 0, 1, Fraction(1, 3)]))
    return instance(
        "quantizer_step",
        divisor=divisor,
        scale=scale,
        offset_in=offset_in,
        offset_out=offset_out,
        code=code,
        code_min=low,
        code_max=high,
        value_low=value - draw(SLACK),
        value_high=value + draw(SLACK),
        roundoff=roundoff,
        value=value,
        restored=grid + share * roundoff * abs(grid),
    )


@st.composite
def logit_changes(draw: st.DrawFn, *, max_size: int = 4) -> Instance:
    """A key and a query with errors, rational rotations of disjoint planes, bands of whole planes, grouped heads."""
    size = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(size)))
    count = draw(st.integers(0, size // 2))
    pairs = [list(order[2 * j : 2 * j + 2]) for j in range(count)]
    blocks = [*pairs, *([i] for i in order[2 * count :])]
    cut = draw(st.integers(0, len(blocks)))
    bands = [[i for block in blocks[:cut] for i in block], *blocks[cut:]] if cut else blocks
    cos, sin = draw(turns(count))
    key_error, query_error, key_hat = (draw(vectors(size, SMALL)) for _ in range(3))
    group, kv_heads = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    head = draw(st.integers(0, group * kv_heads - 1))
    norms = [draw(SLACK) for _ in range(kv_heads)]
    norms[head // group] += norm_above(key_error)
    return instance(
        "logit_abs",
        {"planes": pairs, "bands": bands, "query_head": head},
        queries=[draw(vectors(size)) for _ in range(group)],
        softmax_scale=draw(st.sampled_from([Fraction(1, 8), Fraction(1), Fraction(-3, 7)])),
        rope_factor=draw(st.sampled_from([Fraction(1), Fraction(11386, 10000)])),
        cos=cos,
        sin=sin,
        box_radii=[abs(e) + draw(SLACK) for e in key_error],
        norm_radii=norms,
        band_radii=[norm_above([key_error[i] for i in band]) + draw(SLACK) for band in bands],
        query_radius=norm_above(query_error) + draw(SLACK),
        key_norm=norm_above(key_hat) + draw(SLACK),
        key_hat=key_hat,
        key_error=key_error,
        query_error=query_error,
    )


@st.composite
def score_boxes(draw: st.DrawFn) -> Instance:
    """Scores from an enclosed hidden state, each with a radius of its own; candidate anywhere."""
    vocab, hidden = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    hidden_error, errors = draw(vectors(hidden, SMALL)), draw(vectors(vocab, SMALL))
    return instance(
        "argmax",
        {"candidate": draw(st.integers(0, vocab - 1))},
        scores_hat=draw(vectors(vocab)),
        radii=[abs(e) + draw(SLACK) for e in errors],
        rows=[draw(vectors(hidden, SMALL)) for _ in range(vocab)],
        hidden_hat=draw(vectors(hidden)),
        hidden_radius=norm_above(hidden_error) + draw(SLACK),
        score_errors=errors,
        hidden_error=hidden_error,
    )


@st.composite
def weight_fields(draw: st.DrawFn, *, max_size: int = 4) -> dict[str, Any]:
    """Fields of the three forms of attention weights, hidden tilts or logits included."""
    size = draw(st.integers(1, max_size))
    form = draw(st.sampled_from(["ratios", "ends", "logits"]))
    if form == "logits":
        logits, errors = draw(vectors(size, SMALL)), draw(vectors(size, SMALL))
        radii = [abs(e) + draw(SLACK) for e in errors]
        return {
            "logits_hat": logits,
            "logit_radii": radii,
            "logits": [s + e for s, e in zip(logits, errors, strict=True)],
        }
    weights, tilts = draw(vectors(size, POSITIVE)), draw(vectors(size, POSITIVE))
    if form == "ratios":
        return {
            "weights": weights,
            "ratios": [max(w, 1 / w) + draw(SLACK) for w in tilts],
            "tilts": tilts,
        }
    return {
        "weights": weights,
        "lower": [w / (1 + draw(SLACK)) for w in tilts],
        "upper": [w + draw(SLACK) for w in tilts],
        "tilts": tilts,
    }


@st.composite
def tv_cases(draw: st.DrawFn) -> Instance:
    """Weights and tilts only."""
    return instance("softmax_tv", **draw(weight_fields()))


@st.composite
def output_cases(draw: st.DrawFn, kind: str) -> Instance:
    """Weights, tilts and values with errors, for `attention_l2` or `attention_linf`."""
    fields = draw(weight_fields())
    size, width = len(next(iter(fields.values()))), draw(st.integers(1, 3))
    errors = [draw(vectors(width, SMALL)) for _ in range(size)]
    values = [draw(vectors(width)) for _ in range(size)]
    assume(size > 0)
    if kind == "attention_l2":
        return instance(
            kind, **fields, values_hat=values, value_errors=errors, value_radii=[norm_above(e) for e in errors]
        )
    boxes = [[abs(e) + draw(SLACK) for e in error] for error in errors]
    return instance(kind, **fields, values_hat=values, value_errors=errors, value_box=boxes)
