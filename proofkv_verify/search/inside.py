"""Moves an instance into its premises exactly: engines propose in floats, this makes their proposals legal.

Interval-like hidden data is clamped to its known radius; a Euclidean radius that is too small grows to the norm
(rounded up), since scaling a vector would make its numbers long. Structure (sizes, parameters) and free parameters of
a bound (kappas, edges, multipliers) stay as they are: no premise speaks of them, a sound claim guards itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.search.numbers import TINIEST, clamp, on_circle, root_up

Values: TypeAlias = dict[str, Any]
Vector: TypeAlias = tuple[Fraction, ...]

_ONE, _HALF = Fraction(1), Fraction(1, 2)


def inside(instance: Instance) -> Instance:
    """The instance with the smallest changes that make every premise of its kind hold.

    Raises:
        InvalidInputError: a kind without a search space.
    """
    if instance.kind not in _INSIDE:
        raise InvalidInputError("kind", f"one of {', '.join(_INSIDE)}", instance.kind)
    values = dict(instance.fields)
    _INSIDE[instance.kind](values, instance.params)
    return Instance(instance.kind, values, instance.params)


def _weights(x: Values, _: Mapping[str, Any]) -> None:
    if "logits_hat" in x:
        x["logit_radii"] = _at_least(x["logit_radii"], Fraction(0))
        rows = zip(x["logits"], x["logits_hat"], x["logit_radii"], strict=True)
        x["logits"] = tuple(clamp(s, hat - c, hat + c) for s, hat, c in rows)
        _extras(x)
        return
    x["weights"] = _positive(x["weights"])
    if "ratios" in x:
        x["ratios"] = _at_least(x["ratios"], _ONE)
        low, high = tuple(1 / r for r in x["ratios"]), x["ratios"]
    else:
        low = x["lower"] = _positive(x["lower"])
        high = x["upper"] = tuple(max(pair) for pair in zip(low, x["upper"], strict=True))
    x["tilts"] = tuple(clamp(*row) for row in zip(x["tilts"], low, high, strict=True))
    _extras(x)


def _extras(x: Values) -> None:
    for name in ("previous_weights", "outside_weights"):
        if name in x:
            x[name] = _positive(x[name])


def _l2(x: Values, params: Mapping[str, Any]) -> None:
    _weights(x, params)
    norms = [norm_up(error) for error in x["value_errors"]]
    x["value_radii"] = tuple(max(pair) for pair in zip(x["value_radii"], norms, strict=True))


def _linf(x: Values, params: Mapping[str, Any]) -> None:
    _weights(x, params)
    x["value_box"] = tuple(_at_least(row, Fraction(0)) for row in x["value_box"])
    rows = zip(x["value_errors"], x["value_box"], strict=True)
    x["value_errors"] = tuple(_into_box(error, box) for error, box in rows)


def _logit(x: Values, params: Mapping[str, Any]) -> None:
    pairs = [on_circle(c, s) for c, s in zip(x["cos"], x["sin"], strict=True)]
    x["cos"], x["sin"] = tuple(c for c, _ in pairs), tuple(s for _, s in pairs)
    x["box_radii"] = _at_least(x["box_radii"], Fraction(0))
    error = x["key_error"] = _into_box(x["key_error"], x["box_radii"])
    head = params["query_head"] // len(x["queries"])
    norms = list(_at_least(x["norm_radii"], Fraction(0)))
    norms[head] = max(norms[head], norm_up(error))
    x["norm_radii"] = tuple(norms)
    band_norms = (norm_up(tuple(error[i] for i in band)) for band in params["bands"])
    x["band_radii"] = tuple(max(pair) for pair in zip(x["band_radii"], band_norms, strict=True))
    x["query_radius"] = max(x["query_radius"], norm_up(x["query_error"]))
    x["key_norm"] = max(x["key_norm"], norm_up(x["key_hat"]))


def _quantizer(x: Values, _: Mapping[str, Any]) -> None:
    for name in ("divisor", "scale"):
        x[name] = abs(x[name]) or _ONE
    x["roundoff"] = max(x["roundoff"], Fraction(0))
    x["code_min"] = Fraction(round(x["code_min"]))
    x["code_max"] = max(x["code_min"], Fraction(round(x["code_max"])))
    code = x["code"] = clamp(Fraction(round(x["code"])), x["code_min"], x["code_max"])
    value = x["value"]
    if code > x["code_min"]:
        value = max(value, x["offset_in"] + x["divisor"] * (code - _HALF))
    if code < x["code_max"]:
        value = min(value, x["offset_in"] + x["divisor"] * (code + _HALF))
    x["value"] = value
    x["value_low"], x["value_high"] = min(x["value_low"], value), max(x["value_high"], value)
    grid = x["scale"] * code + x["offset_out"]
    slop = x["roundoff"] * abs(grid)
    x["restored"] = clamp(x["restored"], grid - slop, grid + slop)


def _argmax(x: Values, _: Mapping[str, Any]) -> None:
    x["radii"] = _at_least(x["radii"], Fraction(0))
    x["score_errors"] = _into_box(x["score_errors"], x["radii"])
    x["hidden_radius"] = max(x["hidden_radius"], norm_up(x["hidden_error"]))


def norm_up(vector: Vector) -> Fraction:
    """A rational at or above the Euclidean norm, the norm itself if it is rational."""
    return root_up(sum((v * v for v in vector), Fraction(0)))


def _at_least(values: Vector, low: Fraction) -> Vector:
    return tuple(max(value, low) for value in values)


def _positive(values: Vector) -> Vector:
    return tuple(value if value > 0 else TINIEST for value in values)


def _into_box(values: Vector, radii: Vector) -> Vector:
    return tuple(clamp(value, -radius, radius) for value, radius in zip(values, radii, strict=True))


_INSIDE: dict[str, Callable[[Values, Mapping[str, Any]], None]] = {
    "softmax_tv": _weights,
    "attention_l2": _l2,
    "attention_linf": _linf,
    "logit_abs": _logit,
    "quantizer_step": _quantizer,
    "argmax": _argmax,
}
