"""The price of a certificate: fast TV and output bounds against plain torch attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from benchmarks.tables import Table, number
from benchmarks.timing import cpu_seconds
from proofkv_verify.fast.attention_l2_upper import attention_certificate
from proofkv_verify.fast.logit_abs_norm_upper import logit_abs_norm_upper

LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
HEADS, KV_HEADS, WIDTH = 8, 2, 64
QUERIES = (16, 64)
SCALE = WIDTH**-0.5


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Queries [1, H, Q, D]; keys and values [1, Hkv, T, D]; their error norms [1, Hkv, T]; logits [1, H, Q, T]."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    key_radii: Tensor
    value_radii: Tensor
    logits: Tensor


def inputs(length: int, queries: int, device: str = "cpu") -> Inputs:
    """Random float32 attention inputs with error norms of about 1 %."""
    g = torch.Generator().manual_seed(length)
    q = torch.randn(1, HEADS, queries, WIDTH, generator=g)
    k, v = (torch.randn(1, KV_HEADS, length, WIDTH, generator=g) for _ in range(2))
    radii = [(0.05 + 0.1 * torch.rand(1, KV_HEADS, length, generator=g)) for _ in range(2)]
    q, k, v, key_radii, value_radii = (x.to(device) for x in (q, k, v, *radii))
    return Inputs(q, k, v, key_radii, value_radii, scores(q, k))


def scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot products, query head h with KV head h // (H // Hkv)."""
    grouped = queries.reshape(1, keys.shape[1], -1, queries.shape[-1])
    return (grouped @ keys.transpose(-1, -2) * SCALE).reshape(*queries.shape[:3], keys.shape[2])


def plain_attention(x: Inputs) -> Tensor:
    """Scores, softmax, output: unfused torch."""
    weights = torch.softmax(scores(x.queries, x.keys), -1)
    return weights.reshape(1, KV_HEADS, -1, weights.shape[-1]) @ x.values


def certificate(x: Inputs) -> tuple[Tensor, Tensor]:
    """Logit radii from key norms, then TV and output bounds; the logits are those attention computed."""
    radii = logit_abs_norm_upper(x.queries, x.key_radii, SCALE)
    return attention_certificate(x.logits, radii, x.values, x.value_radii)


Timer = Callable[[Mapping[str, Callable[[], object]]], dict[str, float]]


def certificate_table(lengths: tuple[int, ...] = LENGTHS, timer: Timer = cpu_seconds, device: str = "cpu") -> Table:
    """Certificate time over attention time for each sequence length."""
    rows = []
    for queries, length in product(QUERIES, lengths):
        x = inputs(length, queries, device)
        t = timer({"plain": lambda x=x: plain_attention(x), "certificate": lambda x=x: certificate(x)})
        plain, extra = t["plain"], t["certificate"]
        per_logit = extra / (HEADS * queries * length) * 1e9
        cells = [plain * 1e3, extra * 1e3, extra / plain, (plain + extra) / plain, per_logit]
        rows.append([str(queries), str(length), *(number(cell) for cell in cells)])
    note = (
        f"float32, unfused, {HEADS} query heads on {KV_HEADS} KV heads, width {WIDTH}, {device}. The certificate is "
        "logit radii from key error norms, the TV bound min(mean, tanh(c_max/2)) and the L2 output bound, from the "
        "logits that attention computed; goal for certificate / attention: <= 1.3. A constant time per logit in the "
        "last column is linear growth; short rows pay for about 200 small tensor operations a call, few queries for "
        "the norms of the values."
    )
    head = ["queries", "T", "attention ms", "certificate ms", "certificate / attention", "both / attention", "ns/logit"]
    return Table(f"Certificate against plain torch attention ({device})", note, head, rows)
