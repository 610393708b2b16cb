"""The float64 helpers of the audit against exact arithmetic."""

from fractions import Fraction

import torch

from proofkv_verify.audit.floats import difference, dots, norm_lower, norm_upper, two_product, within
from proofkv_verify.exact import lift_tensor


def draw(seed, *size, spread=20):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(size, generator=generator, dtype=torch.float64)
    return numbers * torch.exp2(torch.randint(-spread, spread, size, generator=generator).double())


def test_difference_is_exact():
    a, b = draw(0, 200), draw(1, 200)
    high, low = difference(a, b)
    exact = zip(*(lift_tensor(t).values for t in (a, b, high, low)), strict=True)
    assert all(abs(x - y) == h + e for x, y, h, e in exact)


def test_two_product_is_exact():
    a, b = draw(2, 200), draw(3, 200)
    p, e = two_product(a, b)
    exact = zip(*(lift_tensor(t).values for t in (a, b, p, e)), strict=True)
    assert all(x * y == h + rest for x, y, h, rest in exact)


def test_within_decides_ties_exactly():
    one = torch.tensor([1.0], dtype=torch.float64)
    tiny = torch.tensor([2.0**-60], dtype=torch.float64)
    assert bool(within(one, tiny, one)[0])  # 1 - 2^-60 rounds to 1 and is below it
    assert not bool(within(one, -tiny, one)[0])  # 1 + 2^-60 rounds to 1 and is above it
    assert bool(within(one, one * 0, one)[0])


def test_within_says_no_to_nan_and_yes_to_an_infinite_radius():
    nan, inf, one = (torch.tensor([v], dtype=torch.float64) for v in (float("nan"), float("inf"), 1.0))
    assert not bool(within(one, nan, one)[0])
    assert not bool(within(one, one, nan)[0])
    assert bool(within(one, nan, inf)[0])
    assert not bool(within(one, inf, one)[0])


def test_norms_enclose_the_exact_norm():
    x = draw(4, 50, 33, spread=8)
    for row, low, high in zip(x, norm_lower(x), norm_upper(x), strict=True):
        square = sum(value * value for value in lift_tensor(row).values)
        assert Fraction(float(low)) ** 2 <= square <= Fraction(float(high)) ** 2
    zero = torch.zeros(3, dtype=torch.float64)
    assert float(norm_upper(zero)) == 0


def test_dots_enclose_the_exact_product_and_are_nearly_exact():
    for dtype in (torch.float16, torch.float32, torch.float64):
        a, b = (draw(seed, 30, 17, spread=6).to(dtype) for seed in (5, 6))
        high, low, error = dots(a, b)
        for i in range(30):
            pairs = zip(lift_tensor(a[i]).values, lift_tensor(b[i]).values, strict=True)
            true = sum(x * y for x, y in pairs)
            found = Fraction(float(high[i])) + Fraction(float(low[i]))
            assert abs(true - found) <= Fraction(float(error[i]))
        assert float(error.max()) < 1e-24
