"""The matrix form of one head agrees with the scalar reference, reads no masked number and refuses bad data."""

import math
import random
from fractions import Fraction

import flint
import pytest
from flint import arb

from proofkv_verify.ball import Real
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.reference.attention import Spec, attend, score
from proofkv_verify.reference.head import head_output


def matrix(rows, columns, seed):
    rng = random.Random(seed)
    return [[rng.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def causal(rows, columns):
    return [[j <= i for j in range(columns)] for i in range(rows)]


@pytest.mark.parametrize("mask", [None, causal(4, 6)], ids=["all", "causal"])
@pytest.mark.parametrize("lift", [float, Fraction])
def test_matrix_form_overlaps_the_scalar_reference(mask, lift):
    q, k, v = (
        [[lift(x) for x in row] for row in matrix(n, d, seed)] for n, d, seed in [(4, 3, 1), (6, 3, 2), (6, 2, 3)]
    )
    with flint.ctx.workprec(100):
        found = head_output(q, k, v, lift(0.3), mask)
        for i in range(4):
            kept = [j for j in range(6) if mask is None or mask[i][j]]
            real = [[[Real(x) for x in row] for row in m] for m in (q, k, v)]
            scores = [score(real[0][i], real[1][j], Spec(Fraction(0.3))) for j in kept]
            expected = attend(scores, [real[2][j] for j in kept]).output
            for c in range(2):
                assert found[i][c].overlaps(expected[c].ball), (i, c)
                assert found[i][c].rad() < arb(2) ** -80


@pytest.mark.parametrize("poison", [math.nan, math.inf, 1e300])
def test_numbers_that_no_query_attends_are_never_read(poison):
    q, k, v = matrix(2, 3, 1), matrix(4, 3, 2), matrix(4, 2, 3)
    expected = head_output(q, k[:3], v[:3], 0.5)
    mask = [[True, True, True, False]] * 2
    for data in (k, v):
        data[3] = [poison] * len(data[3])
    found = head_output(q, k, v, 0.5, mask)
    assert all(found[i][c].overlaps(expected[i][c]) and found[i][c].is_finite() for i in range(2) for c in range(2))


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"queries": [[math.nan]]}, InvalidInputError, "queries"),
        ({"keys": [[1.0], [math.inf]]}, InvalidInputError, "keys"),
        ({"values": [[1.0], [math.nan]]}, InvalidInputError, "values"),
        ({"scale": math.inf}, InvalidInputError, "scale"),
        ({"mask": [[False, False]]}, InvalidInputError, "attended key"),
        ({"mask": [[True]]}, ShapeError, "mask"),
        ({"keys": [[1.0, 2.0], [1.0]]}, ShapeError, "keys"),
        ({"keys": [[1.0, 2.0], [1.0, 2.0]]}, ShapeError, "keys"),
        ({"values": [[1.0]]}, ShapeError, "values|keys"),
        ({"queries": []}, ShapeError, "at least one"),
    ],
)
def test_bad_data_is_named(change, error, named):
    good = {"queries": [[1.0]], "keys": [[1.0], [2.0]], "values": [[1.0], [0.0]], "scale": 1.0, "mask": None}
    with pytest.raises(error, match=named):
        head_output(**good | change)
