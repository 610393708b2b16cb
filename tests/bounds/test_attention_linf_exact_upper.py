from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.attention_linf_exact_upper import BOUND
from proofkv_verify.check import check_claim
from proofkv_verify.kinds import Instance
from proofkv_verify.reference.output_optimum import linf_optimum
from proofkv_verify.verdict import Verified
from tests.bounds.output_cases import linf_cases, moved
from tests.bounds.tv_cases import (
    assert_contains,
    assert_overlap,
    assert_precisions_overlap,
    changed,
    ends,
    facts,
    fractions_of,
    permuted,
    scaled,
    value,
)


def best_vertex(instance: Instance) -> tuple[Fraction, tuple[Fraction, ...], int, int]:
    """By all 2^n vertices of the weight box: the largest coordinate error, the tilts, the coordinate and the sign."""
    weights, values, box = _rows(instance)
    found = []
    for tilts in product(*zip(*ends(instance), strict=True)):
        masses = [p * w for p, w in zip(weights, tilts, strict=True)]
        for c, sign in product(range(len(values[0])), (1, -1)):
            exact = sum(q * (sign * v[c] + b[c]) for q, v, b in zip(masses, values, box, strict=True)) / sum(masses)
            held = sum(p * v[c] for p, v in zip(weights, values, strict=True)) / sum(weights)
            found.append((exact - sign * held, tilts, c, sign))
    return max(found)


def _rows(instance: Instance) -> tuple[tuple[Fraction, ...], Any, Any]:
    return fractions_of(instance, "weights"), instance.fields["values_hat"], instance.fields["value_box"]


@facts
@given(linf_cases())
def test_attention_linf_exact_upper_contains_exact_error(instance: Instance) -> None:
    assert_contains(BOUND, instance)


@facts
@given(linf_cases(logits=True))
def test_attention_linf_exact_upper_of_logits_contains_and_two_precisions_overlap(instance: Instance) -> None:
    assert_precisions_overlap(BOUND, instance)


@facts
@given(linf_cases())
def test_attention_linf_exact_upper_equals_the_best_of_all_vertices(instance: Instance) -> None:
    assert value(BOUND, instance).exact == best_vertex(instance)[0]


@facts
@given(linf_cases())
def test_attention_linf_exact_upper_is_attained_by_keys_and_values_jointly(instance: Instance) -> None:
    best, tilts, _, sign = best_vertex(instance)
    _, _, box = _rows(instance)
    worst = changed(instance, tilts=tilts, value_errors=tuple(tuple(sign * b for b in row) for row in box))
    judgement = check_claim(BOUND, worst)
    assert isinstance(judgement.verdict, Verified)
    assert judgement.truth == judgement.claimed
    assert judgement.truth is not None
    assert judgement.truth.lower is not None
    assert abs(judgement.truth.lower - best) < Fraction(1, 2**60)


@facts
@given(linf_cases())
def test_attention_linf_exact_upper_agrees_with_one_sort_a_direction(instance: Instance) -> None:
    weights, values, box = _rows(instance)
    found = linf_optimum(weights, ends(instance), values, box)
    exact = value(BOUND, instance).exact
    assert exact is not None
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < Fraction(1, 2**150)


@facts
@given(linf_cases())
def test_attention_linf_exact_upper_ignores_order_scale_and_a_common_shift_of_values(instance: Instance) -> None:
    for other in (permuted(instance), scaled(instance, "weights", Fraction(7, 3)), moved(instance, 5)):
        assert value(BOUND, instance).exact == value(BOUND, other).exact


@facts
@given(linf_cases(), st.integers(0, 3), st.integers(0, 1))
def test_attention_linf_exact_upper_does_not_decrease_with_a_box(instance: Instance, k: int, c: int) -> None:
    _, _, box = _rows(instance)
    larger = [list(row) for row in box]
    larger[k % len(larger)][c] += 1
    wider = changed(instance, value_box=tuple(map(tuple, larger)))
    assert (value(BOUND, wider) >= value(BOUND, instance)).value is True


@facts
@given(linf_cases(), st.sampled_from([Fraction(1, 3), Fraction(2)]))
def test_attention_linf_exact_upper_does_not_decrease_with_wider_ends_nor_change_when_ends_are_scaled(
    instance: Instance, factor: Fraction
) -> None:
    lower, upper = (tuple(part) for part in ends(instance))
    base = {k: v for k, v in instance.fields.items() if k != "ratios"}
    plain = Instance("attention_linf", {**base, "lower": lower, "upper": upper})
    moved_ends = scaled(scaled(plain, "lower", factor), "upper", factor)
    assert value(BOUND, plain).exact == value(BOUND, moved_ends).exact
    wider = scaled(plain, "lower", Fraction(1, 2))
    assert (value(BOUND, wider) >= value(BOUND, plain)).value is True


def test_attention_linf_exact_upper_worked_number() -> None:
    fields: dict[str, Any] = {
        "weights": (Fraction(1), Fraction(1)),
        "ratios": (Fraction(3), Fraction(3)),
        "tilts": (Fraction(3), Fraction(1, 3)),
        "values_hat": ((Fraction(1),), (Fraction(-1),)),
        "value_box": ((Fraction(1, 2),), (Fraction(0),)),
        "value_errors": ((Fraction(1, 2),), (Fraction(0),)),
    }
    instance = Instance("attention_linf", fields)
    # raise token 0: weights 9/10 and 1/10, scores 3/2 and -1, old output 0
    assert value(BOUND, instance).exact == Fraction(5, 4)
    assert_contains(BOUND, instance)
    assert_overlap(value(BOUND, instance), value(BOUND, instance, 64))
