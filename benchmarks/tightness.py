"""How tight each TV and output bound is on the recorded trace, scheme by scheme."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmarks.tables import Table, number
from proofkv_verify.adapters.trace import Trace, TraceLayer, default_trace_path, load_trace
from proofkv_verify.fast.attention_l2_upper import attention_l2_upper
from proofkv_verify.fast.attention_linf_exact_upper import attention_linf_exact_upper
from proofkv_verify.fast.logit_abs_band_upper import logit_abs_band_upper
from proofkv_verify.fast.logit_abs_box_upper import logit_abs_box_upper
from proofkv_verify.fast.logit_abs_norm_upper import logit_abs_norm_upper
from proofkv_verify.fast.logits_with_error import logits_with_error
from proofkv_verify.fast.softmax_tv_cell_upper import softmax_tv_cell_upper
from proofkv_verify.fast.softmax_tv_eform_upper import softmax_tv_eform_upper
from proofkv_verify.fast.softmax_tv_hinge_upper import softmax_tv_hinge_upper
from proofkv_verify.fast.softmax_tv_histogram_upper import softmax_tv_histogram_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_moment_upper import softmax_tv_moment_upper
from proofkv_verify.fast.softmax_tv_odds_upper import softmax_tv_odds_upper
from proofkv_verify.fast.softmax_tv_optimum import softmax_tv_optimum
from proofkv_verify.fast.softmax_tv_overlap_upper import softmax_tv_overlap_upper
from proofkv_verify.schemes.base import HasSidecar, Scheme, Sidecar
from proofkv_verify.schemes.registry import SCHEMES, scheme_named
from proofkv_verify.search import bulk

TV_BOUNDS = {
    "eform": softmax_tv_eform_upper,
    "odds": softmax_tv_odds_upper,
    "mean": softmax_tv_mean_upper,
    "overlap": softmax_tv_overlap_upper,
    "hinge": softmax_tv_hinge_upper,
    "histogram": softmax_tv_histogram_upper,
    "cell": softmax_tv_cell_upper,
    "moment": softmax_tv_moment_upper,
}
QUERY_STEP = 4
OUTPUT_STEP = 16


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One layer through a scheme: float64, logits [1, H, Q, T], values [1, Hkv, T, D], mask [Q, T]."""

    logits: Tensor
    logits_hat: Tensor
    radii: Tensor
    mask: Tensor
    values: Tensor
    values_hat: Tensor
    sidecar: Sidecar

    def some(self, step: int) -> Part:
        """Every step-th query."""
        kept = [x[:, :, ::step] for x in (self.logits, self.logits_hat, self.radii)]
        return Part(*kept, self.mask[::step], self.values, self.values_hat, self.sidecar)


def parts(scheme: Scheme, trace: Trace) -> Iterator[Part]:
    """The layers of the trace."""
    mask = trace.key_positions[None, :] <= trace.query_positions[:, None]
    for layer in trace.iter_layers():
        found = _part(scheme, layer, float(trace.meta.softmax_scale), mask)
        if found is not None:
            yield found


def _part(scheme: Scheme, layer: TraceLayer, scale: float, mask: Tensor) -> Part | None:
    keys, values = layer.keys[None], layer.values[None]
    pages = scheme.compress(keys, values)
    if not isinstance(scheme, HasSidecar):
        return None
    keys_hat, values_hat = scheme.restore(pages)
    sidecar = scheme.sidecar(pages)
    queries = layer.queries[None].double()
    logits, _ = logits_with_error(queries, keys.double(), scale)
    logits_hat, rounding = logits_with_error(queries, keys_hat.double(), scale)
    radii = _logit_radii(queries, sidecar, scale) + rounding
    return Part(logits, logits_hat, radii, mask, values.double(), values_hat.double(), sidecar)


def _logit_radii(queries: Tensor, sidecar: Sidecar, scale: float) -> Tensor:
    found = []
    if sidecar.key_box is not None:
        found.append(logit_abs_box_upper(queries, sidecar.key_box, scale))
    if sidecar.key_norm is not None:
        found.append(logit_abs_norm_upper(queries, sidecar.key_norm, scale))
    if sidecar.key_bands is not None:
        found.append(logit_abs_band_upper(queries, sidecar.key_bands, scale, _bands(sidecar.key_bands, queries)))
    return torch.stack(found).amin(0)


