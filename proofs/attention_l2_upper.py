"""The two correct splits of the output error, and the range of a difference of two distributions."""

import sympy
import z3

p = sympy.symbols("p0:3", real=True)
q = sympy.symbols("q0:3", real=True)
v = sympy.symbols("v0:3", real=True)
e = sympy.symbols("e0:3", real=True)
error = sum(b * (x + y) - a * x for a, b, x, y in zip(p, q, v, e, strict=True))

IDENTITIES = {
    "first split, n = 3": error - sum((b - a) * (x + y) + a * y for a, b, x, y in zip(p, q, v, e, strict=True)),
    "second split, n = 3": error - sum((b - a) * x + b * y for a, b, x, y in zip(p, q, v, e, strict=True)),
    "step 1, n = 2": (
        ((q[0] - p[0]) * v[0] + (q[1] - p[1]) * v[1]).subs({q[1]: 1 - q[0], p[1]: 1 - p[0]})
        - (q[0] - p[0]) * (v[0] - v[1])
    ),
}

d1, d2, d3, z1, z2, z3_, wide, tv = z3.Reals("d1 d2 d3 z1 z2 z3 wide tv")
apart = [wide >= left - right for left in (z1, z2, z3_) for right in (z1, z2, z3_)]

QUERIES = {
    # Of three differences that sum to 0 one has a sign of its own; tv is its size.
    "step 1, n = 3, one coordinate, one token gains": (
        [d1 >= 0, d2 <= 0, d3 <= 0, d1 + d2 + d3 == 0, tv == d1, *apart],
        d1 * z1 + d2 * z2 + d3 * z3_ > tv * wide,
    ),
    "step 1, n = 3, one coordinate, one token loses": (
        [d1 <= 0, d2 >= 0, d3 >= 0, d1 + d2 + d3 == 0, tv == -d1, *apart],
        d1 * z1 + d2 * z2 + d3 * z3_ > tv * wide,
    ),
}
