"""The band bound of a logit: Lagrange's identity, norms under rotation, and joining bands."""

from itertools import combinations

import sympy
import z3

q = sympy.symbols("q0:4", real=True)
v = sympy.symbols("v0:4", real=True)
c, s, Q1, Q2, R1, R2 = sympy.symbols("c s Q1 Q2 R1 R2", real=True)


def lagrange(d: int) -> sympy.Expr:
    """Norms times norms minus the squared product, minus the squares of all minors."""
    product = sum(x * y for x, y in zip(q[:d], v[:d], strict=True))
    minors = sum((q[i] * v[j] - q[j] * v[i]) ** 2 for i, j in combinations(range(d), 2))
    return sum(x**2 for x in q[:d]) * sum(y**2 for y in v[:d]) - product**2 - minors


IDENTITIES = {
    **{f"step 3: Lagrange's identity, d = {d}": lagrange(d) for d in (1, 2, 3, 4)},
    "step 4: a plane keeps its norm up to c^2 + s^2": (
        (c * v[0] - s * v[1]) ** 2 + (s * v[0] + c * v[1]) ** 2 - (c**2 + s**2) * (v[0] ** 2 + v[1] ** 2)
    ),
    "joining two bands never lowers the bound": (
        (Q1**2 + Q2**2) * (R1**2 + R2**2) - (Q1 * R1 + Q2 * R2) ** 2 - (Q1 * R2 - Q2 * R1) ** 2
    ),
}

x, y, a, b, nq, nr = z3.Reals("x y a b nq nr")

QUERIES = {
    "step 3, d = 2": ([nq >= 0, nr >= 0, x * x + y * y <= nq * nq, a * a + b * b <= nr * nr], x * a + y * b > nq * nr),
}
