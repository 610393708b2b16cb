"""Attention through restored pages: computed logits, their claimed radii, and enclosures of the true change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

import torch

from proofkv_verify.audit.claim import Setting
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.floats import U, dots, two_sum
from proofkv_verify.audit.trial import Trial, band_indices, radii_of, run_case
from proofkv_verify.exact import FP64, round_down, round_up, to_float
from proofkv_verify.fast.logit_abs_band_upper import logit_abs_band_upper
from proofkv_verify.fast.logit_abs_box_upper import logit_abs_box_upper
from proofkv_verify.fast.logit_abs_norm_upper import logit_abs_norm_upper
from proofkv_verify.fast.logits_with_error import logits_with_error
from proofkv_verify.schemes.base import Sidecar

Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
PART_SIZE = 1 << 21
"""Logits of one part of a case: bounds the memory of long traces."""


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One part of a case: every tensor is float64 `[B, Hq, Q, T]` unless said otherwise.

    Attributes:
        trial: the scheme's run; its case holds the queries of this part only.
        sidecar: declared radii, measured ones where none are declared.
        claimed: claimed bounds of each logit's change, by slug.
        logits_hat: logits computed from restored keys, the floats that attention uses.
        radii: claimed bound of |exact logit - logits_hat|: the least claimed change plus the rounding of logits_hat.
        change: lower and upper end of |scale <q, k - k_hat>|, the true change of each logit.
        gap: upper end of |exact logit - logits_hat|.
        logits: (high, low, error): the exact logit is within error of high + low.
        mask: bool, broadcast to the same shape.
        device: where the fast bounds of rows run.
        truths: enclosures of true quantities by kind, filled by `truth.truth_of`.
    """

    trial: Trial
    sidecar: Sidecar
    claimed: dict[str, torch.Tensor]
    logits_hat: torch.Tensor
    radii: torch.Tensor
    change: tuple[torch.Tensor, torch.Tensor]
    gap: torch.Tensor
    logits: Parts
    mask: torch.Tensor
    device: str
    truths: dict[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)


