"""The true quantity of each kind once more, straight from an instance's fields, in plain mpmath.

Nothing here uses the kinds' functions: total variation is 1 minus the overlap, rotations are full matrices, the
greedy token is a sort. It is meant to be read beside `reference/`, as an independent statement of the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Exact, Instance


def true_quantity(instance: Instance, digits: int) -> Any:
    """The true quantity as an mpmath number, computed with `digits` decimal digits and no error bound.

    Returns:
        The quantity of the kind; for `argmax` 1 if the candidate is the first maximum, else -1.

    Raises:
        InvalidInputError: a kind without an independent formula.
    """
    if instance.kind not in _TRUTHS:
        raise InvalidInputError("kind", f"one of {', '.join(_TRUTHS)}", instance.kind)
    mp = mpmath.MPContext()
    mp.dps = digits
    fields = {name: _convert(mp, value) for name, value in instance.fields.items()}
    return _TRUTHS[instance.kind](mp, fields, instance.params)


def _convert(mp: Any, value: Exact) -> Any:
    if isinstance(value, tuple):
        return [_convert(mp, entry) for entry in value]
    return mp.mpf(value.numerator) / value.denominator


def _both_weights(mp: Any, f: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    if "logits_hat" in f:
        return _softmax(mp, f["logits_hat"]), _softmax(mp, f["logits"])
    return _shares(mp, f["weights"]), _shares(mp, [a * w for a, w in zip(f["weights"], f["tilts"], strict=True)])


def _softmax(mp: Any, logits: list[Any]) -> list[Any]:
    total = mp.log(mp.fsum(mp.exp(s) for s in logits))
    return [mp.exp(s - total) for s in logits]


def _shares(mp: Any, parts: list[Any]) -> list[Any]:
    total = mp.fsum(parts)
    return [part / total for part in parts]


def _softmax_tv(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return 1 - mp.fsum(min(a, b) for a, b in zip(*_both_weights(mp, f), strict=True))


def _output_change(mp: Any, f: dict[str, Any]) -> Any:
    compressed, exact = _both_weights(mp, f)
    stored, errors = mp.matrix(f["values_hat"]), mp.matrix(f["value_errors"])
    return mp.matrix([exact]) * (stored + errors) - mp.matrix([compressed]) * stored


def _norm(mp: Any, vector: list[Any], p: Any) -> Any:
    return mp.norm([*vector, 0], p)  # a vector of no coordinates has norm 0


def _attention_l2(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return _norm(mp, list(_output_change(mp, f)), 2)


def _attention_linf(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return _norm(mp, list(_output_change(mp, f)), mp.inf)


def _logit_abs(mp: Any, f: dict[str, Any], params: Any) -> Any:
    query = f["queries"][params.get("query_head", 0) % len(f["queries"])]
    used, stored = _column(mp, query), _column(mp, f["key_hat"])
    rotation = mp.eye(len(used))
    for (i, j), c, s in zip(params.get("planes", []), f["cos"], f["sin"], strict=True):
        rotation[i, i] = rotation[j, j] = c
        rotation[i, j], rotation[j, i] = -s, s
    rotation *= f["rope_factor"] ** 2 * f["softmax_scale"]
    exact = (used + _column(mp, f["query_error"])).T * rotation * (stored + _column(mp, f["key_error"]))
    return abs((exact - used.T * rotation * stored)[0])


def _column(mp: Any, vector: list[Any]) -> Any:
    return mp.matrix([*vector, 0])  # mpmath has no empty matrices


def _quantizer_step(_mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return max(f["value"] - f["restored"], f["restored"] - f["value"])


def _argmax(mp: Any, f: dict[str, Any], params: Any) -> Any:
    scores = mp.matrix(f["scores_hat"]) + mp.matrix(f["score_errors"])
    if f["hidden_hat"]:
        scores += mp.matrix(f["rows"]) * (mp.matrix(f["hidden_hat"]) + mp.matrix(f["hidden_error"]))
    first = sorted(range(len(scores)), key=lambda j: (-scores[j], j))[0]
    return mp.mpf(1 if first == params.get("candidate", 0) else -1)


def _element_error(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return _norm(mp, [a - b for a, b in zip(f["left"], f["right"], strict=True)], mp.inf)


def _vector_error(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return _norm(mp, [a - b for a, b in zip(f["left"], f["right"], strict=True)], 2)


def _non_finite(mp: Any, _f: dict[str, Any], params: Any) -> Any:
    return mp.mpf(0 if mp.isfinite(mp.mpf(params.get("restored") or 0)) else 1)


def _unchanged(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return mp.mpf(1 if f["left"] == f["right"] else 0)


def _stored_bytes(mp: Any, f: dict[str, Any], _params: Any) -> Any:
    return mp.fsum(f["parts"])


_TRUTHS: dict[str, Callable[[Any, dict[str, Any], Any], Any]] = {
    "quantizer_step": _quantizer_step,
    "logit_abs": _logit_abs,
    "softmax_tv": _softmax_tv,
    "attention_l2": _attention_l2,
    "attention_linf": _attention_linf,
    "argmax": _argmax,
    "element_error": _element_error,
    "vector_error": _vector_error,
    "non_finite": _non_finite,
    "unchanged": _unchanged,
    "stored_bytes": _stored_bytes,
}
