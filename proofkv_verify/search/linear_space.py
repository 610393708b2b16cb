"""Search spaces of the quantizer and argmax kinds."""

from __future__ import annotations

from random import Random

import torch

from proofkv_verify.search.space import Draw, Latent, Regime, Space, Structure, Tensors, ball_point, norm


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
        g = away / norm(away).clamp_min(1e-300).unsqueeze(-1)
        centre = draw.choice((h,), (-1.0, 0.0, 0.3, 1.0)) * (style != "narrow")
        return {"scores": scores, "radii": radii, "rows": rows, "centre": centre, "radius": radius, "u": u, "g": g}

    return draw_latents


def _argmax_scores(
    draw: Draw, vocab: int, candidate: int, style: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, radii and hidden radius; "ties": exact and often equal, "narrow": margins and radii far below 1."""
    if style == "ties":
        zero = torch.zeros(draw.batch, vocab, dtype=torch.float64)
        scores = draw.choice((vocab,), (0.0, 0.0, 0.0, -1.0))
        return scores, draw.per_case([zero, draw.choice((vocab,), (0.0, 0.5))]), zero[:, 0]
    scores = draw.uniform((vocab,), -1, 1)
    scores[:, candidate] = draw.uniform((), 0, 3)
    radii = draw.choice((vocab,), (0.0, 0.3, 1.0)) * draw.uniform((1,), 0, 2)
    size = 10.0 ** -draw.uniform((1,), 3, 12) if style == "narrow" else torch.ones(draw.batch, 1, dtype=torch.float64)
    return scores * size, radii * size, draw.choice((), (0.0, 0.3, 1.0)) * size[:, 0]


LINEAR_SPACES = {
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
        {style: _argmax_regime(style) for style in ("near", "ties", "narrow")},
    ),
}
