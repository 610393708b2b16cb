"""What SMT queries are about: for each kind a list of small symbolic instances, easy ones first.

An entry of a field is a variable's name or a number. A name that occurs twice ties two entries together (a tilt at
the upper end of its ratio, an error that fills its radius).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import Any, TypeAlias

from proofkv_verify.kinds import View
from proofkv_verify.search.smt_math import SmtMath

Extra: TypeAlias = "Callable[[View, SmtMath], Sequence[tuple[str, Any]]]"
Fields: TypeAlias = dict[str, Any]

_ZERO, _ONE = Fraction(0), Fraction(1)
_LARGEST = 4
_WIDE = 8  # with fixed ratios only
_NINTH = Fraction(1, 9)
_INTERVALS = (
    ((Fraction(2), Fraction(1, 3)), (Fraction(3), Fraction(1, 2))),
    ((_ONE, _NINTH), (Fraction(9), _ONE)),
    ((_NINTH, _NINTH), (_ONE, _ONE)),
)


def _nothing(x: View, m: SmtMath) -> Sequence[tuple[str, Any]]:
    return []


@dataclass(frozen=True, slots=True)
class Template:
    """A symbolic instance.

    Attributes:
        name: size and what is fixed, for the report.
        fields: nested tuples of variable names and rationals.
        extra: conditions beyond the premises of the kind, which normalise or restrict the data.
        general: nothing is restricted, so that `unsat` speaks of all data of this size and form.
    """

    kind: str
    name: str
    fields: Mapping[str, Any]
    params: Mapping[str, Any]
    extra: Extra = _nothing
    general: bool = False


@dataclass(frozen=True, slots=True)
class _Base:
    """Weights, ratios and tilts of a template, and how late it is asked."""

    name: str
    fields: Fields
    extra: Extra
    rank: int
    general: bool = False

    @property
    def tokens(self) -> int:
        return len(self.fields["weights"])


def templates(kind: str) -> Iterator[Template]:
    """The templates of a kind in the order in which they are asked."""
    yield from _TEMPLATES[kind]()


def _names(word: str, *shape: int) -> Any:
    if not shape:
        return word
    return tuple(_names(f"{word}_{i}", *shape[1:]) for i in range(shape[0]))


def _weights_sum_to_one(x: View, m: SmtMath) -> Sequence[tuple[str, Any]]:
    return [("weights sum to 1", m.sum(x.raw_weights) == 1)]


def _at_vertices(lowered: Sequence[int]) -> Extra:
    """Weights sum to 1, and the tilts of these tokens are 1 / r; those of the others are r by name."""

    def extra(x: View, m: SmtMath) -> Sequence[tuple[str, Any]]:
        ends = [(f"tilts[{i}] is 1/ratios[{i}]", x.tilts[i] * x.ratios[i] == 1) for i in lowered]
        return [*_weights_sum_to_one(x, m), *ends]

    return extra


def _numbers_for_ratios(n: int) -> Iterator[tuple[Fraction, ...]]:
    huge = Fraction(10**6)
    yield from ((Fraction(3), *[_ONE] * (n - 1)), (huge, *[Fraction(2)] * (n - 1)), (Fraction(3),) * n)
    yield from ((Fraction(1001), *[_ONE] * (n - 1)), (Fraction(2), *[Fraction(3)] * (n - 1)))


def _fixed_ratios(n: int) -> Iterator[_Base]:
    """Ratios are numbers, the first tilt is up and the others down (or the other way): only weights are free."""
    for place, ratios in enumerate(_numbers_for_ratios(n)):
        for first_up in (True, False):
            ups = [first_up, *[not first_up] * (n - 1)]
            tilts = tuple(r if up else 1 / r for r, up in zip(ratios, ups, strict=True))
            fields = {"weights": _names("p", n), "ratios": ratios, "tilts": tilts}
            name = f"n={n}, ratios {ratios[0]} and {ratios[-1]}, first tilt {'up' if first_up else 'down'}"
            yield _Base(name, fields, _weights_sum_to_one, place + n)


def _vertex_tilts(n: int) -> Iterator[_Base]:
    for ups in range(1, n):
        ratios = _names("r", n)
        tilts = tuple(ratios[i] if i < ups else f"t_{i}" for i in range(n))
        fields = {"weights": _names("p", n), "ratios": ratios, "tilts": tilts}
        yield _Base(f"n={n}, tilts at vertices, {ups} up", fields, _at_vertices(range(ups, n)), 4 + 4 * n)


def _free_tilts(n: int) -> _Base:
    fields = {"weights": _names("p", n), "ratios": _names("r", n), "tilts": _names("t", n)}
    return _Base(f"n={n}", fields, _weights_sum_to_one, 4 + 4 * n if n > 1 else 0, general=True)


def _free_interval(n: int) -> _Base:
    fields = {"weights": _names("p", n), "lower": _names("l", n), "upper": _names("u", n), "tilts": _names("t", n)}
    return _Base(f"n={n}, intervals", fields, _weights_sum_to_one, 6 + 4 * n, general=True)


def _fixed_intervals() -> Iterator[_Base]:
    """Two tokens whose intervals are numbers that do not lie around 1."""
    for lows, highs in _INTERVALS:
        for tilts in ((highs[0], lows[1]), (lows[0], highs[1])):
            fields = {"weights": _names("p", 2), "lower": lows, "upper": highs, "tilts": tilts}
            yield _Base(f"n=2, intervals by number, first tilt {tilts[0]}", fields, _weights_sum_to_one, 4)


def _bases(n: int) -> Iterator[_Base]:
    if n > 1:
        yield from _fixed_ratios(n)
        yield from _vertex_tilts(n) if n <= _LARGEST else ()
    if n <= _LARGEST:
        yield _free_tilts(n)
    if n == 2:
        yield from _fixed_intervals()
    if n <= 2:
        yield _free_interval(n)


def _free_parameters(n: int) -> Fields:
    """Optional fields of the TV kind: one of each, symbolic."""
    return {
        "previous_weights": _names("previous", n),
        "outside_weights": _names("outside", 1),
        "kappas": _names("kappa", 1),
        "bin_edges": _names("edge", 1),
        "cell_edges": (_ZERO, "cell_edge", _ONE),
        "cell_mu": _names("mu", 2),
    }


def _also(extra: Extra) -> Extra:
    def both(x: View, m: SmtMath) -> Sequence[tuple[str, Any]]:
        positive = [(f"other weight {i} > 0", w > 0) for i, w in enumerate([*x.previous_weights, *x.outside_weights])]
        return [*extra(x, m), *positive]

    return both


def _softmax_tv() -> Iterator[Template]:
    sizes = (*range(1, _LARGEST + 1), _WIDE)
    for base in sorted(chain.from_iterable(_bases(n) for n in sizes), key=lambda base: base.rank):
        params = {"pages": [list(range(base.tokens))]}
        yield Template("softmax_tv", base.name, base.fields, params, base.extra, base.general)
        if base.tokens == 2:
            more = base.fields | _free_parameters(2)
            name = f"{base.name}, free parameters"
            yield Template("softmax_tv", name, more, params, _also(base.extra), base.general)


def _output(kind: str) -> Iterator[Template]:
    shapes = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1))
    found = [
        (base.rank + 2 * d + late, template)
        for n, d in shapes
        for base in _bases(n)
        for late, template in _with_values(kind, base, d)
    ]
    yield from (template for _, template in sorted(found, key=lambda pair: pair[0]))


def _with_values(kind: str, base: _Base, d: int) -> Iterator[tuple[int, Template]]:
    """Templates with values, and how much later than their base they are asked."""
    n = base.tokens
    radii = _names("nu", n) if kind == "attention_l2" else _names("nu", n, d)
    word = "value_radii" if kind == "attention_l2" else "value_box"
    full = tuple((nu, *[_ZERO] * (d - 1)) if isinstance(nu, str) else nu for nu in radii)
    zero = ((_ZERO,) * d,) * n
    none = (_ZERO,) * n if kind == "attention_l2" else zero
    values = _names("v", n, d)
    numbers = ((_ONE,) * d, *((-_ONE,) * d for _ in range(n - 1)))
    choices = (
        (0, "values +-1, exact", numbers, none, zero, False),
        (0, "exact values", values, none, zero, False),
        (0, "values 0, errors full", zero, radii, full, False),
        (1, "errors full", values, radii, full, False),
        (9, "all free", values, radii, _names("e", n, d), base.general),
    )
    for late, words, centre, bound, errors, general in choices:
        data = base.fields | {"values_hat": centre, word: bound, "value_errors": errors}
        yield late, Template(kind, f"{base.name}, d={d}, {words}", data, {}, base.extra, general)


def _logit_abs() -> Iterator[Template]:
    quarter, flat, two = ((_ZERO,), (_ONE,)), ((), ()), ((_ZERO, _ONE), (_ONE, _ZERO))
    yield _logit("d=1", 1, [], flat, (1, 1, 0), query_error=True)
    for group, heads, head in ((2, 1, 1), (2, 2, 1), (2, 2, 2), (1, 2, 1)):
        yield _logit(f"d=1, {group} x {heads} heads, head {head}", 1, [], flat, (group, heads, head))
    yield _logit("d=1, heads and query error", 1, [], flat, (2, 2, 2), query_error=True)
    yield _logit("d=4, one error, one query coordinate", 4, [[0, 2], [1, 3]], two, (1, 1, 0), sparse=True)
    yield _logit("d=2, quarter turn", 2, [[0, 1]], quarter, (1, 1, 0))
    yield _logit("d=2, turn 3/5, 4/5", 2, [[0, 1]], ((Fraction(3, 5),), (Fraction(4, 5),)), (1, 1, 0))
    yield _logit("d=2, no rotation", 2, [], flat, (1, 1, 0))
    yield _logit("d=3, one plane", 3, [[0, 1]], quarter, (1, 1, 0))
    yield _logit("d=4, half-split, one quarter turn", 4, [[0, 2], [1, 3]], two, (1, 1, 0))
    yield _logit("d=2, any angle", 2, [[0, 1]], (("cos",), ("sin",)), (1, 1, 0), query_error=True)


def _logit(
    name: str,
    d: int,
    planes: list[list[int]],
    circle: tuple[Any, Any],
    heads: tuple[int, int, int],
    *,
    query_error: bool = False,
    sparse: bool = False,
) -> Template:
    group, kv_heads, head = heads
    rotated = {i for plane in planes for i in plane}
    bands = [*planes, *([i] for i in range(d) if i not in rotated)]
    error = ("e_0", *[_ZERO] * (d - 1)) if sparse else _names("e", d)
    queries = tuple(tuple(_ZERO if sparse and c != d // 2 else f"q_{g}_{c}" for c in range(d)) for g in range(group))
    fields = {
        "queries": queries,
        "softmax_scale": "scale",
        "rope_factor": "rope" if d == 1 else _ONE,
        "cos": circle[0],
        "sin": circle[1],
        "box_radii": _names("box", d),
        "norm_radii": _names("norm", kv_heads),
        "band_radii": _names("band", len(bands)),
        "query_radius": "rho" if query_error else _ZERO,
        "key_norm": "key_norm" if query_error else _ZERO,
        "key_hat": _names("k", d) if query_error else (_ZERO,) * d,
        "key_error": error,
        "query_error": _names("dq", d) if query_error else (_ZERO,) * d,
    }
    params = {"planes": planes, "bands": bands, "query_head": head}
    return Template("logit_abs", name, fields, params, general=query_error and d == 1)


def _quantizer_step() -> Iterator[Template]:
    for low, high, code in ((-7, 7, 1), (-7, 7, 7), (-7, 7, -7), (-7, 7, 0), (0, 15, 15), (-127, 127, 126), (0, 0, 0)):
        fields: Fields = {"code": Fraction(code), "code_min": Fraction(low), "code_max": Fraction(high)}
        for name in ("divisor", "scale", "offset_in", "offset_out", "value_low", "value_high", "value", "restored"):
            fields[name] = name
        for roundoff in (_ZERO, "roundoff"):
            words = f"code {code} of {low}..{high}, roundoff {roundoff}"
            data = fields | {"roundoff": roundoff}
            yield Template("quantizer_step", words, data, {}, general=isinstance(roundoff, str))


def _argmax() -> Iterator[Template]:
    shapes = chain(product((1, 2, 3), (0,)), product((2, 3), (1, 2)), product((4,), (0, 1)))
    for vocab, h in shapes:
        for candidate in range(min(vocab, 2)):
            fields = {
                "scores_hat": _names("s", vocab),
                "radii": _names("r", vocab),
                "rows": _names("w", vocab, h),
                "hidden_hat": _names("h", h),
                "hidden_radius": "radius" if h else _ZERO,
                "score_errors": _names("e", vocab),
                "hidden_error": _names("g", h),
            }
            name = f"vocab={vocab}, hidden={h}, candidate {candidate}"
            yield Template("argmax", name, fields, {"candidate": candidate}, general=True)


_TEMPLATES: dict[str, Callable[[], Iterator[Template]]] = {
    "softmax_tv": _softmax_tv,
    "attention_l2": lambda: _output("attention_l2"),
    "attention_linf": lambda: _output("attention_linf"),
    "logit_abs": _logit_abs,
    "quantizer_step": _quantizer_step,
    "argmax": _argmax,
}
