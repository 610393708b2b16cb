"""Inputs of the fast paths: the corners where rounding goes wrong, and random rows."""

from dataclasses import dataclass

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float64)
DTYPE_IDS = ("fp32", "fp64")
HINGE_KAPPAS = (1.0, 1.0625, 1.3, 2.0, 7.0)
CELL_EDGES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Row:
    """One row of logits and radii, in one dtype."""

    name: str
    logits: Tensor
    radii: Tensor

    @property
    def batched(self) -> tuple[Tensor, Tensor]:
        """As [1, 1, 1, K]."""
        return self.logits.reshape(1, 1, 1, -1), self.radii.reshape(1, 1, 1, -1)


def corner_rows(dtype: torch.dtype) -> list[Row]:
    """Few tokens each: ties, one token, a tiny mass with a huge radius, tiny and subnormal radii, far logits."""
    huge = 300.0 if dtype == torch.float64 else 80.0
    least = float(torch.finfo(dtype).smallest_normal) / 8
    table = {
        "one token": ([0.3], [0.7]),
        "one token without radius": ([5.0], [0.0]),
        "two equal tokens": ([0.0, 0.0], [1.0, 1.0]),
        "ties": ([1.0, 1.0, 1.0, 1.0], [0.25, 0.25, 0.0, 0.5]),
        "no radius": ([1.0, -2.0, 3.0], [0.0, 0.0, 0.0]),
        "tiny radii": ([0.0, -1.0, 0.5], [2e-8, 2e-8, 2e-8]),
        "one tiny radius": ([0.0, 0.0], [2e-8, 0.0]),
        "subnormal radii": ([0.0, -1.0], [least, least * 3]),
        "huge radius on a tiny mass": ([0.0, -30.0], [0.0, 20.0]),
        "huge radii": ([0.0, -1.0, -2.0], [huge, huge, 1.0]),
        "dominant token": ([40.0, 0.0, -1.0, 1.0], [0.5, 3.0, 2.0, 0.0]),
        "all radius far away": ([0.0, -78.9, -79.3, -80.7], [0.0, 5.0, 6.0, 4.0]),
        "exponent rounded down": ([unlucky_top(dtype), -39.5], [0.0, 3.0]),
        "large common shift": ([1000.3, 1001.7, 1000.9], [0.1, 0.2, 0.05]),
        "negative shift": ([-2000.1, -2000.2], [0.3, 0.1]),
        "widely spread": ([1e4, 0.0, -1e4], [0.1, 0.2, 0.3]),
        "mean ratio near two": ([0.0, 0.0], [0.6931471805599453, 0.6931471805599453]),
        "signed zeros": ([0.0, -0.0], [0.0, 0.1]),
    }
    return [Row(name, torch.tensor(s, dtype=dtype), torch.tensor(c, dtype=dtype)) for name, (s, c) in table.items()]


def random_rows(dtype: torch.dtype, count: int, tokens: int = 6, seed: int = 0) -> list[Row]:
    """Rows of several temperatures and sizes of radius."""
    g = torch.Generator().manual_seed(seed)
    rows = []
    for k in range(count):
        n = int(torch.randint(2, tokens + 1, (1,), generator=g))
        spread, size = (0.5, 4.0, 20.0)[k % 3], (2e-8, 1e-3, 0.1, 1.0, 6.0)[k % 5]
        s = torch.randn(n, generator=g, dtype=torch.float64) * spread
        c = torch.rand(n, generator=g, dtype=torch.float64) * size
        rows.append(Row(f"random {k}: spread {spread}, radius {size}", s.to(dtype), c.to(dtype)))
    return rows


def long_rows(dtype: torch.dtype) -> list[Row]:
    """Thousands of tokens, where sums round: equal terms, falling terms, and far tokens that carry all the radius."""
    g = torch.Generator().manual_seed(1)
    n = 3000
    flat = torch.full((n,), 0.1, dtype=torch.float64)
    noise = torch.randn(n, generator=g, dtype=torch.float64)
    far = torch.cat([torch.zeros(1, dtype=torch.float64), torch.full((n - 1,), -39.7, dtype=torch.float64)])
    lifted = torch.cat([torch.zeros(1, dtype=torch.float64), torch.full((n - 1,), 3.0, dtype=torch.float64)])
    pairs = {"equal": (flat, flat), "noise": (noise * 3, noise.abs() * 0.05), "far": (far, lifted)}
    return [Row(f"long {name}", s.to(dtype), c.to(dtype)) for name, (s, c) in pairs.items()]


def unlucky_top(dtype: torch.dtype) -> float:
    """A top logit whose difference to -39.5 is rounded down by almost half a spacing of the numbers near 40."""
    digits = 24 if dtype == torch.float32 else 53
    return 0.5 + 2.0 ** (5 - digits) + 2.0**-digits


def bin_edges(row: Row) -> tuple[float, ...]:
    """Upper edges of ratio bins that cut the row's ratios, one of them hit exactly by none."""
    top = float(torch.expm1(row.radii.double().max().clamp(max=20)))
    return tuple(1 + top * part for part in (0.125, 0.3, 0.6, 0.9))


def cell_mu(row: Row) -> tuple[float, ...]:
    """Multipliers around 1 on the scale of the row's radii."""
    size = min(float(row.radii.double().max()), 2.0)
    return tuple(max(1 + size * part, 0.01) for part in (0.5, 0.3, 0.1, -0.1, -0.25, -0.4))
