"""The facts of the fast path on any device and dtype, as counts of cases and of violations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from proofkv_verify.exact import lift_float
from proofkv_verify.fast.attention_l2_upper import attention_l2_upper
from proofkv_verify.fast.attention_linf_exact_upper import attention_linf_exact_upper
from proofkv_verify.fast.logits_with_error import logits_with_error
from proofkv_verify.fast.rounding import FP32, FP64
from tests.fast.battery import TV_BOUNDS, TvBound, exact, reference_ends, scalar, tv_reference, understated, violations
from tests.fast.cases import Row, corner_rows, random_rows

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@dataclass(frozen=True)
class Outcome:
    """How one battery ended."""

    battery: str
    cases: int
    violations: int


def batteries(device: str, dtype: torch.dtype, *, random: int = 6) -> Iterator[Outcome]:
    """Every battery on one device and dtype."""
    rows = [on(device, row) for row in (*corner_rows(dtype), *random_rows(dtype, random, tokens=4, seed=41))]
    for bound in TV_BOUNDS:
        yield Outcome(bound.slug, len(rows), len(violations(bound, rows)))
    yield Outcome("masked poison", *_masked(rows[-random:]))
    yield Outcome("attention_l2_upper", len(rows), _outputs(rows, "l2"))
    yield Outcome("attention_linf_exact_upper", len(rows), _outputs(rows, "linf"))
    yield Outcome("logits_with_error", *_logits(device, dtype))
    yield Outcome("rows in a batch", *_batched(rows[-random:]))


def exponentials(device: str) -> Iterator[Outcome]:
    """The assumed accuracy of exp and expm1 in float32 against float64, and of float64 against the CPU's."""
    for name, last, sign in (("exp", 104.0, -1), ("expm1", 88.7, 1)):
        top = int(torch.tensor(last).view(torch.int32))
        x = sign * torch.arange(0, top, 331, dtype=torch.int64, device=device).to(torch.int32).view(torch.float32)
        yield Outcome(f"{name} float32", x.numel(), _beyond(name, x, x.double(), FP32.exp_error, FP32.tiny))
        y = x.double()[::7]
        yield Outcome(f"{name} float64", y.numel(), _beyond(name, y, y.cpu(), FP64.exp_error * 2, FP64.tiny))


def on(device: str, row: Row) -> Row:
    """The row on a device."""
    return replace(row, logits=row.logits.to(device), radii=row.radii.to(device))


def _beyond(name: str, x: Tensor, reference: Tensor, error: object, tiny: object) -> int:
    function: Callable[[Tensor], Tensor] = getattr(torch, name)
    found, true = function(x).double().cpu(), function(reference).cpu()
    allowed = true.abs() * float(error) + float(tiny) * (true.abs() < 2 * float(tiny))
    return int((~((found - true).abs() <= allowed)).sum())


def _masked(rows: list[Row]) -> tuple[int, int]:
    def poisoned(bound: TvBound, poison: float) -> TvBound:
        def fast(s: Tensor, c: Tensor, mask: Tensor | None = None, **options: object) -> Tensor:
            dead = torch.full_like(s[..., :2], poison)
            live = torch.cat([torch.ones_like(s), torch.zeros_like(dead)], -1) > 0
            return bound.fast(torch.cat([s, dead], -1), torch.cat([c, dead], -1), live, **options)

        return replace(bound, fast=fast)

    found = [violations(poisoned(bound, poison), rows) for bound in TV_BOUNDS for poison in (torch.nan, 1e4, torch.inf)]
    return len(found) * len(rows), sum(map(len, found))


def _outputs(rows: list[Row], which: str) -> int:
    wrong = 0
    for k, row in enumerate(rows):
        g = torch.Generator().manual_seed(k)
        shape = (1, 1, row.logits.numel(), 2)
        values = torch.randn(shape, generator=g).to(row.logits)
        box = (torch.rand(shape, generator=g) * 0.1).to(row.logits)
        fields = {"logits_hat": exact(row.logits), "logit_radii": exact(row.radii), "values_hat": exact(values[0, 0])}
        if which == "l2":
            claimed = attention_l2_upper(*row.batched, values, box[..., 0])
            fields["value_radii"] = exact(box[0, 0, :, 0])
            ends = reference_ends("attention_l2_upper", "attention_l2", fields)
        else:
            claimed = attention_linf_exact_upper(*row.batched, values, box)
            fields["value_box"] = exact(box[0, 0])
            ends = reference_ends("attention_linf_exact_upper", "attention_linf", fields)
        wrong += understated(scalar(claimed), ends)
    return wrong


def _logits(device: str, dtype: torch.dtype) -> tuple[int, int]:
    g = torch.Generator().manual_seed(2)
    queries, keys = (torch.randn(1, h, 4, 64, generator=g).to(dtype).to(device) for h in (4, 2))
    logits, radius = logits_with_error(queries, keys, 0.1)
    q, k, wrong = exact(queries), exact(keys), 0
    for h, i, j in torch.cartesian_prod(torch.arange(4), torch.arange(4), torch.arange(4)).tolist():
        true = lift_float(0.1) * sum(a * b for a, b in zip(q[0][h][i], k[0][h // 2][j], strict=True))
        error = abs(lift_float(float(logits[0, h, i, j])) - true)
        wrong += error > lift_float(float(radius[0, h, i, j]))
    return 64, wrong


def _batched(rows: list[Row]) -> tuple[int, int]:
    same = [row for row in rows if row.logits.numel() == rows[0].logits.numel()]
    batch = [torch.stack([getattr(row, name) for row in same]).unsqueeze(-2) for name in ("logits", "radii")]
    wrong = 0
    for bound in TV_BOUNDS:
        options = bound.options(same[0])
        shared = replace(bound, options=lambda row, options=options: options)
        claimed = bound.fast(*batch, **options).flatten().tolist()
        wrong += sum(understated(a, tv_reference(shared, row)) for a, row in zip(claimed, same, strict=True))
    return len(same) * len(TV_BOUNDS), wrong