def _bands(radii: Tensor, queries: Tensor) -> list[list[int]]:
    half, count = queries.shape[-1] // 2, radii.shape[-1]
    return [
        [c + side for side in (0, half) for c in range(b * half // count, (b + 1) * half // count)]
        for b in range(count)
    ]


def tv_table() -> Table:
    """Each TV bound as a multiple of the optimum's lower end and of the true TV."""
    trace, rows = load_trace(default_trace_path()), []
    for name in SCHEMES:
        data = [_tv_numbers(part.some(QUERY_STEP)) for part in parts(scheme_named(name), trace)]
        joined = {key: np.concatenate([d[key] for d in data]) for key in data[0]}
        rows += _tv_rows(name, joined)
    note = (
        f"SmolLM2-135M trace, all recorded layers and heads, every {QUERY_STEP}th query. Logit radii are the least of "
        "box, band and norm bounds of the scheme's own sidecar. `best` is the least of the eight bounds; `optimum` is "
        "the bracket's upper end. Each cell: median / 95th percentile / maximum of bound / lower end of the bracket, "
        "and of bound / true TV. Goal: best within 1.1 of the optimum at the median."
    )
    head = ["scheme", "bound", "median value", "multiple of the optimum", "multiple of the true TV"]
    return Table("Tightness of the TV bounds", note, head, rows)


def _tv_numbers(part: Part) -> dict[str, np.ndarray]:
    arguments = part.logits_hat, part.radii, part.mask
    found = {name: bound(*arguments) for name, bound in TV_BOUNDS.items()}
    found["best"] = torch.stack(list(found.values())).amin(0)
    low, found["optimum"] = softmax_tv_optimum(*arguments)
    _, true = bulk.total_variation(part.logits.numpy(), part.logits_hat.numpy(), part.mask.numpy())
    numbers = {name: value.flatten().numpy() for name, value in found.items()}
    return numbers | {"low": low.flatten().numpy(), "true": true.flatten()}


def _tv_rows(scheme: str, numbers: dict[str, np.ndarray]) -> list[list[str]]:
    rows = []
    for name in (*TV_BOUNDS, "best", "optimum"):
        bound = numbers[name]
        cells = [_spread(bound, numbers["low"]), _spread(bound, numbers["true"])]
        rows.append([scheme, name, number(float(np.median(bound))), *cells])
    return rows


def output_table() -> Table:
    """Each output bound as a multiple of the true output error; Linf is the exact optimum over its box."""
    trace, rows = load_trace(default_trace_path()), []
    for name in SCHEMES:
        data = [_output_numbers(part.some(OUTPUT_STEP)) for part in parts(scheme_named(name), trace)]
        for bound, true in (("l2", "true l2"), ("l2 tight", "true l2"), ("linf exact", "true linf")):
            value, truth = (np.concatenate([d[key] for d in data]) for key in (bound, true))
            rows.append([name, bound, number(float(np.median(value))), _spread(value, truth)])
    note = (
        f"As above, every {OUTPUT_STEP}th query. `l2` streams (mean or odds bound, ball around a centre), `l2 tight` "
        "uses the optimum and the diameter; `linf exact` is the optimum over key and value boxes, so its multiple of "
        "the optimum is 1. Each cell: median / 95th percentile / maximum of bound / true error."
    )
    head = ["scheme", "bound", "median value", "multiple of the true error"]
    return Table("Tightness of the output bounds", note, head, rows)


def _output_numbers(part: Part) -> dict[str, np.ndarray]:
    arguments = part.logits_hat, part.radii, part.values_hat
    side, group = part.sidecar, part.logits.shape[1] // part.values.shape[1]
    truth = [x.numpy() for x in (part.logits, part.logits_hat)]
    truth += [x.repeat_interleave(group, 1).numpy() for x in (part.values, part.values_hat)]
    mask = part.mask.numpy()
    found = {
        "l2": attention_l2_upper(*arguments, side.value_norm, part.mask).numpy(),
        "l2 tight": attention_l2_upper(*arguments, side.value_norm, part.mask, tight=True).numpy(),
        "linf exact": attention_linf_exact_upper(*arguments, side.value_box, part.mask).numpy(),
        "true l2": bulk.output_error_l2(*truth, mask)[1],
        "true linf": bulk.output_error_linf(*truth, mask)[1],
    }
    return {name: value.flatten() for name, value in found.items()}


def _spread(value: np.ndarray, base: np.ndarray) -> str:
    # Below this the enclosures of the truth are mostly rounding: nothing is compared there.
    kept = base > 1e-11
    if not kept.any():
        return "exact"
    ratio = value[kept] / base[kept]
    return " / ".join(number(float(x)) for x in (np.median(ratio), np.quantile(ratio, 0.95), ratio.max()))
