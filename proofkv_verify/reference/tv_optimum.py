"""The optimum T* of TV over the box of weight ratios: all subsets, all threshold pairs, and O(n log n).

With weights p of sum 1 and weight ratios in [1/r_i, r_i], T* is the maximum over subsets S of s - P, where
s = a/(a+b), a = sum_S p r, b = sum_rest p/r and P = p(S); T_f lets tokens be taken in part. Tokens are sorted by
ratio; a candidate takes the tokens before one cut and after another, and one token beside a cut in part. s - P is
submodular, so the best low cut does not decrease with the high cut and the other way round: divide and conquer over
cuts visits O(n log n) candidates instead of O(n^2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from flint import arb

from proofkv_verify.ball import Real, precision
from proofkv_verify.errors import InvalidInputError, ShapeError

MAX_TOKENS_ALL_SUBSETS = 20


@dataclass(frozen=True, slots=True)
class Bracket:
    """lower <= T* <= T_f <= upper.

    Attributes:
        lower: rounded down value of `subset`.
        upper: rounded up value of the best candidate with one token taken in part.
        subset: indices of tokens that attain `lower`.
        partial: index of the token taken in part at the best candidate, and the rounded taken part of it.
        candidates: number of candidates visited.
    """

    lower: Fraction
    upper: Fraction
    subset: tuple[int, ...]
    partial: tuple[int, Fraction]
    candidates: int


def subset_value(
    weights: Sequence[Fraction], lower: Sequence[Fraction], upper: Sequence[Fraction], subset: Sequence[int]
) -> Fraction:
    """TV, exactly, when the tokens of `subset` take their upper weight ratio and the rest their lower one, signed.

    Args:
        weights: p > 0, any common scale.
        lower: lower ends, positive.
        upper: upper ends.
        subset: indices.

    Returns:
        a/(a+b) - P, a lower bound of T*.
    """
    chosen = set(subset)
    rows = list(enumerate(zip(weights, lower, upper, strict=True)))
    a = sum((p * high for i, (p, _, high) in rows if i in chosen), Fraction(0))
    b = sum((p * low for i, (p, low, _) in rows if i not in chosen), Fraction(0))
    mass = sum((weights[i] for i in chosen), Fraction(0)) / sum(weights)
    return a / (a + b) - mass


def best_subset(
    weights: Sequence[Fraction], lower: Sequence[Fraction], upper: Sequence[Fraction]
) -> tuple[Fraction, tuple[int, ...]]:
    """T* exactly, with a subset that attains it, by all 2^n subsets.

    Raises:
        InvalidInputError: more than 20 tokens.
    """
    n = len(weights)
    if n > MAX_TOKENS_ALL_SUBSETS:
        raise InvalidInputError("weights", f"at most {MAX_TOKENS_ALL_SUBSETS} tokens", n)
    sets = (tuple(i for i in range(n) if code >> i & 1) for code in range(2**n))
    return max((subset_value(weights, lower, upper, chosen), chosen) for chosen in sets)


def bracket(
    weights: Sequence[Real | Fraction],
    ratios: Sequence[Real | Fraction],
    *,
    order: Sequence[Fraction] | None = None,
    bits: int = 192,
) -> Bracket:
    """lower <= T* <= T_f <= upper in O(n log n) candidates.

    upper - lower is at most p_k^2 (r_k^2 - 1)/4 for the token k taken in part, plus rounding; with equal weights
    T* is the best pair of whole cuts, so that lower is T* rounded down.

    Args:
        weights: p > 0, any common scale; exact or enclosed.
        ratios: r >= 1; exact or enclosed.
        order: exact numbers in the order of the ratios (logit radii); the ratios themselves by default.
        bits: working precision of the balls.

    Returns:
        The bracket, outward-rounded.

    Raises:
        ShapeError: lengths differ or no token.
        InvalidInputError: an enclosed ratio and no `order`.
    """
    with precision(bits):
        return _bracket(weights, ratios, order, _by_divide_and_conquer)


def bracket_plain(
    weights: Sequence[Real | Fraction],
    ratios: Sequence[Real | Fraction],
    *,
    order: Sequence[Fraction] | None = None,
    bits: int = 192,
) -> Bracket:
    """The same bracket from all O(n^2) pairs of cuts: the plain reference of `bracket`."""
    with precision(bits):
        return _bracket(weights, ratios, order, _by_all_pairs)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Tokens before `low` and from `high` on, `token` in part: the value, the part, and the two whole values."""

    value: arb
    part: arb
    low: int
    high: int
    token: int


