"""Planted claims that the search tests share; `mean` is the sound bound."""

from __future__ import annotations

from proofkv_verify.bounds.softmax_tv_mean_upper import mean_ratio
from proofkv_verify.claims import claim


@claim("softmax_tv", name="mean_without_condition")
def mean_without_condition(x, m):
    """1 - 1/A whatever A is."""
    return 1 - 1 / mean_ratio(x, m)


@claim("softmax_tv", name="tanh_of_mean_radius")
def tanh_of_mean_radius(x, m):
    """tanh(E c / 2), which needs exp and log."""
    e = m.exp(m.sum(p * c for p, c in zip(x.weights, x.radii, strict=True)))
    return (e - 1) / (e + 1)


@claim("softmax_tv", name="hinge_at_one_without_condition")
def hinge_at_one_without_condition(x, m):
    """E/(1 + E) with E = E(r - 1)."""
    excess = m.sum(p * m.max(r - 1, 0) for p, r in zip(x.weights, x.ratios, strict=True))
    return excess / (1 + excess)


@claim("quantizer_step", name="half_step_of_unrounded_scale")
def half_step_of_unrounded_scale(x, m):
    """Half of the divisor, whatever scale is stored."""
    return x.divisor / 2


@claim("argmax", name="ties_are_wins")
def ties_are_wins(x, m):
    """The candidate's lower end is not below any upper end."""
    gaps = [
        x.scores_hat[x.candidate] - x.radii[x.candidate] - s - r
        for j, (s, r) in enumerate(zip(x.scores_hat, x.radii, strict=True))
        if j != x.candidate
    ]
    return m.where(m.min(1, *gaps) >= 0, 1, 0) if not x.rows[0] else m.const(0)


@claim("softmax_tv", name="branching")
def branching(x, m):
    """(A - 1)/(A + 1), with a branch that only the exact arithmetic can follow."""
    a = mean_ratio(x, m)
    if a <= 1:
        return m.const(0)
    return (a - 1) / (a + 1)


PLANTED = (
    mean_without_condition,
    tanh_of_mean_radius,
    hinge_at_one_without_condition,
    half_step_of_unrounded_scale,
    ties_are_wins,
)
