"""The ellipsoid enclosure of one step in balls: the same theorem as the fast path, written again and simpler.

Only the token norms and the channel boxes of the sidecars are used, no page's spectral norm, and products of two kinds
of error are bounded token by token; so radii here are a little larger, and every one is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from proofkv_verify.reference.ellipsoid import DivergedError, Norm, combine, factor, norm
from proofkv_verify.reference.matrix import (
    column,
    gram_upper,
    hadamard,
    identity,
    root,
    row_lengths,
    scale,
    scale_rows,
    spectral_upper,
    square_sum,
    stack,
    total,
)
from proofkv_verify.reference.model import Head, Layer, LayerStep

SILU_SECOND, SILU_THIRD = arb(1) / 2, arb(32) / 100  # sup |silu'''| is 0.30818...


@dataclass(frozen=True, slots=True)
class Radii:
    """What is known of one KV head's earlier rows: L2 radius of each key and value, box of each key's channels."""

    key_norm: Sequence[float]
    key_box: Sequence[Sequence[float]]
    value_norm: Sequence[float]


@dataclass(frozen=True, slots=True)
class HeadTerms:
    """One head over an ellipsoid of the normalised input.

    Attributes:
        head: the nominal numbers; known: what is known of its KV head's rows.
        centred: values minus the output, a row each; jacobian: of the output by the normalised input.
        bend: B with the linear part of score i equal to (B y)_i, |y| <= 1.
        shift: change of each score by key errors at the nominal query; cross: by key error times query error.
        curve: what the exponential adds beyond its first two orders, and the normaliser's share of the first.
        change: how far the weight of each row can be from its nominal value, relative to it.
        radii: of the values, the token's own last.
    """

    head: Head
    known: Radii
    centred: arb_mat
    jacobian: arb_mat
    bend: arb_mat
    shift: list[arb]
    cross: list[arb]
    curve: list[arb]
    change: list[arb]
    radii: list[arb]


@dataclass(frozen=True, slots=True)
class AttentionHalf:
    """Attention over E(p): the norm in front, its heads, Jacobians behind the norm and of the half, its ellipsoid."""

    layer: Layer
    front: Norm
    heads: tuple[HeadTerms, ...]
    whole: arb_mat
    jacobian: arb_mat
    out: arb_mat


@dataclass(frozen=True, slots=True)
class MlpHalf:
    """The MLP over E(p): as `AttentionHalf`, with gate and up projections over the unit ball and the third order."""

    layer: Layer
    front: Norm
    gate: arb_mat
    product: arb_mat
    theta: list[arb]
    whole: arb_mat
    jacobian: arb_mat
    out: arb_mat


def attention(layer: Layer, step: LayerStep, known: Sequence[Radii], p: arb_mat) -> AttentionHalf:
    """The residual after attention.

    Raises:
        DivergedError: no finite bound was shown.
    """
    front = norm(step.x, step.rho, p)
    b, group = factor(front.out), len(step.heads) // len(step.wk)
    heads = tuple(head_terms(step, at, known[at // group], b, layer.wv[at // group]) for at in range(len(step.heads)))
    whole, parts = scale(identity(step.x.nrows()), arb(0)), []
    for wo, terms in zip(layer.wo, heads, strict=True):
        whole = whole + wo * terms.jacobian
        parts.append(wo * head_rest(terms) * wo.transpose())
    half = identity(step.x.nrows()) + whole * front.jacobian
    moved = [whole * r * whole.transpose() for r in (front.bent, front.shrunk)]
    return AttentionHalf(layer, front, heads, whole, half, combine([half * p * half.transpose(), *moved, *parts]))


def head_terms(step: LayerStep, at: int, known: Radii, b: arb_mat, wv: arb_mat) -> HeadTerms:
    """One head over normalised inputs h + b z, |z| <= 1."""
    head, wq, wk = step.heads[at], step.wq[at], step.wk[at * len(step.wk) // len(step.heads)]
    tau, n = arb(head.q.nrows()).rsqrt(), len(head.p)
    middle = head.keys.transpose() * column(head.p)
    moved = [(1 if i == n - 1 else 0) - head.p[-1] for i in range(n)]
    keys = [[k - m for k, m in zip(row, middle.entries(), strict=True)] for row in head.keys.tolist()]
    rows = arb_mat([[*row, extra] for row, extra in zip(keys, moved, strict=True)])
    turns = scale(stack([wq, head.q.transpose() * wk]), tau)
    reached = turns * b
    bend = rows * factor(reached * reached.transpose())
    dq, dk, dv = (gram_upper(w * b) for w in (wq, wk, wv))
    shift = [*(tau * v for v in _key_shift(head, known)), arb(0)]
    cross = [*(tau * dq * arb(r) for r in known.key_norm), tau * dq * dk]
    curve, change = _curve(head, row_lengths(bend), [s + c for s, c in zip(shift, cross, strict=True)])
    centred = arb_mat([[v - o for v, o in zip(row, head.o.entries(), strict=True)] for row in head.values.tolist()])
    weights = scale_rows(head.p, centred)
    jacobian = weights.transpose() * rows * turns + scale(wv, head.p[-1])
    radii = [*map(arb, known.value_norm), dv]
    return HeadTerms(head, known, centred, jacobian, bend, shift, cross, curve, change, radii)


def _key_shift(head: Head, known: Radii) -> list[arb]:
    """|q.e| for each earlier row by the smaller of box and norm."""
    q, length = [abs(x) for x in head.q.entries()], root(square_sum(head.q))
    return [
        total([a * arb(r) for a, r in zip(q, box, strict=True)]).min(length * arb(radius))
        for radius, box in zip(known.key_norm, known.key_box, strict=True)
    ]


def _curve(head: Head, lin: list[arb], loose: list[arb]) -> tuple[list[arb], list[arb]]:
    """For scores that move by at most lin + (centred) loose: what is beyond first order and (L dh)^2 / 2; the weights.

    With |x| <= eta the rest of e^x - 1 - x - (L dh)^2 / 2 is at most e^eta - 1 - eta - lin^2 / 2, and the weights'
    sum Z lies in [1, 1 + z1], which takes at most zz eta off the first order.
    """
    weighted = total([p * s for p, s in zip(head.p, loose, strict=True)])
    eta = [v + s + weighted - 2 * p * s for v, s, p in zip(lin, loose, head.p, strict=True)]
    if not all(bool(e < 8) for e in eta):
        raise DivergedError("a score moves by more than 8")
    e2 = [e.exp() - 1 - e for e in eta]
    z1 = total([p * e for p, e in zip(head.p, e2, strict=True)])
    zz = z1 / (1 + z1)
    curve = [e + zz * x - v * v / 2 for e, x, v in zip(e2, eta, lin, strict=True)]
    return curve, [(e.exp() - 1).max(1 - (1 - zz) * (-e).exp()) for e in eta]


def head_rest(terms: HeadTerms) -> arb_mat:
    """The ellipsoid of all but the Jacobian's part: segments along p_i c_i, a ball for the values, a quadratic form."""
    head = terms.head
    segment = [p * (s + c + r) for p, s, c, r in zip(head.p, terms.shift, terms.cross, terms.curve, strict=True)]
    change = [*(1 + c for c in terms.change[:-1]), terms.change[-1]]  # the own value's first order is in the Jacobian
    ball = total([p * c * r for p, c, r in zip(head.p, change, terms.radii, strict=True)])
    weights = scale_rows(head.p, terms.centred)
    inner = terms.bend * terms.bend.transpose()
    quadratic = scale(weights.transpose() * hadamard(inner, inner) * weights, arb(1) / 4)
    return combine([_segments(segment, terms.centred), identity(terms.centred.ncols(), ball * ball), quadratic])


