"""The histogram bound: raising ratios raises the value, by a bounded amount."""

import sympy
import z3

a, b, rho = sympy.symbols("a b rho", positive=True)
before, after = a / (a + b), rho * a / (rho * a + b / rho)

IDENTITIES = {
    "step 5: the odds grow by rho^2": after * (1 - before) - rho**2 * before * (1 - after),
}

az, bz, more, less, rz = z3.Reals("a b more less rho")

QUERIES = {
    "step 2": ([az > 0, more >= az, less > 0, bz >= less], az * (more + less) > more * (az + bz)),
    "step 5": (
        [az > 0, bz > 0, rz >= 1],
        (rz * rz * az * (az + bz) - az * (rz * rz * az + bz)) * (rz + 1) > (rz - 1) * (rz * rz * az + bz) * (az + bz),
    ),
}
