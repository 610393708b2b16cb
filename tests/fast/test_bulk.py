"""The bulk evaluator contains the Arb value, is narrow, reads nothing masked and does not guess."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb

from proofkv_verify.errors import ShapeError
from proofkv_verify.reference.head import head_output
from proofkv_verify.search import bulk


def arb_weights(row):
    top = max(row)
    weights = [(arb(x) - arb(top)).exp() for x in row]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def arb_tv(row, row_hat):
    return sum((abs(p - q) for p, q in zip(arb_weights(row), arb_weights(row_hat), strict=True)), arb(0)) / 2


def arb_error(row, row_hat, values, values_hat):
    p, q = arb_weights(row), arb_weights(row_hat)
    columns = range(values.shape[1])
    return [
        sum((p[i] * arb(values[i, c]) - q[i] * arb(values_hat[i, c]) for i in range(len(p))), arb(0)) for c in columns
    ]


def assert_contains(low, high, true, what):
    """The ball, of radius below 1e-28, is not shown to lie outside."""
    assert not bool(arb(float(low)) > true), f"{what}: low {low!r}, true {true}"
    assert not bool(true > arb(float(high))), f"{what}: high {high!r}, true {true}"
    assert true.rad() < 1e-28, what


CASES = {
    "close": (3.0, 1e-3, 40),
    "tiny change": (2.0, 1e-9, 40),
    "equal": (3.0, 0.0, 17),
    "far": (30.0, 5.0, 30),
    "hot": (300.0, 100.0, 20),
    "many": (1.0, 0.1, 1500),
    "one token": (1.0, 1.0, 1),
}


def draw(name, rows=4):
    spread, change, tokens = CASES[name]
    rng = np.random.default_rng(len(name))
    s = rng.standard_normal((rows, tokens)) * spread
    return s, s + rng.standard_normal(s.shape) * change


@pytest.mark.parametrize("name", CASES)
def test_total_variation_is_contained_and_narrow(name):
    s, s_hat = draw(name)
    low, high = bulk.total_variation(s, s_hat)
    with flint.ctx.workprec(120):
        for i in range(len(s)):
            assert_contains(low[i], high[i], arb_tv(s[i].tolist(), s_hat[i].tolist()), f"{name}, row {i}")
    assert float((high - low).max()) <= 2e-12


@pytest.mark.parametrize("name", CASES)
def test_output_errors_are_contained_and_narrow(name):
    s, s_hat = draw(name)
    rng = np.random.default_rng(5)
    v = rng.standard_normal((s.shape[1], 3))
    v_hat = v + rng.standard_normal(v.shape) * 1e-3
    l2, linf = (f(s, s_hat, v, v_hat) for f in (bulk.output_error_l2, bulk.output_error_linf))
    one_query = bulk.output_error_l2(s, s_hat, np.stack([v] * 4), np.stack([v_hat] * 4))
    with flint.ctx.workprec(120):
        for i in range(len(s)):
            error = arb_error(s[i].tolist(), s_hat[i].tolist(), v, v_hat)
            norm, largest = (
                sum((e * e for e in error), arb(0)).sqrt(),
                abs(error[0]).max(abs(error[1])).max(abs(error[2])),
            )
            assert_contains(l2[0][i], l2[1][i], norm, f"{name}, row {i}")
            assert_contains(linf[0][i], linf[1][i], largest, f"{name}, row {i}")
            assert_contains(one_query[0][i], one_query[1][i], norm, f"{name}, row {i} as a head of its own")
    assert float((l2[1] - l2[0]).max()) <= 1e-11
    assert float((linf[1] - linf[0]).max()) <= 1e-11


@pytest.mark.parametrize("masked", [False, True])
def test_head_output_contains_the_arb_head(masked):
    rng = np.random.default_rng(7)
    q, k, v = rng.standard_normal((8, 16)), rng.standard_normal((12, 16)), rng.standard_normal((12, 5))
    mask = np.tril(np.ones((8, 12), dtype=bool)) if masked else None
    low, high = bulk.attention_output(q, k, v, 0.3, mask)
    with flint.ctx.workprec(100):
        true = head_output(q.tolist(), k.tolist(), v.tolist(), 0.3, None if mask is None else mask.tolist())
        for i, c in np.ndindex(8, 5):
            assert_contains(low[i, c], high[i, c], true[i][c], f"query {i}, coordinate {c}")
    assert float((high - low).max()) <= 1e-12


def test_dot_logits_are_within_their_radius():
    rng = np.random.default_rng(8)
    for size in (1.0, 1e-200, 1e100):
        q, k = rng.standard_normal((3, 24)) * size, rng.standard_normal((5, 24)) * size
        found = bulk.dot_logits(q, k, 0.7)
        for i, j in np.ndindex(3, 5):
            exact = Fraction(0.7) * sum(Fraction(a) * Fraction(b) for a, b in zip(q[i], k[j], strict=True))
            assert abs(Fraction(found.middle[i, j]) - exact) <= Fraction(found.radius[i, j]), (size, i, j)


def test_logits_with_a_radius_enclose_every_logit_within_it():
    s, s_hat = draw("close")
    radius = 1e-6 * np.random.default_rng(9).random(s.shape)
    low, high = bulk.total_variation(bulk.Logits(s, radius), bulk.Logits(s_hat, radius[:1]))
    for sign in (-1.0, 1.0):
        exact_low, exact_high = bulk.total_variation(s + sign * radius * 0.99, s_hat)
        assert bool((low <= exact_low).all())
        assert bool((exact_high <= high).all())


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e300])
def test_masked_entries_are_never_read(poison):
    s, s_hat = draw("close")
    mask = np.arange(s.shape[1]) < 30
    v = np.random.default_rng(3).standard_normal((s.shape[1], 3))
    expected = (
        bulk.total_variation(s[:, :30], s_hat[:, :30]),
        bulk.output_error_l2(s[:, :30], s_hat[:, :30], v[:30], v[:30]),
    )
    s[:, 30:], v[30:] = poison, poison
    found = bulk.total_variation(s, s_hat, mask), bulk.output_error_l2(s, s_hat, v, v, mask)
    for got, wanted in zip(found, expected, strict=True):
        assert bool((got[0] <= wanted[1]).all())
        assert bool((got[1] >= wanted[0]).all())
        assert float((got[1] - got[0]).max()) <= 1e-11


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_known_is_the_whole_range_and_its_neighbours_are_untouched(bad):
    s, s_hat = draw("close")
    v = np.ones((s.shape[1], 2))
    expected = bulk.total_variation(s, s_hat)
    s[1, 3] = bad
    low, high = bulk.total_variation(s, s_hat)
    assert (low[1], high[1]) == (0.0, 1.0)
    assert low[0] == expected[0][0]
    assert high[0] == expected[1][0]
    low, high = bulk.output_error_linf(s, s_hat, v, v)
    assert (low[1], high[1]) == (0.0, math.inf)
    nothing = np.zeros(s.shape[1], dtype=bool)
    assert [float(x[0]) for x in bulk.total_variation(s_hat, s_hat, nothing)] == [0.0, 1.0]
    assert [float(x[0]) for x in bulk.total_variation(np.zeros((1, 0)), np.zeros((1, 0)))] == [0.0, 1.0]


def test_a_radius_beyond_the_model_says_nothing():
    low, high = bulk.total_variation(bulk.Logits(np.zeros((1, 3)), 0.7), np.zeros((1, 3)))
    assert (low[0], high[0]) == (0.0, 1.0)


def test_screening_refutes_verifies_and_leaves_the_rest_to_arb():
    low, high = np.full(5, 0.25), np.full(5, 0.5)
    claimed = np.array([0.2, 0.5, 0.3, math.nan, math.inf])
    assert bulk.screen(claimed, (low, high)).tolist() == [-1, 1, 0, -1, 1]
    assert bulk.screen(np.array([math.inf]), (np.zeros(1), np.array([math.inf]))).tolist() == [1]


def test_batches_and_broadcast_logits_give_what_each_row_gives():
    s, s_hat = draw("many", rows=40)
    low, high = bulk.total_variation(s.reshape(2, 20, -1), s_hat.reshape(2, 20, -1))
    assert low.shape == (2, 20)
    alone = bulk.total_variation(s[25], s_hat[25])
    assert (low[1, 5], high[1, 5]) == (alone[0], alone[1])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="logits_hat"):
        bulk.total_variation(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ShapeError, match="values_hat"):
        bulk.output_error_l2(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((3, 1)))


def test_an_enclosure_without_its_rounding_terms_is_found(monkeypatch):
    monkeypatch.setattr(bulk, "_gamma", lambda n: 0.0)
    monkeypatch.setattr(bulk, "_U", 0.0)
    missed = 0
    for name in ("close", "far", "many"):
        s, s_hat = draw(name)
        low, high = bulk.total_variation(s, s_hat)
        with flint.ctx.workprec(120):
            for i in range(len(s)):
                true = arb_tv(s[i].tolist(), s_hat[i].tolist())
                missed += not (bool(arb(low[i]) <= true) and bool(true <= arb(high[i])))
    assert missed
