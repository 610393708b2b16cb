"""The norm bound of a logit: three terms, each by Cauchy-Schwarz."""

import sympy
import z3

c, s, q1, q2, e1, e2, k1, k2, d1, d2 = sympy.symbols("c s q1 q2 e1 e2 k1 k2 d1 d2", real=True)


def rotated(x: sympy.Expr, y: sympy.Expr) -> sympy.Matrix:
    """One plane, turned."""
    return sympy.Matrix([c * x - s * y, s * x + c * y])


query, moved = sympy.Matrix([q1, q2]), sympy.Matrix([d1, d2])

IDENTITIES = {
    "step 1: three terms": (
        (query + moved).dot(rotated(k1 + e1, k2 + e2))
        - query.dot(rotated(k1, k2))
        - query.dot(rotated(e1, e2))
        - moved.dot(rotated(k1, k2))
        - moved.dot(rotated(e1, e2))
    ),
    "step 2: a rotation keeps the norm up to c^2 + s^2": (
        rotated(e1, e2).dot(rotated(e1, e2)) - (c**2 + s**2) * (e1**2 + e2**2)
    ),
    "step 3: Lagrange's identity, d = 2": (
        (q1**2 + q2**2) * (e1**2 + e2**2) - (q1 * e1 + q2 * e2) ** 2 - (q1 * e2 - q2 * e1) ** 2
    ),
}

qe, dk, de, norm, eps, rho, kappa = z3.Reals("qe dk de norm eps rho kappa")

QUERIES = {
    "step 4": (
        [norm >= 0, eps >= 0, rho >= 0, kappa >= 0, qe <= norm * eps, dk <= rho * kappa, de <= rho * eps],
        qe + dk + de > norm * eps + rho * (kappa + eps),
    ),
}
