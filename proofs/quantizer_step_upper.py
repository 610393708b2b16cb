"""The quantizer step: the whole statement is about scalars, so z3 decides it for all real data."""

import sympy
import z3

x, d, c, s, o_in, o_out = sympy.symbols("x d c s o_in o_out", real=True)

IDENTITIES = {
    "step 5: two grids": d * c + o_in - (s * c + o_out) - ((d - s) * c + (o_in - o_out)),
}

xz, dz, cz, sz, a, b, low, high, least, most, restored, rho = z3.Reals(
    "x d c s o_in o_out c_min c_max x_low x_high restored rho"
)


def absolute(value: z3.ArithRef) -> z3.ArithRef:
    """The absolute value."""
    return z3.If(value >= 0, value, -value)


def larger(left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
    """The larger of two numbers."""
    return z3.If(left >= right, left, right)


grid = dz * cz + a
encoder = larger(larger(dz / 2, z3.If(cz >= high, most - grid, dz / 2)), z3.If(cz <= low, grid - least, dz / 2))
stored = sz * cz + b
bound = encoder + absolute(dz - sz) * absolute(cz) + absolute(a - b) + rho * absolute(stored)
hypotheses = [
    dz > 0,
    sz > 0,
    z3.Or(cz <= low, xz - a >= dz * (cz - 1 / z3.RealVal(2))),
    z3.Or(cz >= high, xz - a <= dz * (cz + 1 / z3.RealVal(2))),
    least <= xz,
    xz <= most,
    absolute(restored - stored) <= rho * absolute(stored),
]

QUERIES = {
    "the whole statement": (hypotheses, absolute(xz - restored) > bound),
    "one scale, one offset, an inner code: half a step": (
        [*hypotheses, sz == dz, a == b, rho == 0, low < cz, cz < high],
        absolute(xz - restored) > sz / 2,
    ),
}
