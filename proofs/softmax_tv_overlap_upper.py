"""The overlap bound: TV as one minus the common mass, and the lower bound of each token's part."""

import sympy
import z3

p1, p2, w1, w2 = sympy.symbols("p1 p2 w1 w2", positive=True)
Zs = p1 * w1 + p2 * w2

IDENTITIES = {
    "step 1: q = p w/Z has total 1": (p1 * w1 + p2 * w2) / Zs - 1,
}

x, y, r, w, A, Z = z3.Reals("x y r w A Z")
least = z3.If(x <= y, x, y)

QUERIES = {
    "step 1: the smaller of two numbers": ([x >= 0, y >= 0], 2 * least != x + y - z3.If(x >= y, x - y, y - x)),
    "step 2": ([r >= 1, A >= 1, Z > 0, Z <= A, w * r >= 1], z3.Or(r * A < 1, w * r * A < Z)),
}
