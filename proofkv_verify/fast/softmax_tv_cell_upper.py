"""The dual cell certificate for given or default cells, outward-rounded."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.fast._cells import best_multiplier, cell_value, fixed_cells, over_given
from proofkv_verify.fast._rows import upper_rows
from proofkv_verify.fast._tokens import tokens_of
from proofkv_verify.fast.rounding import ieee_arithmetic


@ieee_arithmetic
def softmax_tv_cell_upper(
    logits_hat: Tensor,
    logit_radii: Tensor,
    mask: Tensor | None = None,
    *,
    cell_edges: Sequence[float] | None = None,
    cell_mu: Sequence[float] | None = None,
) -> Tensor:
    """TV <= max over cells [s0, s1] of the larger end value of s - mu s B + sum p (mu g_s - 1)_+.

    Works in float64 whatever the input.

    Args:
        logits_hat: [B, H, Q, K] compressed logits, float16 to float64.
        logit_radii: [B, H, Q, K] or broadcastable, c >= 0.
        mask: bool, broadcastable, True = attend.
        cell_edges: edges from 0 to 1; without, eleven fixed cells with a multiplier chosen for each row.
        cell_mu: one multiplier a cell, the same for all rows; a negative one counts as 0.

    Returns:
        [B, H, Q] total variation bound, not below the formula; 1 where the edges do not cover [0, 1] in order;
        +inf where nothing can be said.

    Raises:
        ShapeError: not one multiplier a cell.
        InvalidInputError: only one of edges and multipliers is given, one is not finite, or an edge is outside [0, 1].

    Sound when: |s_i - s_hat_i| <= c_i for each attended token.
    Source: docs/theory.md A3.
    """
    cells = checked_cells(cell_edges, cell_mu)

    def compute(s: Tensor, c: Tensor) -> Tensor:
        t = tokens_of(s, c)

        def value(at: Tensor, mu: Tensor) -> Tensor:
            return cell_value(t, at, mu)

        if cells is None:
            return fixed_cells(t.mass_upper, value, lambda at: best_multiplier(t, at))
        return over_given(t.mass_upper, cells, value)

    return upper_rows(compute, logits_hat, logit_radii, mask)


def checked_cells(
    edges: Sequence[float] | None, mu: Sequence[float] | None
) -> tuple[Sequence[float], Sequence[float]] | None:
    """The given cells, or None for the default; the messages are those of the public functions."""
    if edges is None and mu is None:
        return None
    if edges is None or mu is None:
        raise InvalidInputError("cell_edges and cell_mu", "both or none", "one of them")
    if len(mu) < 1 or len(edges) != len(mu) + 1:
        raise ShapeError("cell_mu", "one multiplier a cell", f"{len(mu)} for {len(edges)} edges")
    for value in (*edges, *mu):
        if not abs(value) < float("inf"):
            raise InvalidInputError("cell_edges and cell_mu", "finite numbers", value)
    if any(not 0 <= edge <= 1 for edge in edges):
        raise InvalidInputError("cell_edges", "numbers in [0, 1]", list(edges))
    return edges, [max(float(value), 0.0) for value in mu]
