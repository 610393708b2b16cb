"""Search space of attention weights: logits a, log radii c, positions u of the tilts, in three forms of data.

Each tilt is exp(c u) with u in [-1, 1]: the whole box, its vertices at u = +-1. Value errors of the output kinds are
positions in a ball or a box in the same way.
"""

from __future__ import annotations

from math import log
from random import Random

import torch

from proofkv_verify.search.space import Draw, Latent, Regime, Space, Structure, Tensors, ball_point

_TOP = 700.0  # exp overflows beyond
_FORMS = ("ratio", "interval", "logit")
_OPTIONAL = ("previous_weights", "outside_weights", "kappas", "bin_edges")
_OUTPUT = ("attention_l2", "attention_linf")


def _structure_of(kind: str, rng: Random, form: str, largest: int) -> Structure:
    n = rng.choice([size for size in (1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8) if size <= largest])
    sizes = {"n": n}
    if kind in _OUTPUT:
        return Structure(kind, form, {**sizes, "d": rng.choice((1, 1, 2, 3))}, {})
    cells = rng.choice((1, 2, 4))
    sizes |= {"k": rng.choice((0, 1, 3)), "grid": rng.choice((1, 2, 3)), "edges": rng.choice((1, 2, 4))}
    sizes |= {"cells": cells, "cell_edges": cells + 1}
    return Structure(kind, form, sizes, {"pages": _pages(rng, n)}, _absent(rng))


def _absent(rng: Random) -> tuple[str, ...]:
    """Optional fields left out: a bound then chooses its own free parameters, usually better ones."""
    cells = rng.choice((("cell_edges", "cell_mu"), ("cell_edges", "cell_mu"), ("cell_mu",), ()))
    return (*cells, *(name for name in _OPTIONAL if rng.random() < 0.35))


