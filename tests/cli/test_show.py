"""Numbers as text: exact beside decimals, for any exponent."""

from fractions import Fraction

import pytest

from proofkv_verify.certificate import Interval
from proofkv_verify.commands.show import decimal, exact_text, interval_text, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 4), "0.25"),
        (Fraction(-1, 3), "-0.333333333333"),
        (Fraction(10) ** 20, "1e20"),
        (Fraction(1, 10**20), "1e-20"),
        (Fraction(1, 2**30000), "1.25930254358e-9031"),
        (Fraction(3, 2) * 10**400, "1.5e400"),
    ],
)
def test_decimal(value, text):
    assert decimal(value) == text


def test_number_is_exact_with_a_reading_beside_it():
    assert number(Fraction(7)) == "7"
    assert number(Fraction(3, 10)) == "3/10 = 0.3"
    assert number(Fraction(1, 2**30000)) == "1*2^-30000 = 1.25930254358e-9031"


def test_an_interval_is_exact_or_two_ends():
    assert interval_text(Interval(Fraction(3), Fraction(3))) == "3"
    assert interval_text(Interval(Fraction(1, 4), Fraction(1, 2))) == "in [0.25, 0.5]"
    assert interval_text(Interval(None, Fraction(1))) == "in [unbounded, 1]"


def test_long_vectors_are_cut_and_say_so():
    text = exact_text(tuple(Fraction(i) for i in range(40)))
    assert text.endswith("15, ... 40 in all]")
