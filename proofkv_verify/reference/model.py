"""The Llama-style decoder model in balls: one step of one token over earlier rows, every intermediate enclosed.

Order of operations: x = embedding; per layer h = gain * x / sqrt(mean(x^2) + eps), queries and keys turned by RoPE,
attention over the earlier rows and the token's own (not rounded) row, residual add, RMSNorm, silu(W1 h) * (W3 h) into
W2,
residual add. Scores are (gain * head) x, the logits times the RMS of the last residual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat, fmpq

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.matrix import column, identity, matrix, root, stack, total
from proofkv_verify.reference.rope import Rope, cos_sin

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes and constants of the model."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    theta: Fraction
    eps: Fraction


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights with the norms' gains folded in: wq and wo per query head, wk and wv per KV head."""

    wq: tuple[arb_mat, ...]
    wk: tuple[arb_mat, ...]
    wv: tuple[arb_mat, ...]
    wo: tuple[arb_mat, ...]
    w1: arb_mat
    w3: arb_mat
    w2: arb_mat


@dataclass(frozen=True, slots=True)
class Model:
    """A model of balls; embedding rows are floats."""

    sizes: Sizes
    layers: tuple[Layer, ...]
    embedding: Rows
    head: arb_mat


@dataclass(frozen=True, slots=True)
class Head:
    """One query head's numbers: query, all rows read (own last), weights, output."""

    q: arb_mat
    keys: arb_mat
    values: arb_mat
    p: list[arb]
    o: arb_mat


@dataclass(frozen=True, slots=True)
class LayerStep:
    """What one layer computed: columns x, mid, after; RMS of both norms; turned weights; heads; gate and up."""

    x: arb_mat
    rho: arb
    wq: tuple[arb_mat, ...]
    wk: tuple[arb_mat, ...]
    heads: tuple[Head, ...]
    mid: arb_mat
    rho2: arb
    u: list[arb]
    g: list[arb]
    after: arb_mat


def build(sizes: Sizes, tensors: Mapping[str, Rows]) -> Model:
    """A model from tensors by name, each a list of rows (a gain is one row).

    Raises:
        InvalidInputError: a tensor is missing.
    """
    layers = tuple(_layer(sizes, tensors, f"layers.{i}.") for i in range(sizes.layers))
    head = _folded(_need(tensors, "head"), _need(tensors, "gain_final")[0])
    return Model(sizes, layers, _need(tensors, "embedding"), head)


def _need(tensors: Mapping[str, Rows], name: str) -> Rows:
    if name not in tensors:
        raise InvalidInputError("model", f"a tensor {name}", "none")
    return tensors[name]


def _folded(rows: Rows, gain: Sequence[float]) -> arb_mat:
    return matrix([[arb(w) * arb(g) for w, g in zip(row, gain, strict=True)] for row in rows])


def _layer(sizes: Sizes, tensors: Mapping[str, Rows], prefix: str) -> Layer:
    size = sizes.head_dim
    first, second = (_need(tensors, prefix + name)[0] for name in ("gain_attention", "gain_mlp"))

    def heads(name: str, count: int) -> tuple[arb_mat, ...]:
        rows = _need(tensors, prefix + name)
        return tuple(_folded(rows[h * size : (h + 1) * size], first) for h in range(count))

    out = _need(tensors, prefix + "wo")
    return Layer(
        wq=heads("wq", sizes.heads),
        wk=heads("wk", sizes.kv_heads),
        wv=heads("wv", sizes.kv_heads),
        wo=tuple(matrix([row[h * size : (h + 1) * size] for row in out]) for h in range(sizes.heads)),
        w1=_folded(_need(tensors, prefix + "w1"), second),
        w3=_folded(_need(tensors, prefix + "w3"), second),
        w2=matrix(_need(tensors, prefix + "w2")),
    )


def rotation(sizes: Sizes, position: int) -> arb_mat:
    """The half-split RoPE of one head at a position as a matrix."""
    half, size = sizes.head_dim // 2, sizes.head_dim
    turn = identity(size, 0)
    for j, (c, s) in enumerate(cos_sin(Rope(sizes.theta, size), position)):
        turn[j, j], turn[j, j + half] = c.ball, -s.ball
        turn[j + half, j], turn[j + half, j + half] = s.ball, c.ball
    return turn


def rms(x: arb_mat, eps: Fraction) -> arb:
    """sqrt(mean(x^2) + eps)."""
    mean = total([v * v for v in x.entries()]) / x.nrows()
    return root(mean + arb(fmpq(eps.numerator, eps.denominator)))


def silu(u: arb) -> arb:
    """u / (1 + exp(-u))."""
    return u / (1 + (-u).exp())


def advance(
    model: Model, token: int, position: int, keys: Sequence[Sequence[Rows]], values: Sequence[Sequence[Rows]]
) -> list[LayerStep]:
    """All layers of one step; keys and values are `[layer][KV head][row][channel]`, floats taken exactly."""
    x, steps = column(model.embedding[token]), []
    turn = rotation(model.sizes, position)
    for layer, k, v in zip(model.layers, keys, values, strict=True):
        steps.append(step := layer_step(model.sizes, layer, x, turn, ([matrix(g) for g in k], [matrix(g) for g in v])))
        x = step.after
    return steps


def layer_step(
    sizes: Sizes, layer: Layer, x: arb_mat, turn: arb_mat, rows: tuple[list[arb_mat], list[arb_mat]]
) -> LayerStep:
    """One layer of one token over earlier rows `[KV head]` of keys and values."""
    rho = rms(x, sizes.eps)
    h = x * (1 / rho)
    wq, wk = tuple(turn * w for w in layer.wq), tuple(turn * w for w in layer.wk)
    keys = [stack([k, (w * h).transpose()]) for k, w in zip(rows[0], wk, strict=True)]
    values = [stack([v, (w * h).transpose()]) for v, w in zip(rows[1], layer.wv, strict=True)]
    group = sizes.heads // sizes.kv_heads
    heads = tuple(_head(wq[i] * h, keys[i // group], values[i // group]) for i in range(sizes.heads))
    mid = x
    for w, head in zip(layer.wo, heads, strict=True):
        mid = mid + w * head.o
    rho2 = rms(mid, sizes.eps)
    h2 = mid * (1 / rho2)
    u, g = (layer.w1 * h2).entries(), (layer.w3 * h2).entries()
    after = mid + layer.w2 * column([silu(a) * b for a, b in zip(u, g, strict=True)])
    return LayerStep(x, rho, wq, wk, heads, mid, rho2, u, g, after)


def _head(q: arb_mat, keys: arb_mat, values: arb_mat) -> Head:
    scale = arb(q.nrows()).rsqrt()
    scores = [s * scale for s in (keys * q).entries()]
    top = max((s.mid() for s in scores), key=float)
    weights = [(s - top).exp() for s in scores]
    mass = total(weights)
    p = [w / mass for w in weights]
    return Head(q, keys, values, p, values.transpose() * column(p))


def scores(model: Model, last: LayerStep) -> list[arb]:
    """The score of every vocabulary row."""
    found: list[arb] = (model.head * last.after).entries()
    return found
