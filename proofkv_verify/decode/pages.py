"""Quantized pages with a nested ladder: bit planes, scales and sidecars, as they lie in memory.

A unit is the keys or the values of one page of one KV head of one layer. Keys are quantized per channel, values per
token: an element is a float16 number x with code floor((x - zero) / range * 2^B), cut to B bits. Its first b bits are
the code at b bits, so refining a unit reads only the planes that are missing; it restores to
zero + range * (code + 1/2) / 2^b, at most range / 2^(b+1) away. Level 16 is the float16 rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.shapes import split
from proofkv_verify.errors import InvalidInputError

F64 = torch.float64
FULL = 16
KEYS, VALUES = 0, 1
_OUTWARD = 1 + 2.0**-40
_TINY = 2.0**-60
BOX_UP = 1 + 2.0**-30  # a code can name the neighbour of its cell when its quotient rounds up, 2^-52 of the range away
_LARGEST = 4096.0  # zero + width * (code + 1/2) / 2^b then spans at most 52 bits: exact in float64


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a cache is paged.

    Attributes:
        levels: increasing bit widths of the ladder, 1 to 15, or 16 for the stored rows; the first is read always.
        page_size: tokens of a page; the last page is kept exact until it is full.
    """

    levels: tuple[int, ...] = (4, 8, 16)
    page_size: int = 16

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.levels, self.levels[1:], strict=False))
        if not self.levels or not rising or not all(1 <= b <= FULL for b in self.levels):
            raise InvalidInputError("ladder", "increasing bit widths between 1 and 16", self.levels)
        if self.page_size < 1:
            raise InvalidInputError("page size", "at least 1", self.page_size)

    @property
    def ladder(self) -> tuple[int, ...]:
        """The levels with the full rows as the last rung."""
        return self.levels if self.levels[-1] == FULL else (*self.levels, FULL)

    @property
    def stored_bits(self) -> int:
        """Planes that a unit keeps: the largest level below 16, or none."""
        return max((b for b in self.levels if b < FULL), default=0)


def parse_scheme(text: str, page_size: int = 16) -> Scheme:
    """A scheme from text such as `4:8:16`, `int8` or `int4-16` (two levels).

    Raises:
        InvalidInputError: unknown text, or a ladder that does not increase.
    """
    body = text.removeprefix("int").replace("-", ":")
    try:
        levels = tuple(int(part) for part in body.split(":"))
    except ValueError:
        raise InvalidInputError("scheme", "bit widths such as 4:8:16 or int8", text) from None
    return Scheme(levels, page_size)


@dataclass(frozen=True, slots=True)
class Pages:
    """Full pages of all layers; first axes `[kind, L, G, P]`, kind 0 for keys and 1 for values.

    Attributes:
        planes: bits, most significant plane first, uint8 `[2, L, G, P, B, ceil(S * D / 8)]` for page size S.
        zero, width: smallest value and rounded-up range, float16 numbers: keys `[L, G, P, 1, D]`, values `[L, G, P,
            S, 1]`.
        norms: L2 norm of each token's error at each level below 16, float16 rounded up `[levels, 2, L, G, P, S]`.
        sigmas: spectral norm of each unit's error matrix, float16 rounded up `[levels, 2, L, G, P]`.
        rows: what the full cache stores, float16 numbers `[2, L, G, P, S, D]`; read only at level 16.
    """

    planes: Tensor
    zero: tuple[Tensor, Tensor]
    width: tuple[Tensor, Tensor]
    norms: Tensor
    sigmas: Tensor
    rows: Tensor


def compress(rows: Tensor, scheme: Scheme) -> Pages:
    """The pages of float16-valued rows `[2, L, G, P, S, D]`, with sidecars rounded up on the values restored.

    Raises:
        InvalidInputError: a number of 4096 or more, or a NaN.
    """
    if rows.numel() and not float(rows.abs().max()) < _LARGEST:
        raise InvalidInputError(
            "cache row", f"numbers below {_LARGEST:.0f}, so that restoring rounds nothing", float(rows.abs().max())
        )
    axes = (-2, -1)
    zero = tuple(rows[kind].amin(axes[kind], keepdim=True) for kind in (KEYS, VALUES))
    width = tuple(half_up(rows[kind].amax(axes[kind], keepdim=True) - zero[kind]) for kind in (KEYS, VALUES))
    codes = torch.stack([_encode(rows[k], zero[k], width[k], scheme.stored_bits) for k in (KEYS, VALUES)])
    norms, sigmas = [], []
    for bits in (b for b in scheme.levels if b < FULL):
        part = codes >> (scheme.stored_bits - bits)
        error = torch.stack([rows[k] - decode(part[k], zero[k], width[k], bits) for k in (KEYS, VALUES)])
        norms.append(half_up(error.norm(dim=-1) * _OUTWARD + _TINY))
        sigmas.append(half_up(spectral_norm_upper(error) * _OUTWARD + _TINY))
    empty = rows.new_empty
    return Pages(
        planes=_split(codes, scheme.stored_bits),
        zero=(zero[0], zero[1]),
        width=(width[0], width[1]),
        norms=torch.stack(norms) if norms else empty(0, *rows.shape[:-1]),
        sigmas=torch.stack(sigmas) if sigmas else empty(0, *rows.shape[:-2]),
        rows=rows,
    )


