"""The argmax certificate: the margin expands, and Cauchy-Schwarz bounds what the hidden state adds."""

import sympy
import z3

wi = sympy.Matrix(sympy.symbols("wi0:2", real=True))
wj = sympy.Matrix(sympy.symbols("wj0:2", real=True))
exact = sympy.Matrix(sympy.symbols("h0:2", real=True))
centre = sympy.Matrix(sympy.symbols("g0:2", real=True))
si, sj, ei, ej = sympy.symbols("s_i s_j eta_i eta_j", real=True)

IDENTITIES = {
    "step 1, two hidden coordinates": (
        (wi.dot(exact) + si + ei)
        - (wj.dot(exact) + sj + ej)
        - ((wi - wj).dot(centre) + (wi - wj).dot(exact - centre) + si - sj + ei - ej)
    ),
}

a, b, x, y, norm, radius, margin, ni, nj, ri, rj, apart = z3.Reals("a b x y norm radius margin ni nj ri rj apart")

QUERIES = {
    "step 2, two hidden coordinates": (
        [norm >= 0, norm * norm >= a * a + b * b, radius >= 0, x * x + y * y <= radius * radius],
        a * x + b * y < -norm * radius,
    ),
    "steps 2 and 3": (
        [ri >= 0, rj >= 0, ni >= -ri, ni <= ri, nj >= -rj, nj <= rj, apart >= -margin, margin >= 0],
        apart + ni - nj < -margin - ri - rj,
    ),
}
