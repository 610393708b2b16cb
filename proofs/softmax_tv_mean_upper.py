"""The mean bound: the two cases of the sheet, for the sums a, b, h of any number of tokens."""

import sympy
import z3

a, b, h, P, A, m, Q = sympy.symbols("a b h P A m Q", positive=True)

IDENTITIES = {
    "step 2: left side": (
        (a + h) * (b + P * (a + b)) - (a + b) - (a * b + h * b + P * (a**2 + a * b + a * h + h * b) - a - b)
    ),
    "step 2: what is dropped": a**2 + a * b + a * h + h * b - (a + Q) ** 2 - a * (b + h - 2 * Q) - (h * b - Q**2),
    "step 3: a product": a * b + Q**2 - a - b + (1 - Q) * (a + Q) - (1 - a) * (Q - b),
    "step 3: the rest": P * (a + Q) ** 2 - P * (a + Q) - P * (a + Q) * (a + Q - 1),
    "step 4: difference of m/(m+1)": (
        m / (m + 1) - m / (m + Q**2) + 1 - Q - (1 - Q) * (m**2 + Q**2 + m * Q**2 - m * Q) / ((m + 1) * (m + Q**2))
    ),
    "step 5: m is at most A^2/4": A**2 / 4 - a * (A - a) - (a - A / 2) ** 2,
    "step 5: m is at most A - 1": A - 1 - a * (A - a) - (a - 1) * (a - (A - 1)),
    "step 6: the second form covers the first": A**2 / (A**2 + 4) - (A - 1) / A - (A - 2) ** 2 / (A * (A**2 + 4)),
}

az, bz, hz, Pz, mz, Qz = z3.Reals("a b h P m Q")
mass = [Pz >= 0, Qz >= 0, Pz + Qz == 1]

QUERIES = {
    "step 1: b + h is at least 2Q": ([*mass, bz > 0, hz > 0, hz * bz >= Qz * Qz], bz + hz < 2 * Qz),
    "step 3": (
        [*mass, az >= Pz, az <= 1, bz > 0, bz <= Qz],
        az * bz + Qz * Qz - az - bz + Pz * (az + Qz) * (az + Qz) < 0,
    ),
    "step 4": ([mz > 0, Qz >= 0, Qz <= 1], mz * (mz + 1) > (mz + (1 - Qz) * (mz + 1)) * (mz + Qz * Qz)),
}