def _encode(rows: Tensor, zero: Tensor, width: Tensor, bits: int) -> Tensor:
    share = torch.where(width > 0, (rows - zero) / width.clamp_min(2.0**-24), torch.zeros_like(rows))
    cells = 1 << bits
    return (share * cells).floor().clamp(0, cells - 1).to(torch.int32)


def decode(codes: Tensor, zero: Tensor, width: Tensor, bits: Tensor | int) -> Tensor:
    """The restored numbers, float64: the middle of the cell that a code of `bits` bits names."""
    return zero + (codes + 0.5) * torch.exp2(-torch.as_tensor(bits, dtype=F64)) * width


def half_up(x: Tensor) -> Tensor:
    """The least float16 numbers not below x >= 0, in float64.

    Raises:
        InvalidInputError: a number above 65504 or a NaN.
    """
    half = x.to(torch.float16)
    low = half.to(F64) < x
    up = torch.where(low, torch.nextafter(half, torch.full_like(half, torch.inf)), half).to(F64)
    if not up.isfinite().all():
        raise InvalidInputError("sidecar or range", "numbers that float16 can hold", float(x.max()))
    return up


def spectral_norm_upper(matrices: Tensor) -> Tensor:
    """An upper bound on the spectral norms of `[..., m, n]`, tight up to 1e-9 or so where LAPACK did well.

    With computed eigenpairs of the Gram matrix A, lmax(A) <= |V|^2 max|lambda| + |A - V diag(lambda) V'|_F for ANY V
    and lambda, so nothing is taken from the solver on trust.
    """
    gram = matrices @ matrices.mT if matrices.shape[-2] <= matrices.shape[-1] else matrices.mT @ matrices
    values, vectors = torch.linalg.eigh(gram)
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype)
    drift = torch.linalg.matrix_norm(vectors.mT @ vectors - identity)
    rest = torch.linalg.matrix_norm(gram - (vectors * values[..., None, :]) @ vectors.mT)
    rounding = 1e-13 * torch.linalg.matrix_norm(gram)
    square: Tensor = values.abs().amax(-1) * (1 + drift) + rest + rounding
    return square.sqrt() * _OUTWARD


def _split(codes: Tensor, bits: int) -> Tensor:
    flat = codes.flatten(-2)
    planes = [_pack((flat >> (bits - 1 - b)) & 1) for b in range(bits)]
    return torch.stack(planes, -2) if planes else flat.new_empty(*flat.shape[:-1], 0, 0, dtype=torch.uint8)


def _pack(bits: Tensor) -> Tensor:
    padded = split(torch.nn.functional.pad(bits, (0, -bits.shape[-1] % 8)), -1, (-1, 8))
    return (padded << torch.arange(8)).sum(-1).to(torch.uint8)


def unpack(plane: Tensor, size: int) -> Tensor:
    """The first `size` bits of packed bytes `[..., bytes]`, int32 `[..., size]`."""
    return ((plane[..., None].int() >> torch.arange(8)) & 1).flatten(-2)[..., :size]


def paged_rows(keys: Sequence[Tensor], values: Sequence[Tensor], page_size: int) -> tuple[Tensor, Tensor]:
    """All layers' rows `[G, T, D]` as pages `[2, L, G, P, S, D]` and the rows after them `[2, L, G, r, D]`."""
    both = torch.stack([torch.stack(list(keys)), torch.stack(list(values))])
    full = both.shape[-2] // page_size
    paged = split(both[..., : full * page_size, :], -2, (full, page_size))
    return paged, both[..., full * page_size :, :]