def attend(setting: Setting, case: Case) -> Iterator[Attention]:
    """The parts of a case, computed on the setting's device and judged on the CPU."""
    trial = run_case(setting.scheme, case, setting.device)
    case = with_aligned_queries(trial)
    sidecar = radii_of(setting.scheme, trial)
    step = max(1, PART_SIZE // (case.keys.shape[2] * case.queries.shape[1] * case.keys.shape[0]))
    for start in range(0, case.queries.shape[2], step):
        rows = slice(start, start + step)
        part = replace(case, queries=case.queries[:, :, rows], mask=case.mask[rows])
        yield _attention(replace(trial, case=part), sidecar, setting.device)


def single_row(part: Attention, row: tuple[int, int, int]) -> Attention:
    """The part with one row only: one batch row, one query head and its KV head, one query."""
    batch, head, query = row
    case = part.trial.case
    kv = head // (case.queries.shape[1] // case.keys.shape[1])
    at = (slice(batch, batch + 1), slice(head, head + 1), slice(query, query + 1))
    kv_at = (slice(batch, batch + 1), slice(kv, kv + 1))
    trial = replace(part.trial, keys_hat=part.trial.keys_hat[kv_at], values_hat=part.trial.values_hat[kv_at])
    return replace(
        part,
        trial=trial,
        sidecar=sliced(part.sidecar, kv_at),
        logits_hat=part.logits_hat[at],
        radii=part.radii[at],
        mask=part.mask[at],
        truths={},
    )


def sliced(sidecar: Sidecar, at: tuple[slice, ...]) -> Sidecar:
    """The sidecar of some batch rows, KV heads and tokens."""
    return Sidecar(**{f.name: None if (t := getattr(sidecar, f.name)) is None else t[at] for f in fields(Sidecar)})


def with_aligned_queries(trial: Trial) -> Case:
    """The case with two more queries a head, which point along the largest key error: its signs, and itself.

    On such queries a logit changes as much as its box, or its norm, allows.
    """
    case = trial.case
    group = case.queries.shape[1] // case.keys.shape[1]
    error = (case.keys.double() - trial.keys_hat.double()).nan_to_num(0.0, 0.0, 0.0)
    worst = error.abs().amax(-1).argmax(-1)[..., None, None].expand(*error.shape[:2], 1, error.shape[-1])
    along = error.gather(2, worst).repeat_interleave(group, 1)
    largest = along.abs().amax(-1, keepdim=True)
    unit = torch.where(largest > 0, along / largest, 0.0)
    extra = torch.cat([4 * unit.sign(), 4 * unit], 2).to(case.queries.dtype)
    seen = torch.ones(2, case.keys.shape[2], dtype=torch.bool)
    return replace(case, queries=torch.cat([case.queries, extra], 2), mask=torch.cat([case.mask, seen]))


def _attention(trial: Trial, sidecar: Sidecar, device: str) -> Attention:
    case = trial.case
    group = case.queries.shape[1] // case.keys.shape[1]
    queries = case.queries.double()
    computed = logits_with_error(queries.to(device), trial.keys_hat.double().to(device), case.softmax_scale)
    logits_hat, rounding = (t.cpu() for t in computed)
    claimed = logit_bounds(queries, sidecar, case.softmax_scale, device)
    least = torch.stack(list(claimed.values())).amin(0)
    raw, raw_hat = (_all_dots(case, keys, group) for keys in (case.keys, trial.keys_hat))
    exact = _times(*raw, case.softmax_scale)
    same = (case.keys == trial.keys_hat).all(-1).repeat_interleave(group, 1)[:, :, None, :]
    return Attention(
        trial=trial,
        sidecar=sidecar,
        claimed=claimed,
        logits_hat=logits_hat,
        radii=_up(least + rounding),
        change=_scaled_ends(_distance(raw, raw_hat, same), case.softmax_scale),
        gap=_distance(exact, (logits_hat, torch.zeros_like(logits_hat), torch.zeros_like(logits_hat)), None)[1],
        logits=exact,
        mask=case.mask.expand(logits_hat.shape),
        device=device,
    )


def logit_bounds(queries: torch.Tensor, sidecar: Sidecar, scale: Fraction, device: str) -> dict[str, torch.Tensor]:
    """Claimed bounds of the change of every logit, by slug, from the radii there are; float64 `[B, Hq, Q, T]`."""
    q = queries.to(device)
    radii = (sidecar.key_box, sidecar.key_norm, sidecar.key_bands)
    box, norm, bands = (None if r is None else r.to(device) for r in radii)
    found = {}
    if box is not None:
        found["logit_abs_box_upper"] = logit_abs_box_upper(q, box, scale)
    if bands is not None:
        indices = band_indices(q.shape[-1], bands.shape[-1])
        found["logit_abs_band_upper"] = logit_abs_band_upper(q, bands, scale, indices)
    if norm is not None:
        found["logit_abs_norm_upper"] = logit_abs_norm_upper(q, norm, scale)
    return {slug: bound.double().cpu() for slug, bound in found.items()}


def _all_dots(case: Case, keys: torch.Tensor, group: int) -> Parts:
    """(high, low, error) of <q, k> for every pair."""
    return dots(case.queries[:, :, :, None], keys.repeat_interleave(group, 1)[:, :, None])


def _scaled_ends(ends: tuple[torch.Tensor, torch.Tensor], scale: Fraction) -> tuple[torch.Tensor, torch.Tensor]:
    low, high = (to_float(end(abs(scale), FP64)) for end in (round_down, round_up))
    zero = ends[1] == 0
    return ends[0] * low * (1 - 4 * U), torch.where(zero, 0.0, _up(ends[1] * high * (1 + 4 * U)))


def _times(high: torch.Tensor, low: torch.Tensor, error: torch.Tensor, scale: Fraction) -> Parts:
    factor = to_float(round_up(scale, FP64))
    if Fraction(factor) == scale and abs(scale.numerator) == 1 and scale.denominator & (scale.denominator - 1) == 0:
        return high * factor, low * factor, _up(error * abs(factor))  # a power of two: exact
    size = (high.abs() + low.abs()) * abs(factor)
    return high * factor, low * factor, _up(_up(error * abs(factor)) * (1 + 4 * U) + 8 * U * size)


def _distance(a: Parts, b: Parts, same: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Ends of |a - b|; exactly 0 where the two are the same number."""
    s, e = two_sum(a[0], -b[0])
    rest = e + (a[1] - b[1])
    error = _up((a[2] + b[2]) * (1 + 4 * U) + 8 * U * (e.abs() + a[1].abs() + b[1].abs()))
    size = (s + rest).abs()
    slack = _up(error + 4 * U * size)
    low, high = (size - slack).clamp(min=0) * (1 - 4 * U), _up((size + slack) * (1 + 4 * U))
    if same is None:
        return low, high
    return torch.where(same, 0.0, low), torch.where(same, 0.0, high)


def _up(tensor: torch.Tensor) -> torch.Tensor:
    return torch.nextafter(tensor, torch.full_like(tensor, torch.inf))
