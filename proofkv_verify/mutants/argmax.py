"""Planted wrong variants of the argmax certificate."""

from __future__ import annotations

from proofkv_verify.bounds.argmax_margin_lower import BOUND, pairwise_margin
from proofkv_verify.claims import Claim, claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar

_SLUG = BOUND.name


def _rivals(x: View) -> list[int]:
    return [j for j in range(len(x.rows)) if j != x.candidate]


def _centre(x: View, m: Math, row: int) -> Scalar:
    return m.sum(w * h for w, h in zip(x.rows[row], x.hidden_hat, strict=True)) + x.scores_hat[row]


def _norm(values: list[Scalar], m: Math) -> Scalar:
    return m.sqrt(m.sum(v * v for v in values))


@claim("argmax", name="argmax_not_strict", mutates=_SLUG)
def argmax_not_strict(x: View, m: Math) -> Scalar:
    """A tie counts as a win whatever the index of the rival is."""
    bounds = [pairwise_margin(x, m, j) for j in _rivals(x)]
    return m.where(m.min(1, *bounds) >= 0, 1, 0)


@claim("argmax", name="argmax_runner_up_only", mutates=_SLUG)
def argmax_runner_up_only(x: View, m: Math) -> Scalar:
    """Only the rival with the largest centre is compared; another may have a larger radius."""
    rivals = _rivals(x)
    if not rivals:
        return m.const(1)
    best, value = _centre(x, m, rivals[0]), pairwise_margin(x, m, rivals[0])
    for j in rivals[1:]:
        centre = _centre(x, m, j)
        value = m.where(centre > best, pairwise_margin(x, m, j), value)
        best = m.max(best, centre)
    return value


@claim("argmax", name="argmax_winner_norm_only", mutates=_SLUG)
def argmax_winner_norm_only(x: View, m: Math) -> Scalar:
    """margin > |w_i| e: the rival's own row is taken to be certain."""
    i = x.candidate
    spread = _norm(x.rows[i], m) * x.hidden_radius + x.radii[i]
    return m.min(1, *(_centre(x, m, i) - _centre(x, m, j) - spread - x.radii[j] for j in _rivals(x)))


@claim("argmax", name="argmax_against_compressed_rivals", mutates=_SLUG)
def argmax_against_compressed_rivals(x: View, m: Math) -> Scalar:
    """The winner's lower end against the rivals' compressed scores."""
    i = x.candidate
    lower = _centre(x, m, i) - _norm(x.rows[i], m) * x.hidden_radius - x.radii[i]
    return m.min(1, *(lower - _centre(x, m, j) for j in _rivals(x)))


@claim("argmax", name="argmax_one_radius", mutates=_SLUG)
def argmax_one_radius(x: View, m: Math) -> Scalar:
    """One radius in place of the sum of two: margin > max radius."""
    i = x.candidate
    radius = m.max(*x.radii)
    gaps = [
        _centre(x, m, i)
        - _centre(x, m, j)
        - radius
        - _norm([a - b for a, b in zip(x.rows[i], x.rows[j], strict=True)], m) * x.hidden_radius
        for j in _rivals(x)
    ]
    return m.min(1, *gaps)


@claim("argmax", name="argmax_last_row_left_out", mutates=_SLUG)
def argmax_last_row_left_out(x: View, m: Math) -> Scalar:
    """The last row of the vocabulary is not compared."""
    bounds = [pairwise_margin(x, m, j) for j in _rivals(x) if j != len(x.rows) - 1]
    return m.min(1, *bounds)


@claim("argmax", name="argmax_rows_root_sum_square", mutates=_SLUG)
def argmax_rows_root_sum_square(x: View, m: Math) -> Scalar:
    """Score radii joined as a root of squares, as if they were independent."""
    i = x.candidate
    gaps = [pairwise_margin(x, m, j) + x.radii[i] + x.radii[j] - _norm([x.radii[i], x.radii[j]], m) for j in _rivals(x)]
    return m.min(1, *gaps)


MUTANTS: tuple[Claim, ...] = (
    argmax_not_strict,
    argmax_runner_up_only,
    argmax_winner_norm_only,
    argmax_against_compressed_rivals,
    argmax_one_radius,
    argmax_last_row_left_out,
    argmax_rows_root_sum_square,
)
