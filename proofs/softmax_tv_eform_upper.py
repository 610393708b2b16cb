"""The exponential form: the square behind Z >= 1/A, and the step from ratios to differences."""

import sympy
import z3

r, A = sympy.symbols("r A", positive=True)

IDENTITIES = {
    "step 2: a square": 1 / r - 2 / A + r / A**2 - (1 - r / A) ** 2 / r,
    "the mean bound is no larger for A <= 2": (A**2 - 1) / 2 - (1 - 1 / A) - (A - 1) ** 2 * (A + 2) / (2 * A),
}

x, y, Az = z3.Reals("x y A")

QUERIES = {
    "step 4": ([y >= 1, x * y >= 1, x <= y], z3.Or(x - 1 > y - 1, 1 - x > y - 1)),
    "the mean bound is no larger for A > 2": ([Az > 2], 2 * Az * Az > (Az * Az - 1) * (Az * Az + 4)),
}
