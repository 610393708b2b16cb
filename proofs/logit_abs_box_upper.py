"""The box bound of a logit: rotations keep norms, the adjoint turns the query back, the difference expands."""

import sympy
import z3

c, s, a, b, q1, q2, e1, e2, k1, k2, d1, d2 = sympy.symbols("c s a b q1 q2 e1 e2 k1 k2 d1 d2", real=True)


def rotated(x: sympy.Expr, y: sympy.Expr) -> sympy.Matrix:
    """One plane, turned."""
    return sympy.Matrix([c * x - s * y, s * x + c * y])


query, moved = sympy.Matrix([q1, q2]), sympy.Matrix([d1, d2])
back = sympy.Matrix([c * q1 + s * q2, c * q2 - s * q1])

IDENTITIES = {
    "step 1: the difference": (
        (query + moved).dot(rotated(k1 + e1, k2 + e2))
        - query.dot(rotated(k1, k2))
        - query.dot(rotated(e1, e2))
        - moved.dot(rotated(k1 + e1, k2 + e2))
    ),
    "step 2: the adjoint, for any c and s": query.dot(rotated(e1, e2)) - back.dot(sympy.Matrix([e1, e2])),
    "step 4: a rotation keeps the norm up to c^2 + s^2": (
        rotated(a, b).dot(rotated(a, b)) - (c**2 + s**2) * (a**2 + b**2)
    ),
}

q, e, r = z3.Reals("q e r")


def absolute(value: z3.ArithRef) -> z3.ArithRef:
    """The absolute value."""
    return z3.If(value >= 0, value, -value)


QUERIES = {
    "step 3, coordinate by coordinate": ([absolute(e) <= r], absolute(q * e) > absolute(q) * r),
}
