"""The two forms in which attention weights and their hidden tilts are given, shared by softmax and output kinds.

Order of operations: the compressed weights are normalised to p; the exact weights are p_i w_i / Z with
Z = sum p_i w_i; w_i lies in [lower_i, upper_i].

- ratio form: `weights` (positive, any common scale), `ratios` r >= 1 (then lower = 1/r, upper = r) or explicit
  `lower` and `upper`, and hidden `tilts` w;
- logit form: `logits_hat`, `logit_radii` c >= 0 and hidden `logits`: weights exp(logits_hat), ratios exp(c),
  tilts exp(logits - logits_hat).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Field, Lazy, View
from proofkv_verify.scalar import Condition, Math, Scalar

WEIGHT_FIELDS = (
    Field("weights", ("n",), "compressed attention weights, positive, any common scale", optional=True),
    Field("ratios", ("n",), "r >= 1: the exact-to-compressed weight ratio lies in [1/r, r]", optional=True),
    Field("lower", ("n",), "lower end of the weight ratio, positive", optional=True),
    Field("upper", ("n",), "upper end of the weight ratio", optional=True),
    Field("tilts", ("n",), "exact-to-compressed weight ratios", hidden=True, optional=True),
    Field("logits_hat", ("n",), "compressed logits", optional=True),
    Field("logit_radii", ("n",), "c >= 0: the logit error is at most c", optional=True),
    Field("logits", ("n",), "exact logits", hidden=True, optional=True),
)


def derive_weights(x: View, m: Math) -> View:
    """Adds normalised `weights`, `ratios`, `lower`, `upper`, `radii` = log ratios, and hidden `tilts` where seen."""
    if ("weights" in x) == ("logits_hat" in x):
        raise InvalidInputError("weights", "exactly one of weights and logits_hat", "both or none")
    return _from_weights(x, m) if "weights" in x else _from_logits(x, m)


def known_weight_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    """At least one token; weights > 0; ratios >= 1, or 0 < lower <= upper, or logit radii >= 0."""
    found: list[tuple[str, Condition]] = [("at least one token", m.const(len(x.weights)) >= 1)]
    if x.sum_to_one:
        total = m.sum(x.raw_weights)
        found.append(("weights sum to 1", (total <= 1) & (total >= 1)))
    for i, weight in enumerate(x.raw_weights):
        if "logits_hat" in x:
            found.append((f"logit_radii[{i}] >= 0", x.radii[i] >= 0))
            continue
        found.append((f"weights[{i}] > 0", weight > 0))
        if x.symmetric:
            found.append((f"ratios[{i}] >= 1", x.ratios[i] >= 1))
        else:
            found.append((f"lower[{i}] > 0", x.lower[i] > 0))
            found.append((f"lower[{i}] <= upper[{i}]", x.lower[i] <= x.upper[i]))
    return found


def tilt_premises(x: View, m: Math) -> Sequence[tuple[str, Condition]]:
    """lower <= w <= upper (ratio form: w <= r and r w >= 1; logit form: |s - s_hat| <= c)."""
    if "tilts" not in x:
        raise InvalidInputError("tilts", "the hidden tilts, or logits in the logit form", "nothing")
    found: list[tuple[str, Condition]] = []
    for i, tilt in enumerate(x.tilts):
        if "logits_hat" in x:
            gap = m.abs(x.logits[i] - x.logits_hat[i])
            found.append((f"abs(logits[{i}] - logits_hat[{i}]) <= logit_radii[{i}]", gap <= x.radii[i]))
        elif x.symmetric:
            found.append((f"1/ratios[{i}] <= tilts[{i}]", tilt * x.ratios[i] >= 1))
            found.append((f"tilts[{i}] <= ratios[{i}]", tilt <= x.ratios[i]))
        else:
            found.append((f"lower[{i}] <= tilts[{i}]", x.lower[i] <= tilt))
            found.append((f"tilts[{i}] <= upper[{i}]", tilt <= x.upper[i]))
    return found


def exact_weights(x: View, m: Math) -> list[Scalar]:
    """The exact attention weights p_i w_i / Z."""
    products = [p * w for p, w in zip(x.weights, x.tilts, strict=True)]
    total = m.sum(products)
    return [product / total for product in products]


def _from_weights(x: View, m: Math) -> View:
    symmetric = "ratios" in x
    if symmetric == ("lower" in x and "upper" in x) or ("lower" in x) != ("upper" in x):
        raise InvalidInputError("ratios", "either ratios or both lower and upper", "another set of fields")
    more: dict[str, Any] = {"symmetric": symmetric, "raw_weights": x.weights, "weights": _normalised(x.weights, x, m)}
    if symmetric:
        more |= {"upper": x.ratios, "lower": Lazy(lambda: [1 / r for r in x.ratios])}
    else:
        pairs = list(zip(x.lower, x.upper, strict=True))
        more["ratios"] = Lazy(lambda: [m.max(u, 1 / low) for low, u in pairs])
    ratios = x.extended(**more)
    return ratios.extended(radii=Lazy(lambda: [m.log(r) for r in ratios.ratios]))


def _from_logits(x: View, m: Math) -> View:
    if "logit_radii" not in x:
        raise InvalidInputError("logit_radii", "a radius for each logit", "nothing")
    top = m.max(*x.logits_hat) if x.logits_hat else m.const(0)
    weights = [m.exp(s - top) for s in x.logits_hat]
    ratios = [m.exp(c) for c in x.logit_radii]
    more: dict[str, Any] = {
        "symmetric": True,
        "raw_weights": weights,
        "weights": _normalised(weights, x, m),
        "ratios": ratios,
        "upper": ratios,
        "lower": Lazy(lambda: [1 / r for r in ratios]),
        "radii": x.logit_radii,
    }
    if "logits" in x:
        pairs = list(zip(x.logits, x.logits_hat, strict=True))
        more["tilts"] = [m.exp(s - s_hat) for s, s_hat in pairs]
    return x.extended(**more)


def _normalised(weights: list[Scalar], x: View, m: Math) -> list[Scalar]:
    if x.sum_to_one:  # then sum(weights) == 1 is a premise
        return weights
    total = m.sum(weights)
    try:
        return [w / total for w in weights]
    except ZeroDivisionError:  # then not all are positive, and that premise fails
        return weights