def _pages(rng: Random, n: int) -> list[list[int]]:
    """A partition of the tokens into consecutive pages, of every size from one token up."""
    cuts = sorted(rng.sample(range(1, n), rng.randint(0, n - 1)))
    return [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


def _latents(structure: Structure) -> tuple[Latent, ...]:
    sizes = structure.sizes
    n = (sizes["n"],)
    found = [Latent("a", n, -740.0, 0.0), Latent("c", n, 0.0, _TOP / 2), Latent("u", n, -1.0, 1.0, vertex=True)]
    if structure.form == "interval":
        found.append(Latent("b", n, -_TOP / 2, _TOP / 2))
    if structure.kind in _OUTPUT:
        nd = (sizes["n"], sizes["d"])
        nu = Latent("nu", n if structure.kind == "attention_l2" else nd, 0.0, 1e6)
        return (*found, Latent("v", nd, -1e6, 1e6), nu, Latent("g", nd, -1.0, 1.0, vertex=True))
    found += [Latent("previous", n, -_TOP, 0.0), Latent("outside", (sizes["k"],), -_TOP, _TOP)]
    found += [Latent("kappa", (sizes["grid"],), -3.0, 30.0), Latent("bin", (sizes["edges"],), -3.0, 30.0)]
    found.append(Latent("cell", (sizes["cell_edges"],), 0.0, 1.0))
    return (*found, Latent("mu", (sizes["cells"],), 0.0, 1e6))


def _decode(z: Tensors, structure: Structure) -> Tensors:
    a, c, u = z["a"], z["c"], z["u"]
    top = a.amax(-1, keepdim=True)
    if structure.form == "logit":
        fields = {"logits_hat": a, "logit_radii": c, "logits": a + c * u}
    elif structure.form == "ratio":
        fields = {"weights": (a - top).exp(), "ratios": c.exp(), "tilts": (c * u).exp()}
    else:
        b = z["b"]
        ends = {"lower": (b - c).exp(), "upper": (b + c).exp(), "tilts": (b + c * u).exp()}
        fields = {"weights": (a - top).exp(), **ends}
    return fields | (_decode_values(z, structure) if structure.kind in _OUTPUT else _decode_extras(z, structure))


def _decode_values(z: Tensors, structure: Structure) -> Tensors:
    if structure.kind == "attention_linf":
        return {"values_hat": z["v"], "value_box": z["nu"], "value_errors": z["nu"] * z["g"]}
    return {"values_hat": z["v"], "value_radii": z["nu"], "value_errors": ball_point(z["g"], z["nu"])}


def _decode_extras(z: Tensors, structure: Structure) -> Tensors:
    found = {
        "previous_weights": z["previous"].exp(),
        "outside_weights": z["outside"].exp(),
        "kappas": z["kappa"].exp(),
        "bin_edges": z["bin"].exp(),
        "cell_edges": z["cell"],
        "cell_mu": z["mu"],
    }
    return {name: tensor for name, tensor in found.items() if name not in structure.absent}


def _benign(draw: Draw, n: int) -> Tensors:
    """What random testing without thought would draw."""
    return {"a": draw.normal((n,)), "c": draw.uniform((n,), 0, 0.5), "u": draw.uniform((n,), -1, 1)}


def _wide(draw: Draw, n: int) -> Tensors:
    """Spread logits, radii of 0 or up to 8, every tilt at a vertex."""
    scale = draw.choice((1,), (0.0, 1.0, 3.0, 8.0))
    c = draw.uniform((n,), 0, 8) * draw.mask((n,))
    return {"a": draw.normal((n,)) * scale, "c": c, "u": draw.sign((n,))}


def _dominant(draw: Draw, n: int) -> Tensors:
    """One token holds nearly all mass; its own radius is small or zero."""
    main = draw.one_of(n)
    a = torch.where(main, 0.0, -draw.uniform((n,), 2, 40))
    c = torch.where(main, draw.choice((n,), (0.0, 0.5, 3.0)), draw.uniform((n,), 0, 12))
    return {"a": a, "c": c, "u": draw.sign((n,))}


def _tiny_mass(draw: Draw, n: int) -> Tensors:
    """One token of tiny mass with a radius as huge as the mass is tiny; the others have one small common radius."""
    rare = draw.one_of(n)
    depth = draw.uniform((1,), 1, 30)
    a = torch.where(rare, -depth, draw.normal((n,), 0.3))
    c = torch.where(rare, depth * draw.uniform((1,), 0.7, 1.4), draw.choice((1,), (0.0, 0.1, log(2), 2.0)))
    return {"a": a, "c": c, "u": torch.where(rare, 1.0, -1.0) * draw.sign((1,))}


def _ties(draw: Draw, n: int) -> Tensors:
    """Equal logits and equal radii; one side of the vertices."""
    level = draw.choice((1,), (0.1, log(2), 1.0, 4.0)).expand(draw.batch, n)
    return {"a": torch.zeros(draw.batch, n, dtype=torch.float64), "c": level, "u": draw.sign((n,))}


def _sharp(draw: Draw, n: int) -> Tensors:
    """One token of mass 1/(k + 1) against the rest, equal ratios k: equality in the odds bound."""
    one = draw.one_of(n)
    kappa = draw.choice((1,), (1.5, 2.0, 3.0, 9.0, 100.0))
    a = torch.where(one, 0.0, (kappa / max(n - 1, 1)).log())
    return {"a": a, "c": kappa.log().expand(draw.batch, n), "u": torch.where(one, 1.0, -1.0)}


def _one_radius(draw: Draw, n: int) -> Tensors:
    """Only one token is uncertain."""
    one = draw.one_of(n)
    c = torch.where(one, draw.uniform((n,), 0, 6), 0.0)
    return {"a": draw.normal((n,), 2.0), "c": c, "u": draw.sign((n,))}


def _subnormal(draw: Draw, n: int) -> Tensors:
    """Weights down to the smallest binary64 numbers."""
    one = draw.one_of(n)
    a = torch.where(one, 0.0, draw.uniform((n,), -740, -600))
    return {"a": a, "c": draw.choice((n,), (0.0, 1.0, 300.0)), "u": draw.sign((n,))}


def _saturated(draw: Draw, n: int) -> Tensors:
    """Radii so large that nothing is known."""
    return {"a": draw.normal((n,), 3.0), "c": draw.uniform((n,), 20, 300), "u": draw.sign((n,))}


def _narrow(draw: Draw, n: int) -> Tensors:
    """Radii far below 1 that still count."""
    size = 10.0 ** -draw.uniform((1,), 3, 9)
    return {"a": draw.normal((n,)), "c": draw.choice((n,), (0.0, 1.0)) * size, "u": draw.sign((n,))}


def _one_sided(draw: Draw, n: int) -> Tensors:
    """All tilts on one side, but not all equal; small radii."""
    side = draw.sign((1,))
    return {"a": draw.normal((n,)), "c": draw.uniform((n,), 0, 2), "u": side * draw.choice((n,), (0.0, 1.0))}


_WEIGHT_REGIMES = {
    "benign": _benign,
    "wide": _wide,
    "dominant": _dominant,
    "tiny_mass": _tiny_mass,
    "ties": _ties,
    "sharp": _sharp,
    "one_radius": _one_radius,
    "subnormal": _subnormal,
    "saturated": _saturated,
    "one_sided": _one_sided,
    "narrow": _narrow,
}


def _regime(name: str) -> Regime:
    def draw_latents(draw: Draw, structure: Structure) -> Tensors:
        z = _WEIGHT_REGIMES[name](draw, structure.sizes["n"])
        n = structure.sizes["n"]
        inner = z["c"] * draw.uniform((n,), -1, 1)
        z["b"] = draw.per_case([inner, torch.zeros_like(inner), draw.normal((n,), 2.0), draw.sign((n,)) * z["c"]])
        return z | (_draw_values(draw, structure, z) if structure.kind in _OUTPUT else _draw_extras(draw, structure))

    return draw_latents


def _draw_extras(draw: Draw, structure: Structure) -> Tensors:
    """Free parameters of bounds, mostly well formed; now and then kappas below 1, edges that decrease or leave gaps."""
    size = structure.sizes
    even = torch.linspace(0, 1, size["cell_edges"], dtype=torch.float64).expand(draw.batch, -1)
    loose = draw.uniform((size["cell_edges"],))
    inner = loose.sort(-1).values
    covering = torch.cat([torch.zeros_like(inner[:, :1]), inner[:, 1:-1], torch.ones_like(inner[:, :1])], -1)
    bins = draw.uniform((size["edges"],), 0, 8)
    kappas = draw.uniform((size["grid"],), 0, 3) * draw.mask((size["grid"],))
    return {
        "previous": draw.uniform((size["n"],), -20, 0),
        "outside": draw.uniform((size["k"],), -3, 3),
        "kappa": draw.per_case([kappas, kappas, kappas, draw.uniform((size["grid"],), -2, 1)]),
        "bin": draw.per_case([bins.sort(-1).values, bins.sort(-1).values, torch.zeros_like(bins), bins, bins - 2]),
        "cell": draw.per_case([even, covering, covering, loose]),
        "mu": draw.uniform((size["cells"],), 0, 3) * draw.choice((1,), (1.0, 1.0, 0.1)),
    }


def _draw_values(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """Values zero, aligned with the tilts, or spread; errors zero, one unit error, or all aligned with the tilts."""
    n, d = structure.sizes["n"], structure.sizes["d"]
    zero = torch.zeros(draw.batch, n, d, dtype=torch.float64)
    aligned = z["u"].unsqueeze(-1).expand(-1, -1, d).sign()
    axis = draw.one_of(d).unsqueeze(1)
    v = draw.per_case([zero, aligned * axis, aligned, draw.normal((n, d)), draw.choice((n, d), (-1.0, 0.0, 1.0))])
    shape = (n,) if structure.kind == "attention_l2" else (n, d)
    ones = draw.choice(shape, (0.0, 1.0))
    nu = draw.per_case([torch.zeros_like(ones), ones, draw.uniform(shape), torch.ones_like(ones)])
    g = draw.per_case(
        [aligned * axis, draw.sign((1, 1)) * axis.double().expand(-1, n, -1), draw.sign((n, d)), -v.sign()]
    )
    return {"v": v, "nu": nu, "g": g.clone()}


def _space(kind: str) -> Space:
    def structure(rng: Random, form: str, largest: int) -> Structure:
        return _structure_of(kind, rng, form, largest)

    regimes = {name: _regime(name) for name in _WEIGHT_REGIMES}
    return Space(kind, _FORMS, structure, _latents, _decode, regimes)


WEIGHT_SPACES = {kind: _space(kind) for kind in ("softmax_tv", *_OUTPUT)}
