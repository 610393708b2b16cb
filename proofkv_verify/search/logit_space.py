"""Search space of the logit kind: heads, rotation planes, bands, radii measured on the error plus a slack."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch

from proofkv_verify.search.space import Draw, Latent, Regime, Space, Structure, Tensors, ball_point, norm

_HALF_ANGLES = (0.0, 1.0, -1.0, 0.5, 2.0, 1 / 3, -0.5, 0.41421356237309503, 1e3)


def _logit_structure(rng: Random, form: str, largest: int) -> Structure:
    d = rng.choice([size for size in (1, 2, 2, 3, 4, 4, 4, 6) if size <= max(largest, 4)])
    planes = _planes(rng, d)
    bands = _bands(rng, d, planes)
    group, kv_heads = rng.choice((1, 2, 2, 3)), rng.choice((1, 2, 2, 3))
    sizes = {"d": d, "group": group, "kv_heads": kv_heads, "planes": len(planes), "bands": len(bands)}
    params = {"planes": planes, "bands": bands, "query_head": rng.randrange(group * kv_heads)}
    return Structure("logit_abs", form, sizes, params)


def _planes(rng: Random, d: int) -> list[list[int]]:
    """Rotation planes: none, half-split, interleaved, or half-split on the first coordinates only (partial RoPE)."""
    rotary = rng.choice((0, d - d % 2, d - d % 2, max(d - 2, 0) // 2 * 2))
    half = rotary // 2
    if rng.random() < 0.5:
        return [[i, i + half] for i in range(half)]
    return [[2 * i, 2 * i + 1] for i in range(half)]


def _bands(rng: Random, d: int, planes: list[list[int]]) -> list[list[int]]:
    """A partition of the coordinates whose parts hold whole planes: one a plane or coordinate, or some joined."""
    rotated = {i for plane in planes for i in plane}
    parts = [sorted(plane) for plane in planes] + [[i] for i in range(d) if i not in rotated]
    if len(parts) > 1 and rng.random() < 0.4:
        cut = rng.randrange(1, len(parts))
        parts = [sorted(i for part in half for i in part) for half in (parts[:cut], parts[cut:])]
    return parts


def _logit_latents(structure: Structure) -> tuple[Latent, ...]:
    s = structure.sizes
    d = (s["d"],)
    return (
        Latent("queries", (s["group"], s["d"]), -1e3, 1e3),
        Latent("scale", (), 1e-3, 1e3),
        Latent("rope_factor", (), 0.1, 10.0),
        Latent("half_angle", (s["planes"],), -1e3, 1e3),
        Latent("e", d, -1e3, 1e3),
        Latent("slack", d, 0.0, 1e3),
        Latent("norm_slack", (s["kv_heads"],), 0.0, 1e3),
        Latent("band_slack", (s["bands"],), 0.0, 1e3),
        Latent("rho", (), 0.0, 1e3),
        Latent("q", d, -1.0, 1.0, vertex=True),
        Latent("key_norm", (), 0.0, 1e3),
        Latent("k", d, -1.0, 1.0, vertex=True),
    )


def _logit_decode(z: Tensors, structure: Structure) -> Tensors:
    t, e, params = z["half_angle"], z["e"], structure.params
    square = t * t
    norms = z["norm_slack"].clone()
    head = params["query_head"] // structure.sizes["group"]
    norms[:, head] = norms[:, head] + norm(e)
    bands = [norm(e[:, band]) + z["band_slack"][:, b] for b, band in enumerate(params["bands"])]
    return {
        "queries": z["queries"],
        "softmax_scale": z["scale"],
        "rope_factor": z["rope_factor"],
        "cos": (1 - square) / (1 + square),
        "sin": 2 * t / (1 + square),
        "box_radii": e.abs() + z["slack"],
        "norm_radii": norms,
        "band_radii": torch.stack(bands, -1),
        "query_radius": z["rho"],
        "key_norm": z["key_norm"],
        "key_hat": ball_point(z["k"], z["key_norm"]),
        "key_error": e,
        "query_error": ball_point(z["q"], z["rho"]),
    }


def _logit_regime(style: str) -> Regime:
    def draw_latents(draw: Draw, structure: Structure) -> Tensors:
        s = structure.sizes
        zero = torch.zeros(draw.batch, s["d"], dtype=torch.float64)
        z = {
            "queries": draw.choice((s["group"], s["d"]), (-2.0, -1.0, 0.0, 0.0, 1.0, 3.0)),
            "scale": draw.choice((), (1.0, 0.5, 0.125, 0.08838834764831845)),
            "rope_factor": draw.choice((), (1.0, 1.0, 1.1386, 2.0, 0.5)),
            "half_angle": draw.choice((s["planes"],), _HALF_ANGLES),
            "e": draw.per_case([draw.choice((s["d"],), (-1.0, 0.0, 0.0, 1.0, 0.1)), draw.normal((s["d"],))]),
            "slack": zero,
            "norm_slack": draw.choice((s["kv_heads"],), (0.0, 0.0, 5.0)),
            "band_slack": torch.zeros(draw.batch, s["bands"], dtype=torch.float64),
            "rho": draw.choice((), (0.0, 0.0, 0.2, 1.0)),
            "q": draw.per_case([draw.choice((s["d"],), (-1.0, 0.0, 1.0)), draw.uniform((s["d"],), -1, 1)]),
            "key_norm": draw.choice((), (0.0, 1.0, 7.0)),
            "k": draw.per_case([draw.choice((s["d"],), (-1.0, 0.0, 1.0)), draw.uniform((s["d"],), -1, 1)]),
        }
        return z | _LOGIT_STYLES[style](draw, structure, z)

    return draw_latents


def _aligned(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """Query error along the key error, one query heavier than the others: products of errors show."""
    heavy = draw.one_of(structure.sizes["group"]).unsqueeze(-1)
    unit = z["e"] / norm(z["e"]).clamp_min(1e-300).unsqueeze(-1)
    return {
        "queries": torch.where(heavy, z["queries"], z["queries"] / 4),
        "q": unit.clamp(-1, 1),
        "k": unit.clamp(-1, 1),
    }


def _benign_logit(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """What random testing without thought would draw."""
    s = structure.sizes
    return {
        "queries": draw.normal((s["group"], s["d"])),
        "e": draw.normal((s["d"],), 0.1),
        "slack": draw.uniform((s["d"],)),
    }


def _axis(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """One coordinate of the error only, quarter turns: rotation, pairing and band mistakes show."""
    s = structure.sizes
    one = draw.one_of(s["d"]).double()
    turned = draw.choice((s["planes"],), (0.0, 1.0, -1.0))
    query = draw.one_of(s["d"]).double().unsqueeze(1).expand(-1, s["group"], -1)
    return {"e": one * draw.choice((1,), (0.1, 1.0)), "half_angle": turned, "queries": query.clone()}


def _narrow(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """Errors far below 1 that still count: what merges narrow intervals shows."""
    size = 10.0 ** -draw.uniform((1,), 3, 15)
    return {"e": z["e"] * size, "norm_slack": torch.zeros_like(z["norm_slack"]), "rho": torch.zeros_like(z["rho"])}


def _exact_key(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """No key error at all, an uncertain query, radii zero."""
    rho = draw.choice((), (0.2, 1.0))
    return {"e": torch.zeros_like(z["e"]), "norm_slack": torch.zeros_like(z["norm_slack"]), "rho": rho}


def _corners(draw: Draw, structure: Structure, z: Tensors) -> Tensors:
    """Small integers, signs and zeros everywhere."""
    return {}


_LOGIT_STYLES: dict[str, Callable[[Draw, Structure, Tensors], Tensors]] = {
    "corners": _corners,
    "aligned": _aligned,
    "axis": _axis,
    "exact_key": _exact_key,
    "narrow": _narrow,
    "benign": _benign_logit,
}


LOGIT_SPACE = Space(
    "logit_abs",
    ("",),
    _logit_structure,
    _logit_latents,
    _logit_decode,
    {style: _logit_regime(style) for style in _LOGIT_STYLES},
)
