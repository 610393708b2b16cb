"""The ellipsoid enclosure of one step in balls: the same theorem as the fast path, written again and simpler.

Only the token norms and the channel boxes of the sidecars are used, no page's spectral norm, and the whole second order
of a softmax stays in the tokens' segments; so radii here are a little larger, and every one is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from proofkv_verify.reference.matrix import (
    column,
    form,
    gram_upper,
    hadamard,
    identity,
    matrix,
    root,
    row_lengths,
    scale,
    scale_rows,
    spectral_upper,
    square_sum,
    stack,
    total,
    trace,
)
from proofkv_verify.reference.model import Head, Layer, LayerStep

SILU_SECOND, SILU_THIRD = arb(1) / 2, arb(32) / 100  # sup |silu'''| is 0.30818...


class DivergedError(Exception):
    """No finite bound was shown; the step is not certified."""


@dataclass(frozen=True, slots=True)
class Radii:
    """What is known of one KV head's earlier rows: L2 radius of each key and value, box of each key's channels."""

    key_norm: Sequence[float]
    key_box: Sequence[Sequence[float]]
    value_norm: Sequence[float]


def combine(parts: Sequence[arb_mat]) -> arb_mat:
    """The Minkowski sum of ellipsoids, each weighted by the root of its trace; points are skipped."""
    weights = [root(trace(p)).upper() for p in parts]
    size = total(weights)
    found = scale(parts[0], arb(0))
    for p, w in zip(parts, weights, strict=True):
        if bool(w > 0):
            found = found + scale(p, size / w)
    return found


def factor(p: arb_mat) -> arb_mat:
    """An exact lower triangular B with B B' >= P, found in floats and proved by diagonal dominance of B B' - P."""
    n, size = p.nrows(), float(trace(p).upper())
    if size == 0:
        return identity(n, 0)
    b = _cholesky([[float(x.mid()) for x in row] for row in p.tolist()], 1e-9 * size)
    found = matrix(b)
    rest = (found * found.transpose() - p).tolist()
    for i, row in enumerate(rest):
        if not bool(row[i] > total([abs(x) for j, x in enumerate(row) if j != i])):
            raise DivergedError("a matrix has no proved root")
    return found


def _cholesky(a: list[list[float]], shift: float) -> list[list[float]]:
    n = len(a)
    low = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - sum(x * y for x, y in zip(low[i][:j], low[j][:j], strict=True))
            if i == j:
                if not rest + shift > 0:
                    raise DivergedError("a matrix is not positive")
                low[i][i] = (rest + shift) ** 0.5
            else:
                low[i][j] = rest / low[j][j]
    return low


@dataclass(frozen=True, slots=True)
class Norm:
    """RMSNorm over an ellipsoid: Jacobian, ellipsoid behind it, and ellipsoids of its remainder."""

    jacobian: arb_mat
    out: arb_mat
    bent: arb_mat
    shrunk: arb_mat


def norm(x: arb_mat, rho: arb, p: arb_mat) -> Norm:
    """The change of x / rho over E(p), for tau < 0.9."""
    size = x.nrows() * rho * rho
    tau, mu = form(x.transpose(), p) / size, spectral_upper(p) / size
    if not bool(tau < arb(9) / 10):
        raise DivergedError("an RMS could vanish")
    alpha = (1 / (1 - tau) - 1).max(1 - (1 + 2 * tau + mu).rsqrt())
    beta = (mu / 2).max(tau * tau / (1 - tau))
    jacobian = scale(identity(x.nrows()) - x * scale(x.transpose(), 1 / size), 1 / rho)
    bent = scale(x * x.transpose(), (beta / rho) ** 2)
    shrunk = scale(p, (alpha / rho) ** 2)
    return Norm(jacobian, combine([jacobian * p * jacobian.transpose(), bent, shrunk]), bent, shrunk)


def attention(layer: Layer, step: LayerStep, known: Sequence[Radii], p: arb_mat) -> arb_mat:
    """The ellipsoid of the residual after attention."""
    front = norm(step.x, step.rho, p)
    b, group = factor(front.out), len(step.heads) // len(step.wk)
    whole, parts = scale(identity(step.x.nrows()), arb(0)), []
    for at in range(len(step.heads)):
        kv = at // group
        jacobian, rest = head_terms(step, at, known[kv], b, layer.wv[kv])
        whole = whole + layer.wo[at] * jacobian
        parts.append(layer.wo[at] * rest * layer.wo[at].transpose())
    half = identity(step.x.nrows()) + whole * front.jacobian
    moved = [whole * r * whole.transpose() for r in (front.bent, front.shrunk)]
    return combine([half * p * half.transpose(), *moved, *parts])


def head_terms(step: LayerStep, at: int, known: Radii, b: arb_mat, wv: arb_mat) -> tuple[arb_mat, arb_mat]:
    """One head: Jacobian of its output by the normalised input, and the ellipsoid of all else."""
    head, wq, wk = step.heads[at], step.wq[at], step.wk[at * len(step.wk) // len(step.heads)]
    tau, n = arb(head.q.nrows()).rsqrt(), len(head.p)
    middle = head.keys.transpose() * column(head.p)
    moved = [(1 if i == n - 1 else 0) - head.p[-1] for i in range(n)]
    keys = [[k - m for k, m in zip(row, middle.entries(), strict=True)] for row in head.keys.tolist()]
    rows = arb_mat([[*row, extra] for row, extra in zip(keys, moved, strict=True)])
    turns = scale(stack([wq, head.q.transpose() * wk]), tau)
    lin = row_lengths(rows * (turns * b))
    dq, dk, dv = (gram_upper(w * b) for w in (wq, wk, wv))
    shift = [tau * v for v in _key_shift(head, known, dq, dk)]
    weighted = total([p * s for p, s in zip(head.p, shift, strict=True)])
    eta = [v + s + weighted - 2 * p * s for v, s, p in zip(lin, shift, head.p, strict=True)]
    if not all(bool(e < 8) for e in eta):
        raise DivergedError("a score moves by more than 8")
    centred = [[v - o for v, o in zip(row, head.o.entries(), strict=True)] for row in head.values.tolist()]
    weights = scale_rows(head.p, arb_mat(centred))
    jacobian = weights.transpose() * rows * turns + scale(wv, head.p[-1])
    return jacobian, _head_rest(head, arb_mat(centred), shift, eta, [arb(v) for v in known.value_norm] + [dv])


def _key_shift(head: Head, known: Radii, dq: arb, dk: arb) -> list[arb]:
    """|q.e + dq.e| for each earlier row by the smaller of box and norm, and |dq.dk| for the token's own."""
    q, length = [abs(x) for x in head.q.entries()], root(square_sum(head.q))
    found = []
    for radius, box in zip(known.key_norm, known.key_box, strict=True):
        by_box = total([a * arb(r) for a, r in zip(q, box, strict=True)])
        found.append(by_box.min(length * arb(radius)) + dq * arb(radius))
    return [*found, dq * dk]


