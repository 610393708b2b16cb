import pytest

from proofkv_verify.kinds import Instance
from tests.quality.witnesses import assert_witness_kills, instance, mutants_of


def scores(hat: list[object], radii: list[object], errors: list[object], candidate: int = 0) -> Instance:
    """A box of scores without a hidden state."""
    return instance(
        "argmax",
        {"candidate": candidate},
        scores_hat=hat,
        radii=radii,
        score_errors=errors,
        rows=[[] for _ in hat],
        hidden_hat=[],
        hidden_radius=0,
        hidden_error=[],
    )


def unembedding(rows: list[list[object]], hidden: list[object], radius: object, error: list[object]) -> Instance:
    """Two exact rows on an enclosed hidden state."""
    zeros = [0] * len(rows)
    return instance(
        "argmax",
        scores_hat=zeros,
        radii=zeros,
        score_errors=zeros,
        rows=rows,
        hidden_hat=hidden,
        hidden_radius=radius,
        hidden_error=error,
    )


# the margin 1/2 exceeds |w_0| e = 3/10, yet the rival's row turns an error of 3/10 into 6/10
RIVAL_ROW = unembedding([[1, 0], ["1/2", 2]], [1, 0], "3/10", [0, "3/10"])
WITNESSES = {
    "argmax_not_strict": scores([1, 1], [0, 0], [0, 0], candidate=1),
    "argmax_runner_up_only": scores([3, 2, 1], [0, 0, 3], [0, 0, 3]),
    "argmax_winner_norm_only": RIVAL_ROW,
    "argmax_against_compressed_rivals": scores([1, 0], ["3/4", "3/4"], ["-3/4", "3/4"]),
    "argmax_one_radius": scores([1, 0], ["3/4", "3/4"], ["-3/4", "3/4"]),
    "argmax_last_row_left_out": scores([1, 0, 2], [0, 0, 0], [0, 0, 0]),
    "argmax_rows_root_sum_square": scores([4, 0], ["5/2", 2], ["-5/2", 2]),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_witness_kills_mutant_and_keeps_bound(name: str) -> None:
    assert_witness_kills(name, WITNESSES[name])


def test_every_mutant_of_the_argmax_bound_has_a_witness() -> None:
    assert set(WITNESSES) == mutants_of(("argmax_margin_lower",))
