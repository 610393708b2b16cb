"""Hypothesis strategies: exact instances of every kind, inside the premises by construction, short when shrunk."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from hypothesis import strategies as st

from proofkv_verify.kinds import Instance
from proofkv_verify.search.inside import inside
from proofkv_verify.search.numbers import pythagorean

DrawFn: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]
Fields: TypeAlias = dict[str, Any]

_ZERO, _ONE = Fraction(0), Fraction(1)

fractions_small = st.builds(Fraction, st.integers(-8, 8), st.sampled_from((1, 1, 2, 3, 4, 10)))
"""Small rationals, ties among them frequent."""

floats_exact = st.one_of(
    st.floats(width=16, allow_nan=False, allow_infinity=False),
    st.floats(width=32, min_value=-1e6, max_value=1e6),
).map(Fraction)
"""Exact values of half and single precision numbers, subnormals among them."""

numbers = st.one_of(fractions_small, floats_exact)
"""Any rational that a search tries."""

non_negative = st.one_of(numbers.map(abs), st.just(_ZERO))
"""Radii: zero is frequent."""

positive = st.one_of(
    st.integers(1, 9).map(Fraction),
    st.integers(1, 60).map(lambda k: Fraction(1, 1 << k)),
    st.integers(1, 7).map(lambda k: Fraction(1, 10**k)),
    st.floats(width=32, min_value=2.0**-149, max_value=2.0**20, exclude_min=False).map(Fraction),
)
"""Weights and scales: ordinary, tiny and subnormal numbers."""

ratios = st.one_of(st.just(_ONE), positive.map(lambda q: 1 + q), positive.map(lambda q: 1 + 1 / q))
"""Ratios r >= 1, huge ones among them."""

positions = st.one_of(st.sampled_from((_ZERO, _ONE)), st.fractions(0, 1, max_denominator=16))
"""Places in [0, 1] between the ends of an interval; the ends are frequent."""

half_angles = st.sampled_from([Fraction(*pair) for pair in ((0, 1), (1, 1), (-1, 1), (1, 2), (2, 1), (1, 3), (-2, 5))])
"""Tangents of half angles: 0, +-90 degrees and Pythagorean angles near 45 degrees."""


def instances(kind: str, forms: tuple[str, ...] = ("ratio", "interval", "logit")) -> st.SearchStrategy[Instance]:
    """Instances of a kind; `forms` matters for the kinds that have attention weights."""
    return st.composite(_KINDS[kind])(forms)


def vectors(elements: st.SearchStrategy[Fraction], size: int) -> st.SearchStrategy[tuple[Fraction, ...]]:
    """Tuples of a fixed size."""
    return st.lists(elements, min_size=size, max_size=size).map(tuple)


def _matrix(draw: DrawFn, elements: st.SearchStrategy[Fraction], rows: int, columns: int) -> tuple[Any, ...]:
    return tuple(draw(vectors(elements, columns)) for _ in range(rows))


def _weights(draw: DrawFn, forms: tuple[str, ...], n: int) -> Fields:
    form = draw(st.sampled_from(forms))
    at = draw(vectors(positions, n))
    if form == "logit":
        hats, radii = draw(vectors(fractions_small, n)), draw(vectors(fractions_small.map(abs), n))
        logits = tuple(s + c * (2 * u - 1) for s, c, u in zip(hats, radii, at, strict=True))
        return {"logits_hat": hats, "logit_radii": radii, "logits": logits}
    weights, upper = draw(vectors(positive, n)), draw(vectors(ratios, n))
    if form == "ratio":
        tilts = tuple(1 / r + u * (r - 1 / r) for r, u in zip(upper, at, strict=True))
        return {"weights": weights, "ratios": upper, "tilts": tilts}
    lower = draw(vectors(positive, n))
    high = tuple(low * r for low, r in zip(lower, upper, strict=True))
    tilts = tuple(low + u * (top - low) for low, top, u in zip(lower, high, at, strict=True))
    return {"weights": weights, "lower": lower, "upper": high, "tilts": tilts}


def _softmax_tv(draw: DrawFn, forms: tuple[str, ...]) -> Instance:
    n, cells = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    fields = _weights(draw, forms, n) | {
        "previous_weights": draw(vectors(positive, n)),
        "outside_weights": draw(vectors(positive, draw(st.integers(0, 2)))),
        "kappas": draw(vectors(st.one_of(ratios, positive), draw(st.integers(1, 2)))),
        "bin_edges": draw(vectors(ratios, draw(st.integers(1, 3)))),
        "cell_edges": (_ZERO, *draw(vectors(positions, cells - 1)), _ONE),
        "cell_mu": draw(vectors(non_negative, cells)),
    }
    size = draw(st.integers(1, n))
    pages = [list(range(start, min(start + size, n))) for start in range(0, n, size)]
    return inside(Instance("softmax_tv", fields, {"pages": pages}))


def _output(kind: str) -> Callable[[DrawFn, tuple[str, ...]], Instance]:
    def build(draw: DrawFn, forms: tuple[str, ...]) -> Instance:
        n, d = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        errors = _matrix(draw, st.one_of(st.just(_ZERO), fractions_small), n, d)
        fields = _weights(draw, forms, n) | {"values_hat": _matrix(draw, numbers, n, d), "value_errors": errors}
        slack = vectors(st.one_of(st.just(_ZERO), non_negative), n)
        if kind == "attention_l2":
            fields["value_radii"] = draw(slack)
        else:
            fields["value_box"] = tuple(tuple(abs(e) for e in error) for error in errors)
        return inside(Instance(kind, fields))

    return build


def _logit_abs(draw: DrawFn, forms: tuple[str, ...]) -> Instance:
    planes_count, plain = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    d = max(2 * planes_count + plain, 1)
    split = draw(st.booleans())
    planes = [[i, i + planes_count] if split else [2 * i, 2 * i + 1] for i in range(planes_count)]
    rotated = {i for plane in planes for i in plane}
    bands = [*planes, *([i] for i in range(d) if i not in rotated)]
    group, kv_heads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    circle = [pythagorean(draw(half_angles)) for _ in planes]
    error = draw(vectors(fractions_small, d))
    fields = {
        "queries": _matrix(draw, fractions_small, group, d),
        "softmax_scale": draw(st.sampled_from((_ONE, Fraction(1, 2), Fraction(1, 8)))),
        "rope_factor": draw(st.sampled_from((_ONE, Fraction(2), Fraction(1, 2)))),
        "cos": tuple(c for c, _ in circle),
        "sin": tuple(s for _, s in circle),
        "box_radii": tuple(abs(e) for e in error),
        "norm_radii": draw(vectors(st.sampled_from((_ZERO, Fraction(9))), kv_heads)),
        "band_radii": (_ZERO,) * len(bands),
        "query_radius": draw(non_negative),
        "key_norm": _ZERO,
        "key_hat": draw(vectors(fractions_small, d)),
        "key_error": error,
        "query_error": draw(vectors(fractions_small, d)),
    }
    params = {"planes": planes, "bands": bands, "query_head": draw(st.integers(0, group * kv_heads - 1))}
    return inside(Instance("logit_abs", fields, params))


def _quantizer_step(draw: DrawFn, forms: tuple[str, ...]) -> Instance:
    low = draw(st.sampled_from((-128, -8, -1, 0)))
    high = low + draw(st.sampled_from((1, 3, 15, 254)))
    code = draw(st.integers(low, high))
    scale, mismatch = draw(positive), draw(st.sampled_from((_ZERO, Fraction(1, 2048), Fraction(1, 4))))
    divisor = scale * (1 + mismatch)
    offset, gap = draw(fractions_small), draw(st.sampled_from((_ZERO, _ONE)))
    roundoff = draw(st.sampled_from((_ZERO, Fraction(1, 256), Fraction(1, 2048))))
    at = offset + divisor * (code + draw(positions) - Fraction(1, 2) + draw(st.sampled_from((-9, 0, 0, 0, 9))))
    grid = scale * code + offset + scale * gap
    fields = {
        "divisor": divisor, "scale": scale, "offset_in": offset, "offset_out": offset + scale * gap,
        "code": Fraction(code), "code_min": Fraction(low), "code_max": Fraction(high), "value_low": at,
        "value_high": at, "roundoff": roundoff, "value": at,
        "restored": grid + roundoff * abs(grid) * (2 * draw(positions) - 1),
    }  # fmt: skip
    return inside(Instance("quantizer_step", fields))


def _argmax(draw: DrawFn, forms: tuple[str, ...]) -> Instance:
    vocab, h = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    radii = draw(vectors(st.one_of(st.just(_ZERO), fractions_small.map(abs)), vocab))
    at = draw(vectors(positions, vocab))
    fields = {
        "scores_hat": draw(vectors(fractions_small, vocab)),
        "radii": radii,
        "rows": _matrix(draw, fractions_small, vocab, h),
        "hidden_hat": draw(vectors(fractions_small, h)),
        "hidden_radius": _ZERO,
        "score_errors": tuple(r * (2 * u - 1) for r, u in zip(radii, at, strict=True)),
        "hidden_error": draw(vectors(fractions_small, h)),
    }
    return inside(Instance("argmax", fields, {"candidate": draw(st.integers(0, vocab - 1))}))


_KINDS: dict[str, Callable[..., Instance]] = {
    "softmax_tv": _softmax_tv,
    "attention_l2": _output("attention_l2"),
    "attention_linf": _output("attention_linf"),
    "logit_abs": _logit_abs,
    "quantizer_step": _quantizer_step,
    "argmax": _argmax,
}
