"""The dual cell certificate: key identity S1 for any ends, the price of a token, and the one-cell bound A4."""

import sympy
import z3

p1, p2, x1, x2, u1, u2, l1, l2 = sympy.symbols("p1 p2 x1 x2 u1 u2 l1 l2", positive=True)
raised = p1 * u1 * x1 + p2 * u2 * x2
lowered = p1 * l1 * (1 - x1) + p2 * l2 * (1 - x2)
s = raised / (raised + lowered)
gains = sum(p * x * ((1 - s) * u + s * low) for p, x, u, low in ((p1, x1, u1, l1), (p2, x2, u2, l2)))

IDENTITIES = {
    "step 2 at n = 2: (1-s) a = s b": (1 - s) * raised - s * lowered,
    "step 2 at n = 2: sum p x g_s = s B": gains - s * (p1 * l1 + p2 * l2),
}

p, x, g, mu, t, y, z = z3.Reals("p x g mu t y z")


def positive_part(value: z3.ArithRef) -> z3.ArithRef:
    """The positive part."""
    return z3.If(value > 0, value, 0)


QUERIES = {
    "step 3, token by token": (
        [p > 0, x >= 0, x <= 1, mu >= 0, g > 0],
        p * x < mu * p * x * g - p * positive_part(mu * g - 1),
    ),
    "step 4: a positive part is convex": (
        [t >= 0, t <= 1],
        positive_part((1 - t) * y + t * z) > (1 - t) * positive_part(y) + t * positive_part(z),
    ),
    "one cell: mu l - (mu l - 1)_+ = min(1, mu l)": (
        [mu >= 0, g > 0],
        mu * g - positive_part(mu * g - 1) != z3.If(mu * g <= 1, mu * g, 1),
    ),
}