def _head_rest(head: Head, centred: arb_mat, shift: list[arb], eta: list[arb], radii: list[arb]) -> arb_mat:
    """Segments along p_i c_i for keys' errors and the second order, a ball for the values."""
    e2 = [e.exp() - 1 - e for e in eta]
    z1 = total([p * e for p, e in zip(head.p, e2, strict=True)])
    zz = z1 / (1 + z1)
    segment = [p * (s + e + zz * x) for p, s, e, x in zip(head.p, shift, e2, eta, strict=True)]
    lengths = row_lengths(centred)
    size = total([s * c for s, c in zip(segment, lengths, strict=True)])
    spread = [s / c if bool(c > 0) else arb(0) for s, c in zip(segment, lengths, strict=True)]
    segments = scale(centred.transpose() * scale_rows(spread, centred), size)
    # a true weight is at most p e^eta; the own value is in the Jacobian at p, so only its weight's change counts
    change = [e.exp() for e in eta[:-1]] + [(eta[-1].exp() - 1).max(1 - (1 - zz) * (-eta[-1]).exp())]
    ball = total([p * c * r for p, c, r in zip(head.p, change, radii, strict=True)])
    return combine([segments, identity(centred.ncols(), ball * ball)])


def mlp(layer: Layer, step: LayerStep, p: arb_mat) -> arb_mat:
    """The ellipsoid of the residual after the MLP."""
    front = norm(step.mid, step.rho2, p)
    b = factor(front.out)
    gate, up = layer.w1 * b, layer.w3 * b
    s = [1 / (1 + (-u).exp()) for u in step.u]
    first = [a * (1 + u * (1 - a)) for a, u in zip(s, step.u, strict=True)]
    second = [a * (1 - a) * (2 + u * (1 - 2 * a)) for a, u in zip(s, step.u, strict=True)]
    bend = [c * g / 2 for c, g in zip(second, step.g, strict=True)]
    product = scale_rows(first, up) + scale_rows(bend, gate)
    mixed = gate * product.transpose()
    inner = hadamard(gate * gate.transpose(), product * product.transpose()) + hadamard(mixed, mixed.transpose())
    reach, reach_up = row_lengths(gate), row_lengths(up)
    theta = [SILU_THIRD / 6 * abs(g) * r + SILU_SECOND / 2 * v for g, r, v in zip(step.g, reach, reach_up, strict=True)]
    third = spectral_upper(gate.transpose() * scale_rows(theta, gate))
    spread = [t * r * r for t, r in zip(theta, reach, strict=True)]
    w2 = layer.w2
    slope = scale_rows([a * g for a, g in zip(first, step.g, strict=True)], layer.w1)
    whole = w2 * (slope + scale_rows([u * a for u, a in zip(step.u, s, strict=True)], layer.w3))
    half = identity(step.mid.nrows()) + whole * front.jacobian
    quadratic = scale(w2 * inner * w2.transpose(), arb(1) / 2)
    cubic = scale(w2 * scale_rows(spread, w2.transpose()), third)
    moved = [whole * r * whole.transpose() for r in (front.bent, front.shrunk)]
    return combine([half * p * half.transpose(), *moved, quadratic, cubic])


def enclose(layers: Sequence[Layer], steps: Sequence[LayerStep], known: Sequence[Sequence[Radii]]) -> arb_mat:
    """The ellipsoid of the last residual; `known` is `[layer][KV head]`.

    Raises:
        DivergedError: no finite bound was shown.
    """
    p = identity(steps[0].x.nrows(), 0)
    for layer, step, radii in zip(layers, steps, known, strict=True):
        p = mlp(layer, step, attention(layer, step, radii, p))
    return p
