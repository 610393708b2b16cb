"""The vertex rule: a set's mass increases with its own weights and decreases with the others."""

import sympy
import z3

a, b, d = sympy.symbols("a b d", positive=True)

IDENTITIES = {
    "step 2: a weight inside grows": (a + d) / (a + d + b) - a / (a + b) - b * d / ((a + d + b) * (a + b)),
    "step 2: a weight outside grows": a / (a + b + d) - a / (a + b) + a * d / ((a + b + d) * (a + b)),
}

least, most, lowest, inside, outside = z3.Reals("least most lowest inside outside")

QUERIES = {
    "step 3": (
        [inside > 0, inside <= most, lowest > 0, outside >= lowest],
        inside * (most + lowest) > most * (inside + outside),
    ),
}
