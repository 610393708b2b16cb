"""The fractional optimum: key identity S1, submodularity S6, one coordinate S7, rounding S8."""

import sympy
import z3

p1, p2, x1, x2, r1, r2 = sympy.symbols("p1 p2 x1 x2 r1 r2", positive=True)
a0, b0, P0, u, low, m, x, y, D, s, alpha, beta, Delta = sympy.symbols(
    "a0 b0 P0 u low m x y D s alpha beta Delta", positive=True
)
di, dj = sympy.symbols("d_i d_j", positive=True)

raised = p1 * r1 * x1 + p2 * r2 * x2
lowered = p1 * (1 - x1) / r1 + p2 * (1 - x2) / r2
odds = raised / (raised + lowered)
gains = sum(p * t * ((1 - odds) * r + odds / r) for p, t, r in ((p1, x1, r1), (p2, x2, r2)))

a, b = a0 + m * u * x, b0 - m * low * x
start, c = a0 + b0, b0 * u + a0 * low


def along(denominator: sympy.Expr, constant: sympy.Expr) -> sympy.Expr:
    """F on one class as a function of D."""
    return (u + start - (constant / denominator + denominator)) / (u - low) - P0


after = y + Delta * m * (u - low)

IDENTITIES = {
    "S1 at n = 2: (1-s) a = s b": (1 - odds) * raised - odds * lowered,
    "S1 at n = 2: sum p x g_s = s B": gains - odds * (p1 / r1 + p2 / r2),
    "S3: equal gains at alpha and beta": (
        (1 - s) * alpha + s / alpha - (1 - s) * beta - s / beta - (alpha - beta) * ((1 - s) - s / (alpha * beta))
    ),
    "S6: the second difference of 1/D": (
        1 / D
        + 1 / (D + di + dj)
        - 1 / (D + di)
        - 1 / (D + dj)
        - di * dj * (2 * D + di + dj) / (D * (D + di) * (D + dj) * (D + di + dj))
    ),
    "S7: b u + a l does not change": b * u + a * low - c,
    "S7: F as a function of D": a / (a + b) - (P0 + m * x) - along(a + b, c),
    "S7: any y with y^2 <= c is an upper value": c / D + D - 2 * y - ((D - y) ** 2 + c - y**2) / D,
    "S8: what rounding loses": along(y, y**2) - along(after, y**2) - Delta**2 * m**2 * (u - low) / after,
}

bz, Dz, ei, ej, gi, gj = z3.Reals("b D e_i e_j d_i d_j")
positive = [Dz > 0, ei > 0, ej > 0, gi > 0, gj > 0, bz >= ei + ej, bz <= Dz]

QUERIES = {
    "S6: F is submodular": (
        positive,
        bz / Dz + (bz - ei - ej) / (Dz + gi + gj) < (bz - ei) / (Dz + gi) + (bz - ej) / (Dz + gj),
    ),
}
