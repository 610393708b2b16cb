"""The checker's enclosure: attacks stay inside, and for small radii it is the gradient times the radius."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from flint import arb, arb_mat
from torch import Tensor

from proofkv_verify.ball import precision
from proofkv_verify.decode.model import Cache, advance
from proofkv_verify.decode.opened import Sets
from proofkv_verify.reference import adjoint as adjoint_module
from proofkv_verify.reference import enclosure as enclosure_module
from proofkv_verify.reference.adjoint import radius
from proofkv_verify.reference.enclosure import AttentionHalf, HeadTerms, MlpHalf, Radii, enclose, head_rest, head_terms
from proofkv_verify.reference.matrix import form, matrix
from proofkv_verify.reference.model import LayerStep, Model, Sizes, build
from proofkv_verify.reference.model import advance as ball_advance
from tests.decode.harness import Step, attacks, depth, rivals, tiny_step
from tests.decode.tiny import tiny_config, tiny_tensors

F64 = torch.float64


@dataclass(frozen=True)
class Balls:
    """A step of the fast path with the same step in balls."""

    step: Step
    model: Model
    steps: list[LayerStep]


def in_balls(step: Step, seed: int, group_size: int = 2) -> Balls:
    config = tiny_config(len(step.model.layers), group_size)
    rows = {k: x.double().reshape(-1, x.shape[-1]).tolist() for k, x in tiny_tensors(config, seed).items()}
    sizes = Sizes(
        config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim, config.rope_theta,
        config.rms_norm_eps,
    )  # fmt: skip
    model = build(sizes, rows)
    keys, values = [c.keys.tolist() for c in step.caches], [c.values.tolist() for c in step.caches]
    return Balls(step, model, ball_advance(model, step.token, step.opened.num_tokens, keys, values))


def known(sets: list[Sets], scale: float = 1.0) -> list[list[Radii]]:
    return [
        [
            Radii((s.key_norm[g] * scale).tolist(), (s.key_box[g] * scale).tolist(), (s.value_norm[g] * scale).tolist())
            for g in range(len(s.key_norm))
        ]
        for s in sets
    ]


def floats(a: arb_mat) -> Tensor:
    return torch.tensor([[float(x.mid()) for x in row] for row in a.tolist()], dtype=F64)


def left(balls: Balls, halves: list[AttentionHalf | MlpHalf]) -> Iterator[str]:
    """Half layers' ellipsoids and rivals' radii that an attack or the true cache leaves."""
    step = balls.step
    pairs = [(r, step.model.head[step.nominal.token] - step.model.head[r]) for r in rivals(step, 3)]
    reach = {r: float(radius(halves, matrix([row.tolist()])).upper()) for r, row in pairs}
    nominal = [x for tr in step.nominal.layers for x in (tr.mid, tr.x)]
    for trace in [step.true, *attacks(step, step.sets, rivals(step), steps=3)]:
        after = [*(tr.x for tr in trace.layers[1:]), trace.final]
        before = [*(tr.x for tr in step.nominal.layers[1:]), step.nominal.final]
        for at, half in enumerate(halves):
            layer = at // 2
            moved = (trace.layers[layer].mid - nominal[2 * layer]) if at % 2 == 0 else after[layer] - before[layer]
            if not depth(floats(half.out), moved) <= 1:
                yield f"half {at}"
        for rival, row in pairs:
            if not bool((row @ (trace.final - step.nominal.final)).abs() <= reach[rival]):
                yield f"radius of token {rival}"


@pytest.mark.parametrize(("seed", "bits", "group_size"), [(0, 6, 2), (1, 8, 1), (2, 5, 3), (3, 10, 2)])
def test_attacks_leave_no_ball_ellipsoid_and_no_ball_radius(seed: int, bits: int, group_size: int) -> None:
    step = tiny_step(seed, bits, group_size=group_size)
    with precision(128):
        balls = in_balls(step, seed, group_size)
        halves = enclose(balls.model.layers, balls.steps, known(step.sets))
        assert list(left(balls, halves)) == []


def first_order_ratio(seed: int, group_size: int) -> float:
    """The ball radius over the gradient times the radii, for radii so small that nothing else is left."""
    step, scale = tiny_step(seed, 6, group_size=group_size), 1e-7
    row = step.model.head[step.nominal.token] - step.model.head[(step.nominal.token + 1) % 16]
    caches = [Cache(c.keys.clone().requires_grad_(), c.values.clone().requires_grad_()) for c in step.caches]
    (row @ advance(step.model, step.token, step.opened.num_tokens, caches).final).backward()
    wide = [replace(s, key_box=torch.full_like(s.key_box, 1e3)) for s in step.sets]
    exact = torch.zeros((), dtype=F64)
    for cache, sets in zip(caches, wide, strict=True):
        for variable, norm in ((cache.keys, sets.key_norm), (cache.values, sets.value_norm)):
            assert variable.grad is not None
            exact = exact + (variable.grad.norm(dim=-1) * norm).sum() * scale
    with precision(128):
        balls = in_balls(step, seed, group_size)
        small = [
            [Radii(r.key_norm, [[1e3] * 4] * len(r.key_norm), r.value_norm) for r in layer]
            for layer in known(wide, scale)
        ]
        halves = enclose(balls.model.layers, balls.steps, small)
        return float(radius(halves, matrix([row.tolist()])).mid()) / float(exact)


@pytest.mark.parametrize("group_size", [1, 2, 3])
def test_the_ball_radius_of_small_errors_is_the_gradient_times_the_radius(group_size: int) -> None:
    assert 1 <= first_order_ratio(2, group_size) < 1.001


# One head, with errors so large that the second order counts


@dataclass(frozen=True)
class Sampled:
    """One head of a tiny step as a function of its input's change and its rows' errors, over z in a ball and radii."""

    step: Step
    b: Tensor
    norms: Tensor
    own: float

    def output(self, dh: Tensor, errors: Tensor) -> Tensor:
        tr, layer = self.step.nominal.layers[1], self.step.model.layers[1]
        moved = dh * self.own
        keys = torch.cat([tr.keys[1, :-1] + errors[0], (tr.wk[1] @ (tr.h + moved))[None]])
        values = torch.cat([tr.values[1, :-1] + errors[1], (layer.wv[1] @ (tr.h + moved))[None]])
        return (keys @ (tr.wq[2] @ (tr.h + dh)) * 0.5).softmax(-1) @ values

    def farthest(self, a: Tensor, jacobian: Tensor, z: Tensor) -> Tensor:
        """|a (o' - o - J dh)| after a few Frank-Wolfe steps from z."""
        errors = torch.zeros(2, self.norms.shape[1], 4, dtype=F64)
        start, best = self.output(torch.zeros(16, dtype=F64), errors), torch.zeros((), dtype=F64)
        sign = 1.0
        for at in range(10):
            leaves = z.clone().requires_grad_(), errors.clone().requires_grad_()
            dh = self.b @ leaves[0]
            moved = a @ (self.output(dh, leaves[1]) - start - jacobian @ dh)
            best = torch.maximum(best, moved.detach().abs())
            sign = float(moved.detach().sign()) if at == 2 else sign
            (moved * sign).backward()
            grads = [leaf.grad for leaf in leaves]
            z = torch.nn.functional.normalize(grads[0], dim=0)
            errors = torch.nn.functional.normalize(grads[1], dim=-1) * self.norms[..., None]
        return best


# width of the input's set, radii of keys and values, and whether the own row moves: each term is the largest in one
REGIMES = (
    (0.12, 0, 0, 1), (0.01, 0, 0, 0), (0, 0.6, 0.6, 1), (0, 0.02, 0, 1), (0, 0.2, 6, 1), (0.06, 0.3, 0.3, 1),
    (0.01, 0.8, 0.1, 1),
)  # fmt: skip


def head_faults(change: Callable[[HeadTerms], HeadTerms] = lambda terms: terms) -> list[str]:
    """How a head's output leaves what its terms allow, by direction and as a set."""
    step, generator, found = tiny_step(1, 6), torch.Generator().manual_seed(8), []
    n = len(step.sets[1].key_norm[1])
    noise = [torch.randn(16, 16, generator=generator, dtype=F64), torch.rand(2, n, generator=generator, dtype=F64)]
    with precision(128):
        balls = in_balls(step, 1)
        for regime in REGIMES:
            width, keys, values, own = regime
            at = Sampled(step, noise[0] * width, noise[1] * torch.tensor([[keys], [values]], dtype=F64), own)
            terms = change(terms_of(balls, at))
            jacobian, rest = floats(terms.jacobian), floats(head_rest(terms))
            for a in torch.randn(4, 4, generator=generator, dtype=F64):
                line = matrix([a.tolist()])
                by_line = adjoint_module._rest(terms, line) + adjoint_module._first_order([terms], [line])
                z = torch.nn.functional.normalize(torch.randn(16, generator=generator, dtype=F64), dim=0)
                moved = at.farthest(a, jacobian, z)
                found += [f"line at {regime}"] * (not bool(moved <= float(by_line.upper())))
                found += [f"set at {regime}"] * (not bool(moved**2 <= a @ rest @ a))
    return found


def terms_of(balls: Balls, at: Sampled) -> HeadTerms:
    """The terms of head 2 in layer 1, which reads KV head 1."""
    rows = Radii(at.norms[0].tolist(), [[1e3] * 4] * at.norms.shape[1], at.norms[1].tolist())
    layer_step, wv = balls.steps[1], balls.model.layers[1].wv[1]
    still = replace(layer_step, wk=tuple(w * arb(at.own) for w in layer_step.wk))
    return head_terms(still, 2, rows, matrix(at.b.tolist()), wv * arb(at.own))


def test_one_heads_terms_hold_over_its_whole_set() -> None:
    assert head_faults() == []


def test_the_product_of_a_keys_and_the_querys_error_is_attained_and_held() -> None:
    step, generator = tiny_step(1, 6), torch.Generator().manual_seed(8)
    n = len(step.sets[1].key_norm[1])
    b, norms = (torch.randn(16, 16, generator=generator, dtype=F64), torch.rand(2, n, generator=generator, dtype=F64))
    at = Sampled(step, b * 0.03, norms * 0.1, 1)
    with precision(128):
        cross = [float(c.upper()) for c in terms_of(in_balls(step, 1), at).cross]
    reached = 0.5 * torch.linalg.matrix_norm(step.nominal.layers[1].wq[2] @ at.b, 2) * at.norms[0]
    assert (reached <= torch.tensor(cross[:-1], dtype=F64)).all()
    assert (torch.tensor(cross[:-1], dtype=F64) <= reached * 1.3).all()


def dropped(name: str, index: Callable[[Any], Any]) -> Callable[[HeadTerms], HeadTerms]:
    return lambda terms: replace(terms, **{name: index(getattr(terms, name))})


NONE = [
    ("shift", lambda x: [v * 0 for v in x]),
    ("curve", lambda x: [v * 0 for v in x]),
    ("change", lambda x: [v * 0 for v in x]),
    ("jacobian", lambda x: x * 0),
    ("radii", lambda x: [v * 0 for v in x]),
    ("bend", lambda x: x * 0),
]


@pytest.mark.parametrize(("name", "index"), NONE, ids=[name for name, _ in NONE])
def test_a_term_left_out_is_noticed(name: str, index: Callable[[Any], Any]) -> None:
    assert head_faults(dropped(name, index)) != []


def test_errors_of_earlier_halves_are_carried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half taken over an exact input: what fresh errors grow into is lost."""
    step, kept = tiny_step(0, 6), enclosure_module.mlp
    with precision(128):
        balls = in_balls(step, 0)
        monkeypatch.setattr(enclosure_module, "mlp", lambda layer, at, p: kept(layer, at, p * arb("1e-6")))
        halves = enclose(balls.model.layers, balls.steps, known(step.sets))
        assert float(form(matrix([[1.0] + [0.0] * 15]), halves[0].out).mid()) > 0
        assert list(left(balls, halves)) != []
