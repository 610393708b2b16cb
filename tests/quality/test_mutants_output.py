from fractions import Fraction

import pytest

from proofkv_verify.kinds import Instance
from tests.quality.witnesses import assert_witness_kills, instance, mutants_of

SLUGS = ("attention_l2_upper", "attention_linf_exact_upper")


def output(
    kind: str, weights: list, ratios: list, raised: list[int], values: list, radii: list, errors: list | None = None
) -> Instance:
    """Ratio form at a vertex of the weight box; radii are norms (L2) or boxes (Linf); no value error by default."""
    vertex = [Fraction(r) if i in raised else 1 / Fraction(r) for i, r in enumerate(ratios)]
    name = "value_radii" if kind == "attention_l2" else "value_box"
    errors = errors if errors is not None else [[0] * len(row) for row in values]
    fields = {"weights": weights, "ratios": ratios, "tilts": vertex, "values_hat": values, name: radii}
    return instance(kind, None, **fields, value_errors=errors)


def l2(*args: object, **more: object) -> Instance:
    return output("attention_l2", *args, **more)  # type: ignore[arg-type]


def linf(*args: object, **more: object) -> Instance:
    return output("attention_linf", *args, **more)  # type: ignore[arg-type]


WITNESSES = {
    # keys exact, values negated: the total variation is 0 and the error 2
    "output_tv_is_the_error": l2([1], [1], [], [[-1]], [2], [[2]]),
    "output_values_exact": l2([1], [1], [], [[-1]], [2], [[2]]),
    "output_moved_weights_dropped": l2([1, 1], [3, 3], [0], [[1], [-1]], [0, 0]),
    "output_factor_two_dropped": l2([1, 1], [3, 3], [0], [[1], [-1]], [0, 0]),
    "output_centred_radius_once": l2([1, 1], [3, 3], [0], [[1], [-1]], [0, 0]),
    "output_mixed_split": l2([99, 1], [7, 7], [1], [[0], [0]], [0, 1], [[0], [1]]),
    "output_mixed_split_radius": l2([99, 1], [7, 7], [1], [[0], [0]], [0, 1], [[0], [1]]),
    "output_linf_as_l2": l2([1, 1], [3, 3], [0], [[1, 1], [-1, -1]], [0, 0]),
    "output_linf_one_sign": linf([1, 3], [3, 3], [0], [[-1], [0]], [[0], [0]]),
    "output_linf_first_coordinate": linf([1, 1], [3, 3], [0], [[0, 1], [0, -1]], [[0, 0], [0, 0]]),
    "output_linf_values_not_joint": linf([99, 1], [7, 7], [1], [[0], [0]], [[0], [1]], [[0], [1]]),
    "output_linf_mixed_split": linf([99, 1], [7, 7], [1], [[0], [0]], [[0], [1]], [[0], [1]]),
    "output_linf_one_raised_token": linf([1, 1, 1, 1], [3, 3, 3, 3], [0, 1], [[1], [1], [-1], [-1]], [[0]] * 4),
    "output_linf_order_without_box": linf(
        [1, 1, 1], [3, 3, 3], [1], [[1], [0], [-1]], [[0], [9], [0]], [[0], [9], [0]]
    ),
}


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_named_witness_kills_mutant(name: str) -> None:
    assert_witness_kills(name, WITNESSES[name])


def test_every_output_mutant_has_a_witness() -> None:
    assert mutants_of(SLUGS) == set(WITNESSES)
