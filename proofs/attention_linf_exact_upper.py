"""The exact largest coordinate error: the tilted mean against a threshold, token by token."""

import sympy
import z3

p1, p2, w1, w2, t1, t2, H = sympy.symbols("p1 p2 w1 w2 t1 t2 H", positive=True)
Z = p1 * w1 + p2 * w2

IDENTITIES = {
    "step 2 at n = 2: the mean minus H": (
        (p1 * w1 * t1 + p2 * w2 * t2) / Z - H - (p1 * w1 * (t1 - H) + p2 * w2 * (t2 - H)) / Z
    ),
}

g, v, e, box, w, low, up, t, level = z3.Reals("g v e box w l u t H")

QUERIES = {
    "step 1: the score is the largest value in the direction": (
        [z3.Or(g == 1, g == -1), e <= box, -e <= box],
        g * (v + e) > g * v + box,
    ),
    "step 2, token by token": (
        [low > 0, low <= w, w <= up],
        w * (t - level) > z3.If(t > level, up, low) * (t - level),
    ),
}
