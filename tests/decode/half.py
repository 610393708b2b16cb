"""One attention half of a tiny model in exact form: its heads after given errors, and the errors that are worst."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from proofkv_verify.decode import page_radius
from proofkv_verify.decode.attention_bound import AttentionBound
from proofkv_verify.decode.attention_half import attention_half
from proofkv_verify.decode.maps import Maps, maps_of
from proofkv_verify.decode.shapes import split
from tests.decode.harness import only, tiny_step
from tests.decode.test_ellipsoid import matrix, psd

Change = Callable[["Half", Tensor, Tensor, Tensor], Tensor]
KINDS = ("norm", "box", "sigma")
DIRECTIONS = 12


@dataclass(frozen=True)
class Half:
    """An attention half with its bound, R directions at the residual stream, and the sidecar that the errors lie in."""

    maps: Maps
    bound: AttentionBound
    a: Tensor
    kind: str

    @property
    def heads(self) -> Tensor:
        """The directions at the heads' outputs `[H, R, D]`."""
        return self.a @ self.maps.layer.wo

    def known(self) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
        s = self.maps.sets
        return (s.key_norm, s.key_box, s.key_sigma), (s.value_norm, s.value_box[..., None], s.value_sigma)

    def inside(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The errors in the one sidecar that meet two gradients most."""
        sides = zip((keys, values), self.known(), strict=True)
        found = [best_error(x, known, self.maps.sets.page_size, self.kind) for x, known in sides]
        return found[0], found[1]


def tiny_maps(seed: int, kind: str = "norm", group_size: int = 2, bits: int = 6) -> Maps:
    """The second layer of a tiny model, its sets those of one sidecar."""
    step = tiny_step(seed, bits, group_size=group_size)
    return maps_of(step.model.layers[1], step.nominal.layers[1], only(step.sets, kind)[1])


def half_of(maps: Maps, size: float, kind: str = "norm", rank: int = 1, seed: int = 0, **given: bool) -> Half:
    """The half for errors of `size` times the residual stream, along `rank` directions."""
    p = psd(seed + 900, len(maps.trace.x), rank)
    p = p * (size * maps.trace.rho) ** 2 * len(p) / p.trace()
    a = matrix(seed + 50, DIRECTIONS, len(p))
    return Half(maps, attention_half(maps, p, 0.0, **given), torch.cat([a, -a]), kind)


def with_sets(maps: Maps, **change: Any) -> Maps:
    return replace(maps, sets=replace(maps.sets, **change))


def scaled(maps: Maps, keys: float, values: float) -> Maps:
    """The same half with its sidecars scaled."""
    names = [(f"{side}_{kind}", by) for side, by in (("key", keys), ("value", values)) for kind in KINDS]
    return with_sets(maps, **{name: getattr(maps.sets, name) * by for name, by in names})


def by_norm(maps: Maps, keys: Tensor, values: Tensor) -> Maps:
    """The same half with these norms, the other sidecars no sharper."""
    s, wide = maps.sets, torch.full_like(maps.sets.key_sigma, 1e3)
    return with_sets(
        maps, key_norm=keys, value_norm=values, key_box=keys[..., None].expand_as(s.key_box), value_box=values,
        key_sigma=wide, value_sigma=wide,
    )  # fmt: skip


def one_row(maps: Maps, row: int, side: str) -> Maps:
    """The same half with one row of one KV head uncertain, its `key` or its `value`."""
    none = torch.zeros_like(maps.sets.key_norm)
    norm = none.clone()
    norm[0, row] = getattr(maps.sets, f"{side}_norm")[0, row]
    return by_norm(maps, norm, none) if side == "key" else by_norm(maps, none, norm)


def changed(maps: Maps, *, still: str = "", **given: Any) -> Maps:
    """The half at another q, wq, keys or values; `still`: `k`, `v` or both name what of the own row does not move."""
    tr = replace(maps.trace, **given)
    tr = replace(tr, wk=tr.wk * ("k" not in still))
    layer = replace(maps.layer, wv=maps.layer.wv * ("v" not in still))
    p = ((tr.keys[maps.of] @ tr.q[..., None])[..., 0] * maps.scale).softmax(-1)
    return maps_of(layer, replace(tr, p=p, o=(p[:, None] @ tr.values[maps.of])[:, 0]), maps.sets)


def with_jacobians(maps: Maps, **given: Tensor) -> Maps:
    """The same half with other values of its cached Jacobians, `attention` or `mlp`."""
    found = replace(maps)
    vars(found).update(given)
    return found


def mutated(module: ModuleType, old: str, new: str) -> Any:
    """The module with one piece of its source, which must be there once, replaced."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module.__name__}"
    found = ModuleType(module.__name__)
    exec(compile(source.replace(old, new), f"<mutant of {module.__name__}>", "exec"), found.__dict__)
    return found


def with_row_sets(module: ModuleType) -> Any:
    """`page_radius` with what it takes of `row_sets` taken of this mutant of it."""
    found = mutated(page_radius, "import torch\n", "import torch\n")
    names = ("box_and_ball", "page_reach", "page_shares")
    vars(found).update({name: getattr(module, name) for name in names})
    return found


def best_error(gradient: Tensor, known: tuple[Tensor, Tensor, Tensor], size: int, kind: str) -> Tensor:
    norm, box, sigma = known
    inside = sigma.shape[-1] * size
    if kind == "norm":
        return gradient * (norm / gradient.norm(dim=-1).clamp_min(1e-300))[..., None]
    if kind == "box":
        return gradient.sign() * box
    paged = split(gradient[..., :inside, :], -2, (sigma.shape[-1], size))
    u, _, v = torch.linalg.svd(paged, full_matrices=False)
    rest = torch.zeros_like(gradient[..., inside:, :])
    return torch.cat([(u @ v * sigma[..., None, None]).flatten(-3, -2), rest], -2)


def ends(half: Half) -> Tensor:
    """The end of the longest axis of the normalised input's ellipsoid, for each direction `[R, d]`."""
    values, vectors = torch.linalg.eigh(half.bound.p_in)
    return (vectors[:, -1] * values[-1].clamp_min(0).sqrt()).expand_as(half.a)


def weights_and_rows(half: Half, dh: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """The exact weights `[R, H, n]` and values `[R, H, n, D]` at dh `[R, d]` and errors `[R, G, T, D]`."""
    m, tr = half.maps, half.maps.trace
    own = torch.stack([torch.einsum("gxd,rd->rgx", w, dh) for w in (tr.wk, m.layer.wv)])
    new_keys, new_values = (
        (rows + torch.cat([error, moved[:, :, None]], 2))[:, m.of]
        for rows, error, moved in zip((tr.keys, tr.values), (keys, values), own, strict=True)
    )
    q = tr.q + torch.einsum("hxd,rd->rhx", tr.wq, dh)
    return ((new_keys @ q[..., None])[..., 0] * m.scale).softmax(-1), new_values


def beyond_linear(half: Half, dh: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """b . (o' - o) but for what is linear in dh, summed over heads `[R]`."""
    m, tr = half.maps, half.maps.trace
    p, rows = weights_and_rows(half, dh, keys, values)
    linear = torch.einsum("hxd,rd->rhx", m.heads + tr.p[:, -1, None, None] * m.layer.wv[m.of], dh)
    change = (p[:, :, None] @ rows)[:, :, 0] - tr.o - linear
    return (change * half.heads.transpose(0, 1)).sum((1, 2))


def beyond_first(half: Half, dh: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The same but for the first order of the errors of keys and values too `[R]`."""
    m, tr = half.maps, half.maps.trace
    pad = torch.nn.functional.pad
    scores = (pad(keys, (0, 0, 0, 1))[:, m.of] @ tr.q[..., None])[..., 0] * m.scale
    first = (m.weighted.mT @ scores[..., None])[..., 0] + (tr.p[:, None] @ pad(values, (0, 0, 0, 1))[:, m.of])[:, :, 0]
    return beyond_linear(half, dh, keys, values) - (first * half.heads.transpose(0, 1)).sum((1, 2))


def attacked(
    half: Half, change: Change = beyond_linear, p: Tensor | None = None, steps: int = 6, seed: int = 0
) -> Tensor:
    """The largest change that Frank-Wolfe steps find over E(p), or the normalised input's, and the sidecar `[R]`."""
    values, vectors = torch.linalg.eigh(half.bound.p_in if p is None else p)
    factor = vectors * values.clamp_min(0).sqrt()
    z = torch.zeros_like(half.a)
    z[:, -1] = 1
    shape = (len(half.a), *half.maps.sets.key_box.shape)
    point = (z, *half.inside(matrix(seed + 1, *shape), matrix(seed + 2, *shape)))
    best = torch.zeros(len(half.a), dtype=torch.float64)
    for _ in range(steps):
        z, keys, rows = (x.clone().requires_grad_() for x in point)
        found = change(half, z @ factor.T, keys, rows)
        best = torch.maximum(best, found.detach())
        gradient = torch.autograd.grad(found.sum(), (z, keys, rows), materialize_grads=True)
        point = (torch.nn.functional.normalize(gradient[0], dim=-1), *half.inside(gradient[1], gradient[2]))
    return best


def products(half: Half, dh: Tensor) -> Tensor:
    """All products with a page error or of own key and value at dh, exactly, at errors that make them large `[R]`."""
    m, tr, groups = half.maps, half.maps.trace, len(half.maps.trace.wk)
    heads = half.heads.transpose(0, 1)
    scores = torch.einsum("hnk,hkd,rd->rhn", m.rows, m.turns, dh)
    mean = torch.einsum("rhx,hxd,rd->rh", heads, m.heads, dh)
    dq, dk = torch.einsum("hxd,rd->rhx", tr.wq, dh), torch.einsum("hxd,rd->rhx", tr.wk[m.of], dh)
    along = (heads[:, :, None] @ m.centred.mT)[:, :, 0]
    mass = tr.p * (along * (1 + scores) - mean[..., None]) * m.scale
    gradient = split(mass[..., :-1, None] * (tr.q + dq)[:, :, None], 1, (groups, -1)).sum(2)
    keys, _ = half.inside(gradient, torch.zeros_like(gradient))
    p, rows = weights_and_rows(half, dh, keys, torch.zeros_like(keys))
    met = split(p[..., :-1, None] * heads[:, :, None], 1, (groups, -1)).sum(2)
    _, values = half.inside(torch.zeros_like(met), met)
    own_value = ((p - tr.p)[..., -1:] * (rows - tr.values[m.of])[..., -1, :] * heads).sum((1, 2))
    own = (mass[..., -1] * (dq * dk).sum(-1)).sum(1) + own_value
    return (gradient * keys).sum((1, 2, 3)) + (met * values).sum((1, 2, 3)) + own


def largest_products(half: Half) -> Tensor:
    """The larger of both ends of the longest axis `[R]`."""
    return torch.maximum(products(half, ends(half)), products(half, -ends(half)))
