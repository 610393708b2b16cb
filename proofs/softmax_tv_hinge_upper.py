"""The hinge bound: the pieces above and below the clipping level, for sums over any number of tokens."""

import sympy
import z3

k, r, E, e, f, x = sympy.symbols("k r E e f x", positive=True)

IDENTITIES = {
    "step 3: a lowered token": 1 / k - 1 / r - (r - k) / (k * r),
    "step 4: the claimed value": E / (1 / k + E) - k * E / (1 + k * E),
    "step 4: cross product": E * (1 / k + e - f) - e * (1 / k + E) - (E - e - k * f * E) / k,
    "step 5: a lowered token by its excess": 1 / k - 1 / (k + x) - x / (k * (k + x)),
    "step 5: the tangent at E lies above by a square": (
        E / (k * (k + E)) + (x - E) / (k + E) ** 2 - x / (k * (k + x)) - (x - E) ** 2 / ((k + E) ** 2 * (k + x))
    ),
    "step 5: the last step": k * E / (1 + k * E) - E / (k + E) - E * (k**2 - 1) / ((1 + k * E) * (k + E)),
}

kz, Ez, ez, fz, rz, wz = z3.Reals("k E e f r w")
level = [kz >= 1, Ez >= 0, ez >= 0, fz >= 0]

QUERIES = {
    "step 3": ([kz >= 1, rz >= 1, wz > 0, wz * rz >= 1, wz * kz < 1], kz * (1 - kz * wz) > rz - kz),
    "step 4": (
        [*level, Ez <= kz, ez + kz * kz * fz <= Ez, 1 + kz * ez - kz * fz > 0],
        ez * (1 + kz * Ez) > Ez * (1 + kz * ez - kz * fz),
    ),
    "step 5": ([*level, fz * kz * (kz + Ez) <= Ez], kz * fz * (1 + kz * Ez) > kz * Ez),
}
