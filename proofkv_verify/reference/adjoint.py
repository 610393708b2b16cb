"""The radius of one score difference: pulled back through the exact Jacobians, every remainder met in its direction.

A direction a at the last residual becomes a J at the half before, and so on. A page's error of one KV head is summed
over the query heads that read it before any length is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat

from proofkv_verify.reference.ellipsoid import Norm
from proofkv_verify.reference.enclosure import AttentionHalf, HeadTerms, MlpHalf
from proofkv_verify.reference.matrix import form, root, row_lengths, scale_rows, spectral_upper, square_sum, total


def radius(halves: Sequence[AttentionHalf | MlpHalf], a: arb_mat) -> arb:
    """At least |a delta| for every error delta of the last residual that the sidecars allow; a is a row."""
    found = arb(0)
    for half in reversed(halves):
        part = _attention(half, a) if isinstance(half, AttentionHalf) else _mlp(half, a)
        found = found + part + _norm(half.front, a * half.whole)
        a = a * half.jacobian
    return found


def _norm(front: Norm, a: arb_mat) -> arb:
    return form(a, front.bent) + form(a, front.shrunk)


def _mlp(half: MlpHalf, a: arb_mat) -> arb:
    """Second order as a quadratic form of the unit ball, third order by its own."""
    w = (a * half.layer.w2).entries()
    inner = half.gate.transpose() * scale_rows(w, half.product)
    weights = [abs(x) * t for x, t in zip(w, half.theta, strict=True)]
    bent = spectral_upper(inner + inner.transpose()) / 2
    return bent + spectral_upper(half.gate.transpose() * scale_rows(weights, half.gate))


def _attention(half: AttentionHalf, a: arb_mat) -> arb:
    group = len(half.heads) // len(half.layer.wk)
    rows = [a * wo for wo in half.layer.wo]
    found = total([_rest(terms, row) for terms, row in zip(half.heads, rows, strict=True)])
    for start in range(0, len(rows), group):
        found = found + _first_order(half.heads[start : start + group], rows[start : start + group])
    return found


def _rest(terms: HeadTerms, a: arb_mat) -> arb:
    """All but the first order of keys and values: segments, the quadratic form, the change of the values' weights."""
    p, mass = terms.head.p, _mass(terms, a)
    loose = [abs(m) * (c + r) for m, c, r in zip(mass, terms.cross, terms.curve, strict=True)]
    values = total([q * c * r for q, c, r in zip(p, terms.change, terms.radii, strict=True)])
    bent = spectral_upper(terms.bend.transpose() * scale_rows(mass, terms.bend)) / 2
    return total(loose) + root(square_sum(a)) * values + bent


def _mass(terms: HeadTerms, a: arb_mat) -> list[arb]:
    """p_i (a . c_i) for each row."""
    along = (terms.centred * a.transpose()).entries()
    return [p * x for p, x in zip(terms.head.p, along, strict=True)]


def _first_order(heads: Sequence[HeadTerms], rows: Sequence[arb_mat]) -> arb:
    """Keys' errors at the nominal query and values' errors at the nominal weights, summed over a group's heads."""
    known, tau = heads[0].known, arb(heads[0].head.q.nrows()).rsqrt()
    n = len(known.key_norm)
    if n == 0:
        return arb(0)
    masses = [_mass(terms, row)[:-1] for terms, row in zip(heads, rows, strict=True)]
    keys = _mixed([[tau * m for m in mass] for mass in masses], [terms.head.q.transpose() for terms in heads])
    values = _mixed([terms.head.p[:-1] for terms in heads], rows)
    boxes = [
        total([abs(x) * arb(r) for x, r in zip(row, box, strict=True)])
        for row, box in zip(keys.tolist(), known.key_box, strict=True)
    ]
    by_norm = [length * arb(r) for length, r in zip(row_lengths(keys), known.key_norm, strict=True)]
    moved = [length * arb(r) for length, r in zip(row_lengths(values), known.value_norm, strict=True)]
    return total([x.min(y) for x, y in zip(boxes, by_norm, strict=True)]) + total(moved)


def _mixed(weights: Sequence[Sequence[arb]], rows: Sequence[arb_mat]) -> arb_mat:
    """Row i is the sum over heads of weight i times the head's row."""
    return arb_mat([[w[i] for w in weights] for i in range(len(weights[0]))]) * arb_mat([row.entries() for row in rows])
