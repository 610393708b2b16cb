"""Exact instances of an audit's logits, weights and outputs.

The radii of an instance are the true errors, so that its premises hold whatever the scheme declared: the claimed
number is recorded on its own, and it is that number which the instance judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import cast

import torch

from proofkv_verify.audit.attention import Attention
from proofkv_verify.audit.witness import exact
from proofkv_verify.exact import lift_tensor
from proofkv_verify.kinds import Exact, Instance

Row = tuple[int, int, int]
"""Batch row, query head, query index."""
Vector = tuple[Fraction, ...]


def logit_instance(part: Attention, row: Row, token: int, query: torch.Tensor) -> Instance:
    """The change of one logit under a query, without the coordinates in which the query is 0."""
    case = part.trial.case
    batch, head, _ = row
    kv = kv_head(part, head)
    q, k, k_hat = (vector(t) for t in (query, case.keys[batch, kv, token], part.trial.keys_hat[batch, kv, token]))
    keep = [i for i, x in enumerate(q) if x != 0] or [0]
    error = tuple(k[i] - k_hat[i] for i in keep)
    known = tuple(k_hat[i] for i in keep)
    fields: dict[str, Exact] = {
        "queries": (tuple(q[i] for i in keep),),
        "softmax_scale": case.softmax_scale,
        "rope_factor": Fraction(1),
        "cos": (),
        "sin": (),
        "band_radii": (),
        "box_radii": tuple(abs(e) for e in error),
        "norm_radii": (norm_up(error),),
        "query_radius": Fraction(0),
        "key_norm": norm_up(known),
        "key_hat": known,
        "key_error": error,
        "query_error": tuple(Fraction(0) for _ in keep),
    }
    return Instance("logit_abs", fields)


def weights_instance(part: Attention, row: Row, tokens: torch.Tensor) -> Instance:
    """Exact and computed logits of one row over some tokens."""
    return Instance("softmax_tv", _logit_fields(part, row, tokens))


def output_instance(kind: str, part: Attention, row: Row, tokens: torch.Tensor, *, centred: bool) -> Instance:
    """One row over some tokens with its values, for `attention_l2` or `attention_linf`.

    With `centred` the heaviest token's restored value is taken from all values: the true quantity stays what it is,
    and values that are all the same become exact zeros.
    """
    batch, head, _ = row
    case, kv = part.trial.case, kv_head(part, head)
    values, restored = (matrix(t[batch, kv, tokens]) for t in (case.values, part.trial.values_hat))
    errors = tuple(
        tuple(v - v_hat for v, v_hat in zip(a, b, strict=True)) for a, b in zip(values, restored, strict=True)
    )
    if centred:
        centre = restored[int(part.logits_hat[row][tokens].argmax())]
        restored = tuple(tuple(x - z for x, z in zip(v, centre, strict=True)) for v in restored)
    radii: dict[str, Exact] = (
        {"value_radii": tuple(norm_up(e) for e in errors)}
        if kind == "attention_l2"
        else {"value_box": tuple(tuple(abs(x) for x in e) for e in errors)}
    )
    return Instance(kind, {**_logit_fields(part, row, tokens), "values_hat": restored, "value_errors": errors, **radii})


def kv_head(part: Attention, head: int) -> int:
    """The KV head that a query head reads."""
    case = part.trial.case
    return head // (case.queries.shape[1] // case.keys.shape[1])


def vector(tensor: torch.Tensor) -> Vector:
    """A rank-1 tensor as exact numbers."""
    return tuple(lift_tensor(tensor.detach().cpu(), "tensor").vector())


def matrix(tensor: torch.Tensor) -> tuple[Vector, ...]:
    """A rank-2 tensor as rows of exact numbers."""
    return tuple(tuple(row) for row in lift_tensor(tensor.detach().cpu(), "tensor").matrix())


def norm_up(numbers: Sequence[Fraction]) -> Fraction:
    """A rational that is at least the Euclidean norm, and close to it."""
    square = sum((x * x for x in numbers), Fraction(0))
    if square == 0:
        return Fraction(0)
    shift = square.denominator.bit_length() - square.numerator.bit_length()
    scale = 1 << max(0, shift + 128 + (shift & 1))
    root = Fraction(_isqrt_up(square * scale * scale), scale)
    assert root * root >= square
    return root


def _isqrt_up(square: Fraction) -> int:
    whole = -(-square.numerator // square.denominator)
    root = isqrt(whole)
    return root if root * root >= whole else root + 1


def _logit_fields(part: Attention, row: Row, tokens: torch.Tensor) -> dict[str, Exact]:
    batch, head, query = row
    case = part.trial.case
    q = vector(case.queries[batch, head, query])
    keys = matrix(case.keys[batch, kv_head(part, head), tokens])
    products = (sum((a * b for a, b in zip(q, k, strict=True)), Fraction(0)) for k in keys)
    logits = tuple(case.softmax_scale * product for product in products)
    logits_hat = cast("Vector", exact(part.logits_hat[batch, head, query, tokens]))
    gaps = (abs(s - s_hat) for s, s_hat in zip(logits, logits_hat, strict=True))
    return {"logits_hat": logits_hat, "logit_radii": tuple(gaps), "logits": logits}
