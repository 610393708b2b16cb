from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.attention_l2_upper import BOUND
from proofkv_verify.check import check_claim
from proofkv_verify.kinds import Instance
from tests.bounds.output_cases import l2_cases, moved
from tests.bounds.tv_cases import (
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    changed,
    facts,
    fractions_of,
    permuted,
    scaled,
    value,
)


def case(weights: list, ratios: list, raised: list[int], values: list, radii: list, errors: list) -> Instance:
    """Ratio form at a vertex of the weight box."""
    r = [Fraction(entry) for entry in ratios]
    fields: dict[str, Any] = {
        "weights": tuple(map(Fraction, weights)),
        "ratios": tuple(r),
        "tilts": tuple(entry if i in raised else 1 / entry for i, entry in enumerate(r)),
        "values_hat": tuple(tuple(map(Fraction, row)) for row in values),
        "value_radii": tuple(map(Fraction, radii)),
        "value_errors": tuple(tuple(map(Fraction, row)) for row in errors),
    }
    return Instance("attention_l2", fields)


OPPOSITE = case([1, 1], [3, 3], [0], [[1, 0], [-1, 0]], [0, 0], [[0, 0], [0, 0]])
KEYS_EXACT = case([1, 3], [1, 1], [], [[1, 2], [0, 5]], [3, 1], [[3, 0], [1, 0]])
ONE_RADIUS = case([99, 1], [7, 7], [1], [[0, 0], [0, 0]], [0, 1], [[0, 0], [1, 0]])


@facts
@given(l2_cases())
def test_attention_l2_upper_contains_exact_error(instance: Instance) -> None:
    assert_contains(BOUND, instance)


@facts
@given(l2_cases(logits=True))
def test_attention_l2_upper_of_logits_encloses_the_same_number_at_two_precisions(instance: Instance) -> None:
    assert_precisions_overlap(BOUND, instance)


@facts
@given(l2_cases())
def test_attention_l2_upper_ignores_order_scale_and_a_common_shift_of_values(instance: Instance) -> None:
    for other in (permuted(instance), scaled(instance, "weights", Fraction(7, 3)), moved(instance, 5)):
        assert_overlap(value(BOUND, instance), value(BOUND, other))


@facts
@given(l2_cases(), st.sampled_from([Fraction(1, 2), Fraction(3)]))
def test_attention_l2_upper_scales_with_the_values(instance: Instance, factor: Fraction) -> None:
    values: Any = instance.fields["values_hat"]
    larger = scaled(instance, "value_radii", factor)
    larger = changed(larger, values_hat=tuple(tuple(factor * c for c in row) for row in values))
    assert_overlap(factor * value(BOUND, instance), value(BOUND, larger))


@facts
@given(l2_cases(), st.integers(0, 3))
def test_attention_l2_upper_does_not_decrease_with_a_value_radius(instance: Instance, k: int) -> None:
    radii = list(fractions_of(instance, "value_radii"))
    radii[k % len(radii)] += 1
    assert not (value(BOUND, changed(instance, value_radii=tuple(radii))) < value(BOUND, instance)).value


def test_attention_l2_upper_does_not_decrease_with_a_ratio() -> None:
    wider = changed(OPPOSITE, ratios=(Fraction(4), Fraction(3)))
    assert (value(BOUND, wider) > value(BOUND, OPPOSITE)).value is True


def test_attention_l2_upper_with_exact_keys_is_the_mean_radius_and_is_attained() -> None:
    judgement = check_claim(BOUND, KEYS_EXACT)
    assert value(BOUND, KEYS_EXACT).exact == Fraction(3, 2)
    assert judgement.truth == judgement.claimed


@pytest.mark.parametrize(("instance", "factor"), [(OPPOSITE, "5/4"), (KEYS_EXACT, "1"), (ONE_RADIUS, "7/3")])
def test_attention_l2_upper_is_tight_on_fixed_cases(instance: Instance, factor: str) -> None:
    judgement = check_claim(BOUND, instance)
    assert judgement.truth is not None
    assert judgement.truth.lower is not None
    assert (value(BOUND, instance) <= Fraction(factor) * judgement.truth.lower).value is True


def test_attention_l2_upper_worked_number() -> None:
    # T_f = 1/2 at ratio 3 (equal ratios: (r-1)/(r+1)), diameter 2; the error itself is 4/5.
    assert value(BOUND, OPPOSITE).exact == 1
    # second split: box weights put 49/148 on the uncertain value, diameter 0; the first split costs more.
    assert value(BOUND, ONE_RADIUS).exact == Fraction(49, 148)
