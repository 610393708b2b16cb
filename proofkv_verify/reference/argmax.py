"""Whether a candidate is the greedy token: the first index that attains the largest exact score.

Scores are <row_j, h> + s_j where the hidden state h and the scores s are enclosed: h within a Euclidean ball
around `hidden_hat`, s_j within `radii[j]` of `scores_hat[j]`. With an empty hidden axis this is a box of scores;
with zero scores and radii it is an unembedding of an enclosed state.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Field, Kind, View
from proofkv_verify.scalar import Condition, Math, Scalar


def winning_number(x: View, m: Math) -> Scalar:
    """Positive if and only if the candidate is the first maximum of the exact scores.

    A rival with a larger index may tie: its difference counts from 1 up when it is not negative.
    """
    scores = exact_scores(x, m)
    mine = scores[x.candidate]
    numbers = [m.const(1)]
    for j, score in enumerate(scores):
        gap = mine - score
        if j < x.candidate:
            numbers.append(gap)
        elif j > x.candidate:
            numbers.append(m.where(gap >= 0, gap + 1, gap))
    return m.min(*numbers)


def exact_scores(x: View, m: Math) -> list[Scalar]:
    """The exact score of every row."""
    state = [h + e for h, e in zip(x.hidden_hat, x.hidden_error, strict=True)]
    rows = zip(x.rows, x.scores_hat, x.score_errors, strict=True)
    return [m.sum(w * h for w, h in zip(row, state, strict=True)) + s + e for row, s, e in rows]


def _derive(x: View, _m: Math) -> View:
    if not 0 <= x.candidate < len(x.rows):
        raise InvalidInputError("candidate", f"0..{len(x.rows) - 1}", x.candidate)
    return x


def _known_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    radii = [(f"radii[{j}] >= 0", r >= 0) for j, r in enumerate(x.radii)]
    return [("hidden_radius >= 0", x.hidden_radius >= 0), *radii]


def _hidden_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    square = m.sum(e * e for e in x.hidden_error)
    found = [("norm(hidden_error) <= hidden_radius", square <= x.hidden_radius * x.hidden_radius)]
    for j, (e, r) in enumerate(zip(x.score_errors, x.radii, strict=True)):
        found.append((f"abs(score_errors[{j}]) <= radii[{j}]", m.abs(e) <= r))
    return found


ARGMAX = Kind(
    name="argmax",
    doc="A positive claimed number certifies that the candidate is the first maximum of the exact scores.",
    fields=(
        Field("scores_hat", ("vocab",), "compressed scores (or zeros)"),
        Field("radii", ("vocab",), "bound of each score's own error"),
        Field("rows", ("vocab", "h"), "unembedding rows"),
        Field("hidden_hat", ("h",), "centre of the hidden state"),
        Field("hidden_radius", (), "Euclidean radius of the hidden state"),
        Field("score_errors", ("vocab",), "exact minus compressed scores", hidden=True),
        Field("hidden_error", ("h",), "exact minus centre of the hidden state", hidden=True),
    ),
    relation="decision",
    derive=_derive,
    known_premises=_known_premises,
    hidden_premises=_hidden_premises,
    truth=winning_number,
    params={"candidate": 0},
)
