"""Enclosures of the true changes of weights and outputs, in float64, for one part of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from proofkv_verify.audit.attention import Attention
from proofkv_verify.audit.floats import U, norm_upper, two_sum
from proofkv_verify.search import bulk

Array = npt.NDArray[np.float64]
Ends = tuple[torch.Tensor, torch.Tensor]
Evaluate = Callable[..., tuple[Array, Array]]
FAR = -750.0
"""A token this far below the largest logit has weight below 2^-1010, whatever its rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """All rows of one query index: they attend to the same tokens.

    Attributes:
        query: the query index.
        tokens: indices of attended tokens.
        logits: float64 `[B, Hq, n]`, exact logits minus their largest, not below FAR.
        logits_hat: `[B, Hq, n]`, computed logits likewise.
        error: `[B, Hq]`, by how much a logit of either kind that matters may be off, both added.
        gap: `[B, Hq, n]`, bound of |exact logit - logits_hat|.
    """

    query: int
    tokens: torch.Tensor
    logits: torch.Tensor
    logits_hat: torch.Tensor
    error: torch.Tensor
    gap: torch.Tensor


def rows_of(part: Attention) -> Iterator[Rows]:
    """The rows of a part, one query index at a time."""
    for query in range(part.logits_hat.shape[2]):
        tokens = part.mask[0, 0, query].nonzero()[:, 0]
        shifted, slack = _shifted(*(t[:, :, query, tokens] for t in part.logits))
        hat = part.logits_hat[:, :, query, tokens]
        shifted_hat, slack_hat = _shifted(hat, torch.zeros_like(hat), torch.zeros_like(hat))
        yield Rows(
            query=query,
            tokens=tokens,
            logits=shifted,
            logits_hat=shifted_hat,
            error=slack + slack_hat,
            gap=part.gap[:, :, query, tokens],
        )


def _shifted(high: torch.Tensor, low: torch.Tensor, error: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits minus their largest, not below FAR, and how far off those are that matter; `[B, Hq, n]` and `[B, Hq]`."""
    top = high.argmax(-1, keepdim=True)
    s, e = two_sum(high, -high.gather(-1, top))
    shifted = s + (e + (low - low.gather(-1, top)))
    slack = 4 * U * shifted.abs() + 2 * (error + error.gather(-1, top)) + 8 * U * (low.abs() + e.abs())
    far = shifted < FAR
    return shifted.clamp(min=FAR), torch.where(far, high.shape[-1] * 2.0**-1008, slack).amax(-1)


def truth_of(part: Attention, kind: str) -> Ends:
    """Ends of the true quantity of each row, `[B, Hq, Q]`, computed once a part."""
    if kind not in part.truths:
        part.truths[kind] = {"softmax_tv": true_tv, "attention_l2": true_l2, "attention_linf": true_linf}[kind](part)
    return part.truths[kind]


def true_tv(part: Attention) -> Ends:
    """Ends of the total variation between exact and computed weights, `[B, Hq, Q]`.

    Logits that are off by at most d move it by at most d / 2; a second bound serves where all gaps are small.
    """

    def ends(rows: Rows) -> Ends:
        low, high = _call(bulk.total_variation, rows.logits, rows.logits_hat)
        if len(rows.tokens) == 1:  # both weights are 1
            return torch.zeros_like(low), torch.zeros_like(high)
        small = _moved_mass(rows).sum(-1) / 2 * (1 + 4 * U)
        return low - rows.error, torch.minimum(high + rows.error, small)

    low, high = _gather(part, ends)
    return low, high.clamp(max=1)


def true_l2(part: Attention) -> Ends:
    """Ends of the Euclidean norm of the output error, `[B, Hq, Q]`."""
    return _output(part, bulk.output_error_l2, norm_upper)


def true_linf(part: Attention) -> Ends:
    """Ends of the largest absolute coordinate of the output error, `[B, Hq, Q]`."""
    return _output(part, bulk.output_error_linf, lambda error: error.abs().amax(-1))


def _moved_mass(rows: Rows) -> torch.Tensor:
    """A bound of |exact weight - computed weight| of each token, `[B, Hq, n]`; infinite where a gap is not small.

    The weight changes by a factor e^(d_i) / Z with |d_i| <= gap_i, and |log Z| <= 2 E where E = sum p (e^gap - 1) <=
    1/4. The rounding of p, below 10^-11, is covered by the factor 1 + 10^-9.
    """
    p = torch.softmax(rows.logits_hat, -1) * (1 + 1e-9) + 2.0**-1008
    z = 2 * (p * torch.expm1(rows.gap) * (1 + 1e-9)).sum(-1, keepdim=True)
    known = (z <= 0.5) & (rows.gap.amax(-1, keepdim=True) <= 1)
    return torch.where(known, p * torch.expm1(rows.gap + z) * (1 + 1e-9), torch.inf)


def _output(part: Attention, evaluate: Evaluate, size: Callable[[torch.Tensor], torch.Tensor]) -> Ends:
    trial = part.trial
    group = part.logits_hat.shape[1] // trial.case.values.shape[1]
    values, values_hat = (t.double().repeat_interleave(group, 1) for t in (trial.case.values, trial.values_hat))

    def ends(rows: Rows) -> Ends:
        v, v_hat = (t[:, :, rows.tokens] for t in (values, values_hat))
        moved = size((v - v_hat) * (1 + 4 * U)).amax(-1)
        if len(rows.tokens) == 1:  # both weights are 1
            return moved * (1 - 1e-12), moved
        # Weights sum to 1: a shift of all values changes nothing, and the heaviest token's value should be near 0.
        heaviest = rows.logits_hat.argmax(-1)[..., None, None].expand(*v_hat.shape[:2], 1, v_hat.shape[-1])
        centre = v_hat.gather(2, heaviest)
        (v, v_lost), (v_hat, hat_lost) = (two_sum(t, -centre) for t in (v, v_hat))
        low, high = _call(evaluate, rows.logits, rows.logits_hat, v, v_hat)
        lost = (size(v_lost) + size(hat_lost)).amax(-1) * (1 + 8 * U)
        largest = torch.maximum(size(v).amax(-1), size(v_hat).amax(-1)) * (1 + 4 * U)
        shift = 2 * rows.error * largest + lost
        mass = _moved_mass(rows)
        far = torch.where(mass.isinf(), torch.inf, mass * size(v))  # infinity times 0 must not become NaN
        small = far.sum(-1) + moved + lost
        return low - shift, torch.minimum(high + shift, small * (1 + len(rows.tokens) * 8 * U))

    return _gather(part, ends)


def _call(evaluate: Evaluate, *tensors: torch.Tensor) -> Ends:
    """Flattens batch and heads, evaluates in numpy, and restores the shape."""
    shape = tensors[0].shape[:2]
    low, high = evaluate(*(t.flatten(0, 1).contiguous().numpy() for t in tensors))
    return torch.from_numpy(low).reshape(shape), torch.from_numpy(high).reshape(shape)


def _gather(part: Attention, ends: Callable[[Rows], Ends]) -> Ends:
    found = [ends(rows) for rows in rows_of(part)]
    down, up = (torch.stack([pair[i] for pair in found], -1) for i in (0, 1))
    raised = torch.nextafter(up * (1 + 4 * U), torch.full_like(up, torch.inf))
    return down * (1 - 4 * U), torch.where(up == 0, 0.0, raised)
