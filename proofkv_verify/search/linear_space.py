"""Search spaces of the logit, quantizer and argmax kinds."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch

from proofkv_verify.search.space import Draw, Latent, Regime, Space, Structure, Tensors, ball_point

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
    norms[:, head] = norms[:, head] + _norm(e)
    bands = [_norm(e[:, band]) + z["band_slack"][:, b] for b, band in enumerate(params["bands"])]
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


def _norm(vector: torch.Tensor) -> torch.Tensor:
    """Euclidean norm with derivative 0 at the zero vector."""
    square = vector.square().sum(-1)
    return torch.where(square > 0, square, torch.ones_like(square)).sqrt() * (square > 0)


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
    unit = z["e"] / _norm(z["e"]).clamp_min(1e-300).unsqueeze(-1)
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
    "benign": _benign_logit,
}


def _quantizer_structure(rng: Random, form: str, largest: int) -> Structure:
    return Structure("quantizer_step", form, {}, {})


def _quantizer_latents(structure: Structure) -> tuple[Latent, ...]:
    return (
        Latent("log_scale", (), -30.0, 30.0),
        Latent("mismatch", (), -0.9, 10.0),
        Latent("offset", (), -1e3, 1e3),
        Latent("offset_gap", (), -10.0, 10.0),
        Latent("code", (), -128.0, 255.0, fixed=True),
        Latent("code_min", (), -128.0, 255.0, fixed=True),
        Latent("code_max", (), -128.0, 255.0, fixed=True),
        Latent("u", (), -1.0, 1.0, vertex=True),
        Latent("beyond", (), 0.0, 1e3),
        Latent("slack_low", (), 0.0, 1e3),
        Latent("slack_high", (), 0.0, 1e3),
        Latent("roundoff", (), 0.0, 1.0),
        Latent("v", (), -1.0, 1.0, vertex=True),
    )


def _quantizer_decode(z: Tensors, structure: Structure) -> Tensors:
    scale = z["log_scale"].exp()
    divisor = scale * (1 + z["mismatch"])
    offset_out = z["offset"] + scale * z["offset_gap"]
    beyond = z["beyond"] * ((z["code"] >= z["code_max"]).double() - (z["code"] <= z["code_min"]).double())
    value = z["offset"] + divisor * (z["code"] + z["u"] / 2 + beyond)
    grid = scale * z["code"] + offset_out
    return {
        "divisor": divisor,
        "scale": scale,
        "offset_in": z["offset"],
        "offset_out": offset_out,
        "code": z["code"],
        "code_min": z["code_min"],
        "code_max": z["code_max"],
        "value_low": value - z["slack_low"],
        "value_high": value + z["slack_high"],
        "roundoff": z["roundoff"],
        "value": value,
        "restored": grid + z["roundoff"] * grid.abs() * z["v"],
    }


def _quantizer_regime(style: str) -> Regime:
    saturate = style == "saturated"

    def draw_latents(draw: Draw, structure: Structure) -> Tensors:
        low = draw.choice((), (-128.0, -127.0, 0.0, -8.0, 0.0))
        high = low + draw.choice((), (3.0, 15.0, 254.0))
        inner = (low + (high - low) * draw.uniform(())).round()
        ends = torch.where(draw.mask(()), low, high)
        code = ends if saturate else inner
        plain = draw.mask((), 0.4)
        return {
            "log_scale": draw.choice((), (0.0, 0.0, -0.6931471805599453, -4.0, -17.0)),
            "mismatch": torch.where(plain, 0.0, draw.choice((), (0.0, 2**-11, -(2**-11), 0.5, -0.25))),
            "offset": torch.where(plain, 0.0, draw.choice((), (0.0, 1.0, -3.5))),
            "offset_gap": torch.where(plain, 0.0, draw.choice((), (0.0, 0.0, 1.0, -1.0))),
            "code": code,
            "code_min": low,
            "code_max": high,
            "u": draw.per_case([draw.sign(()), draw.uniform((), -1, 1)]),
            "beyond": draw.choice((), (0.0, 1.0, 50.0)) if saturate else torch.zeros_like(low),
            "slack_low": draw.choice((), (0.0, 0.0, 1.0)),
            "slack_high": draw.choice((), (0.0, 0.0, 1.0)),
            "roundoff": draw.choice((), (0.0, 2**-11, 2**-8, 0.25)),
            "v": draw.sign(()),
        }

    return draw_latents


def _argmax_structure(rng: Random, form: str, largest: int) -> Structure:
    vocab, h = rng.choice((1, 2, 2, 3, 3, 4)), rng.choice((0, 0, 1, 2, 2, 3))
    return Structure("argmax", form, {"vocab": vocab, "h": h}, {"candidate": rng.randrange(vocab)})


def _argmax_latents(structure: Structure) -> tuple[Latent, ...]:
    s = structure.sizes
    vocab, h = (s["vocab"],), (s["h"],)
    return (
        Latent("scores", vocab, -1e3, 1e3),
        Latent("radii", vocab, 0.0, 1e3),
        Latent("rows", (*vocab, *h), -1e3, 1e3),
        Latent("centre", h, -1e3, 1e3),
        Latent("radius", (), 0.0, 1e3),
        Latent("u", vocab, -1.0, 1.0, vertex=True),
        Latent("g", h, -1.0, 1.0),
    )


def _argmax_decode(z: Tensors, structure: Structure) -> Tensors:
    return {
        "scores_hat": z["scores"],
        "radii": z["radii"],
        "rows": z["rows"],
        "hidden_hat": z["centre"],
        "hidden_radius": z["radius"],
        "score_errors": z["radii"] * z["u"],
        "hidden_error": ball_point(z["g"], z["radius"]),
    }


def _argmax_regime(style: str) -> Regime:
    def draw_latents(draw: Draw, structure: Structure) -> Tensors:
        s = structure.sizes
        vocab, h = s["vocab"], s["h"]
        candidate = structure.params["candidate"]
        rival = draw.one_of(vocab)
        u = torch.where(rival, 1.0, draw.uniform((vocab,), -1, 1))
        u[:, candidate] = -1.0
        rows = draw.choice((vocab, h), (-1.0, 0.0, 0.5, 1.0, 2.0))
        away = (rows * rival.unsqueeze(-1)).sum(1) - rows[:, candidate]
        scores, radii, radius = _argmax_scores(draw, vocab, candidate, style)
        g = away / _norm(away).clamp_min(1e-300).unsqueeze(-1)
        centre = draw.choice((h,), (-1.0, 0.0, 0.3, 1.0))
        return {"scores": scores, "radii": radii, "rows": rows, "centre": centre, "radius": radius, "u": u, "g": g}

    return draw_latents


def _argmax_scores(
    draw: Draw, vocab: int, candidate: int, style: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, radii and hidden radius; in style "ties" all exact and often equal."""
    if style == "ties":
        zero = torch.zeros(draw.batch, vocab, dtype=torch.float64)
        scores = draw.choice((vocab,), (0.0, 0.0, 0.0, -1.0))
        return scores, draw.per_case([zero, draw.choice((vocab,), (0.0, 0.5))]), zero[:, 0]
    scores = draw.uniform((vocab,), -1, 1)
    scores[:, candidate] = draw.uniform((), 0, 3)
    radii = draw.choice((vocab,), (0.0, 0.3, 1.0)) * draw.uniform((1,), 0, 2)
    return scores, radii, draw.choice((), (0.0, 0.3, 1.0))


LINEAR_SPACES = {
    "logit_abs": Space(
        "logit_abs",
        ("",),
        _logit_structure,
        _logit_latents,
        _logit_decode,
        {style: _logit_regime(style) for style in _LOGIT_STYLES},
    ),
    "quantizer_step": Space(
        "quantizer_step",
        ("",),
        _quantizer_structure,
        _quantizer_latents,
        _quantizer_decode,
        {style: _quantizer_regime(style) for style in ("inner", "saturated")},
    ),
    "argmax": Space(
        "argmax",
        ("",),
        _argmax_structure,
        _argmax_latents,
        _argmax_decode,
        {style: _argmax_regime(style) for style in ("near", "ties")},
    ),
}
