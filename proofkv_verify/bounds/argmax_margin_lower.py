"""The argmax certificate: a lower bound on the margin of the candidate over every other row."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "argmax",
    name="argmax_margin_lower",
    hypotheses=("scores_within_radii", "hidden_state_in_ball", "every_row_compared", "strict_or_lower_id"),
    lean="ProofKV.firstMax_of_pairwise",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object)
    """A positive value shows that the candidate is the first maximum: min over ALL rivals of a pairwise margin bound.

    Pairwise: <w_i - w_j, h_hat> + s_i - s_j - |w_i - w_j| e - r_i - r_j, never weaker than separate intervals. A rival
    with a larger index may tie, so a bound of exactly zero against it counts as a win and leaves the minimum (or gives
    1 where nothing else is in it). A positive value is a lower bound on the margin over the rivals that remain.

    Sound when: each score is within its radius; the hidden state is within e of its centre in Euclidean norm; no row
    of the vocabulary is left out; greedy decoding takes the lowest index among equal scores.
    Lean: ProofKV.firstMax_of_pairwise
    """
    bounds = [(j, pairwise_margin(x, m, j)) for j in range(len(x.rows)) if j != x.candidate]
    return m.min(*(b if j < x.candidate else tie_wins(b, m) for j, b in bounds)) if bounds else m.const(1)


def pairwise_margin(x: View, m: Math, rival: int) -> Scalar:
    """A lower bound on the exact score of the candidate minus that of the rival."""
    i = x.candidate
    difference = [a - b for a, b in zip(x.rows[i], x.rows[rival], strict=True)]
    centre = m.sum(w * h for w, h in zip(difference, x.hidden_hat, strict=True)) + x.scores_hat[i] - x.scores_hat[rival]
    spread = m.sqrt(m.sum(w * w for w in difference)) * x.hidden_radius
    return centre - spread - x.radii[i] - x.radii[rival]


def tie_wins(bound: Scalar, m: Math) -> Scalar:
    """The bound itself, but 1 in place of an exact 0: a rival with a larger index loses ties."""
    return m.where((bound >= 0) & (bound <= 0), 1, bound)
