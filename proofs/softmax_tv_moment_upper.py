"""Moment bins: a convex function lies below its chord, and the chord's sum needs mass and raised mass only."""

import sympy
import z3

L, r, R, p1, p2, r1, r2, at_l, at_r = sympy.symbols("L r R p1 p2 r1 r2 h_L h_R", positive=True)
mass, raised = p1 + p2, p1 * r1 + p2 * r2

IDENTITIES = {
    "step 3: the chord of 1/r": ((R - r) / L + (r - L) / R - (R - L) / r - (R - r) * (r - L) * (R - L) / (r * L * R)),
    "step 3 at n = 2: the chord's sum": (
        at_l * (mass * R - raised)
        + at_r * (raised - mass * L)
        - sum(p * ((R - t) * at_l + (t - L) * at_r) for p, t in ((p1, r1), (p2, r2)))
    ),
}

Lz, rz, Rz, s, mu, lam, left, right = z3.Reals("L r R s mu lambda left right")
bin_of = [Lz >= 1, rz >= Lz, Rz >= rz, s >= 0, s <= 1]


def positive_part(value: z3.ArithRef) -> z3.ArithRef:
    """The positive part."""
    return z3.If(value > 0, value, 0)


QUERIES = {
    "step 2: g_s(r) is at least (1-s) L + s/R": (
        bin_of,
        (1 - s) * rz * rz * Rz + s * Rz < ((1 - s) * Lz * Rz + s) * rz,
    ),
    "step 3: a positive part below a chord is below the chord of positive parts": (
        [lam >= 0, lam <= 1, mu <= lam * left + (1 - lam) * right],
        positive_part(mu - 1) > lam * positive_part(left - 1) + (1 - lam) * positive_part(right - 1),
    ),
}
