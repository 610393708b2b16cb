"""The odds bound: its difference is a square."""

import sympy
import z3

k, P = sympy.symbols("k P", positive=True)
moved = k**2 * P / (1 + (k**2 - 1) * P)

IDENTITIES = {
    "step 3: q(S) has k^2 times the odds of P": moved * (1 - P) - k**2 * (1 - moved) * P,
    "step 4: the gain": moved - P - (k**2 - 1) * P * (1 - P) / (1 + (k**2 - 1) * P),
    "step 4: the difference is a square": 1 + (k**2 - 1) * P - (k + 1) ** 2 * P * (1 - P) - (1 - (k + 1) * P) ** 2,
    "step 5: equality at P = 1/(k+1)": (moved - P).subs(P, 1 / (k + 1)) - (k - 1) / (k + 1),
}

kz, Pz, p, w1, w2 = z3.Reals("k P p w1 w2")
total = p * w1 + (1 - p) * w2

QUERIES = {
    "step 4": (
        [kz >= 1, Pz >= 0, Pz <= 1],
        (kz * kz - 1) * Pz * (1 - Pz) * (kz + 1) > (kz - 1) * (1 + (kz * kz - 1) * Pz),
    ),
    "n = 2, the whole statement": (
        [kz >= 1, p > 0, p < 1, w1 > 0, w2 > 0, w1 <= kz * kz * w2, w2 <= kz * kz * w1],
        (p * w1 - p * total) * (kz + 1) > (kz - 1) * total,
    ),
}