class _Line:
    """Sorted tokens with prefix sums; the best candidates seen so far."""

    def __init__(self, order: Sequence[int], weights: Sequence[arb], ratios: Sequence[arb]) -> None:
        self.order = order
        self.n = len(order)
        self.p = [weights[i] for i in order]
        self.r = [ratios[i] for i in order]
        self.mass = _prefix_sums(self.p)
        self.raised = _prefix_sums([p * r for p, r in zip(self.p, self.r, strict=True)])
        self.lowered = _prefix_sums([p / r for p, r in zip(self.p, self.r, strict=True)])
        self.best = _Candidate(arb(0), arb(0), self.n, self.n, self.n - 1)
        self.whole = (arb(0), self.n, self.n)
        self.upper = arb(0)
        self.widest = arb(0)
        self.candidates = 0

    def whole_value(self, low: int, high: int) -> arb:
        """s - P of the tokens before `low` and from `high` on."""
        self.candidates += 1
        a, b, p = self._sums(low, high)
        value = a / (a + b) - p
        if value.mid() > self.whole[0].mid():
            self.whole = (value, low, high)
        return value

    def part_value(self, low: int, high: int, token: int) -> arb:
        """The maximum of s - P as `token`, beside a cut, is taken in part."""
        self.candidates += 1
        a, b, p = self._sums(low, high)
        value, part = _along_token(a, b, p, self.p[token], self.r[token])
        self.upper = self.upper.max(value)
        self.widest = self.widest.max(2 * value.rad())
        if value.mid() > self.best.value.mid():
            self.best = _Candidate(value, part, low, high, token)
        return value

    def _sums(self, low: int, high: int) -> tuple[arb, arb, arb]:
        a = self.raised[low] + self.raised[-1] - self.raised[high]
        b = self.lowered[high] - self.lowered[low]
        return a, b, self.mass[low] + self.mass[-1] - self.mass[high]


def _bracket(
    weights: Sequence[Real | Fraction],
    ratios: Sequence[Real | Fraction],
    order: Sequence[Fraction] | None,
    visit: Callable[[_Line], None],
) -> Bracket:
    n = len(weights)
    if n == 0 or len(ratios) != n or (order is not None and len(order) != n):
        raise ShapeError("ratios", f"{max(n, 1)} entries, one a weight", len(ratios))
    keys = order if order is not None else [_exact(r) for r in ratios]
    balls = [Real(w).ball for w in weights]
    total = sum(balls, arb(0))
    line = _Line(sorted(range(n), key=keys.__getitem__), [w / total for w in balls], [Real(r).ball for r in ratios])
    visit(line)
    return _result(line)


def _result(line: _Line) -> Bracket:
    value, low, high = line.whole
    # A choice between near-equal balls loses at most their widths, once a level.
    slack = line.widest * (line.n.bit_length() + 2)
    lower, upper = Real(value).lower(), Real(line.upper + slack).upper()
    if lower is None or upper is None:
        raise InvalidInputError("weights", "finite numbers that fit the precision", "an unbounded enclosure")
    subset = tuple(sorted(line.order[i] for i in (*range(low), *range(high, line.n))))
    part = Real(line.best.part.mid()).lower()
    return Bracket(
        max(lower, Fraction(0)),
        min(upper, Fraction(1)),
        subset,
        (line.order[line.best.token], part or Fraction(0)),
        line.candidates,
    )


def _by_all_pairs(line: _Line) -> None:
    for high in range(line.n + 1):
        for low in range(high + 1):
            line.whole_value(low, high)
            if low < high:
                line.part_value(low, high, low)
                line.part_value(low, high, high - 1)


def _by_divide_and_conquer(line: _Line) -> None:
    n = line.n
    # For each whole high cut the low cut inside token `low`; then the reverse; then whole cuts only.
    _monotone((1, n), (0, n - 1), lambda high: (0, high - 1), lambda high, low: line.part_value(low, high, low))
    _monotone((0, n - 1), (0, n - 1), lambda low: (low, n - 1), lambda low, last: line.part_value(low, last + 1, last))
    _monotone((0, n), (0, n), lambda high: (0, high), lambda high, low: line.whole_value(low, high))


def _monotone(
    rows: tuple[int, int],
    columns: tuple[int, int],
    allowed: Callable[[int], tuple[int, int]],
    value: Callable[[int, int], arb],
) -> None:
    """Visits, for each row, columns that include a best one, which does not decrease with the row."""
    stack = [(*rows, *columns)]
    while stack:
        first, last, left, right = stack.pop()
        if first > last:
            continue
        row = (first + last) // 2
        start, stop = allowed(row)
        found = [(value(row, c).mid(), c) for c in range(max(start, left), min(stop, right) + 1)]
        best = max(found)[1] if found else left
        stack += [(first, row - 1, left, best), (row + 1, last, best, right)]


def _along_token(a: arb, b: arb, p: arb, mass: arb, ratio: arb) -> tuple[arb, arb]:
    """The maximum of a/(a+b) - p as a part x in [0, 1] of a token moves from b to a, and that part."""
    start, width = a + b, ratio - 1 / ratio
    end = start + mass * width
    c = b * ratio + a / ratio  # the same for every part taken
    without, whole = a / start - p, (a + mass * ratio) / end - p - mass
    if not width > 0:
        ends = without.max(whole)
        return ends.union(ends + mass * mass * arb(width.upper()) / start), arb(int(whole.mid() > without.mid()))
    if c <= start * start:
        return without, arb(0)
    if c >= end * end:
        return whole, arb(1)
    root = c.sqrt()
    return (ratio + start - 2 * root) / width - p, (root - start) / (mass * width)


def _prefix_sums(values: Sequence[arb]) -> list[arb]:
    return list(accumulate(values, initial=arb(0)))


def _exact(ratio: Real | Fraction) -> Fraction:
    exact = Real(ratio).exact
    if exact is None:
        raise InvalidInputError("order", "exact numbers in the order of the enclosed ratios", "nothing")
    return exact