def _segments(sizes: list[arb], centred: arb_mat) -> arb_mat:
    """The Minkowski sum of segments of the given sizes along the rows."""
    lengths = row_lengths(centred)
    size = total([s * c for s, c in zip(sizes, lengths, strict=True)])
    spread = [s / c if bool(c > 0) else arb(0) for s, c in zip(sizes, lengths, strict=True)]
    return scale(centred.transpose() * scale_rows(spread, centred), size)


def mlp(layer: Layer, step: LayerStep, p: arb_mat) -> MlpHalf:
    """The residual after the MLP.

    Raises:
        DivergedError: no finite bound was shown.
    """
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
    out = combine([half * p * half.transpose(), *moved, quadratic, cubic])
    return MlpHalf(layer, front, gate, product, theta, whole, half, out)


def enclose(
    layers: Sequence[Layer], steps: Sequence[LayerStep], known: Sequence[Sequence[Radii]]
) -> list[AttentionHalf | MlpHalf]:
    """Every half layer in order; the last one's `out` holds the last residual. `known` is `[layer][KV head]`.

    Raises:
        DivergedError: no finite bound was shown.
    """
    p, halves = identity(steps[0].x.nrows(), 0), list[AttentionHalf | MlpHalf]()
    for layer, step, radii in zip(layers, steps, known, strict=True):
        first = attention(layer, step, radii, p)
        second = mlp(layer, step, first.out)
        halves += [first, second]
        p = second.out
    return halves
