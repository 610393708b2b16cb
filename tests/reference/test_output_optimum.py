from fractions import Fraction
from random import Random

import pytest

from proofkv_verify.ball import BallMath, Real
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.reference.output_optimum import linf_optimum

F = Fraction


def test_optimum_names_the_direction_and_the_raised_tokens() -> None:
    ends = ([F(1, 3)] * 3, [F(3)] * 3)
    found = linf_optimum([F(1)] * 3, ends, [[F(0), F(1)], [F(0), F(0)], [F(0), F(-2)]], [[F(0), F(0)]] * 3)
    assert (found.coordinate, found.sign, found.raised) == (1, -1, (2,))
    # weights 3, 1/3, 1/3: output (-6 + 1/3)/(11/3) = -17/11 against -1/3
    assert found.lower <= F(17, 11) - F(1, 3) <= found.upper


def test_enclosed_weights_give_an_enclosure_of_the_same_number() -> None:
    m = BallMath()
    ratios = [m.exp(F(1, 2)), Real(1), m.exp(F(2))]
    ends = ([1 / r for r in ratios], ratios)
    values, box = [[F(1)], [F(-1)], [F(3)]], [[F(1, 4)], [F(0)], [F(1)]]
    found = linf_optimum([m.exp(F(1)), Real(1), m.exp(F(-1))], ends, values, box)
    assert 0 < found.upper - found.lower < F(1, 2**40)


def test_sorting_agrees_with_all_prefixes_on_many_tokens() -> None:
    random, n = Random(3), 40
    weights = [F(random.randint(1, 99)) for _ in range(n)]
    low, high = [F(1, 2)] * n, [F(random.randint(1, 5)) for _ in range(n)]
    values, box = ([[F(random.randint(0, 9))] for _ in range(n)] for _ in range(2))
    found = linf_optimum(weights, (low, high), values, box)
    held = sum(p * v[0] for p, v in zip(weights, values, strict=True)) / sum(weights)
    best = F(0)
    for sign in (1, -1):
        scores = [sign * v[0] + b[0] for v, b in zip(values, box, strict=True)]
        for level in set(scores):
            masses = [p * (u if t >= level else w) for p, w, u, t in zip(weights, low, high, scores, strict=True)]
            mean = sum(q * t for q, t in zip(masses, scores, strict=True)) / sum(masses)
            best = max(best, mean - sign * held)
    assert found.lower <= best <= found.upper


def test_bad_shapes_and_unbounded_enclosures_are_refused() -> None:
    one = ([F(1)], [F(2)])
    with pytest.raises(ShapeError):
        linf_optimum([], ([], []), [], [])
    with pytest.raises(ShapeError):
        linf_optimum([F(1)], one, [[]], [[]])
    with pytest.raises(ShapeError):
        linf_optimum([F(1)], one, [[F(1)]], [[F(1)], [F(1)]])
    with pytest.raises(InvalidInputError, match="unbounded"):
        linf_optimum([BallMath().log(Real(0))], one, [[F(1)]], [[F(1)]])
