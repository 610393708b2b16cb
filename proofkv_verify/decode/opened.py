"""What has been read of the pages so far: restored rows, the set that the sidecars leave, and the bytes it cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from proofkv_verify.decode.model import Cache
from proofkv_verify.decode.pages import BOX_UP, F64, FULL, KEYS, VALUES, Pages, Scheme, compress, decode, unpack
from proofkv_verify.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Sets:
    """The uncertainty set of one layer's rows, per KV head: the intersection of the sidecars.

    Attributes:
        key_norm, value_norm: bound on the L2 error of each row `[G, T]`.
        key_box: bound on each channel's error `[G, T, D]`; value_box: on every channel of a row `[G, T]`.
        key_sigma, value_sigma: bound on the spectral norm of each page's error matrix `[G, P]`.
        page_size: rows of a page; the first P * page_size rows lie in pages.
    """

    key_norm: Tensor
    value_norm: Tensor
    key_box: Tensor
    value_box: Tensor
    key_sigma: Tensor
    value_sigma: Tensor
    page_size: int


@dataclass(slots=True)
class Opened:
    """The part of a paged cache that has been read; refining changes it in place.

    Attributes:
        levels: bits read of each unit, int64 `[2, L, G, P]`, 16 for the stored rows.
        tail: rows after the last full page `[2, L, G, r, D]`; tail_norm: L2 radius of each, 0 where exact `[2, L, G,
            r]`.
        uncertain: how many of the last rows are not exact.
        payload_bits, sidecar_bits: read so far, sidecars with scales included.
    """

    pages: Pages
    scheme: Scheme
    tail: Tensor
    tail_norm: Tensor = field(init=False)
    levels: Tensor = field(init=False)
    restored: Tensor = field(init=False)
    codes: Tensor = field(init=False)
    uncertain: int = 0
    payload_bits: int = 0
    sidecar_bits: int = 0

    def __post_init__(self) -> None:
        shape = self.pages.rows.shape
        self.tail_norm = torch.zeros(self.tail.shape[:-1], dtype=F64)
        self.levels = torch.zeros(shape[:4], dtype=torch.int64)
        self.codes = torch.zeros(shape, dtype=torch.int32)
        self.restored = torch.zeros(shape, dtype=F64)
        self.refine(torch.full_like(self.levels, self.scheme.levels[0]))

    @property
    def num_tokens(self) -> int:
        """Rows of each layer and head."""
        return self.pages.rows.shape[3] * self.scheme.page_size + self.tail.shape[-2]

    def begin_step(self, *, keep_levels: bool) -> None:
        """Starts a step's byte count with what it reads anyway; drops refined units to the first level unless kept."""
        base = self.scheme.levels[0]
        if not keep_levels and bool((raised := self.levels > base).any()):
            self.levels[raised], self.codes[raised] = 0, 0
            self._read(raised, base)
        elements = self.scheme.page_size * self.pages.rows.shape[-1]
        lossy = self.levels < FULL
        self.payload_bits = int(self.levels.sum()) * elements + self.tail.numel() * FULL
        self.sidecar_bits = int(lossy.sum()) * 16 * (self.scheme.page_size + 1) + self._scale_bits(lossy)

    def refine(self, wanted: Tensor) -> int:
        """Reads the missing planes of every unit whose wanted level is higher; returns how many units changed.

        Raises:
            InvalidInputError: a level that the ladder lacks, or a page that contradicts its sidecar.
        """
        changed = 0
        for level in self.scheme.ladder:
            mask = (wanted == level) & (self.levels < level)
            if mask.any():
                changed += int(mask.sum())
                self._read(mask, level)
        if bool((self.levels < wanted).any()):
            raise InvalidInputError("level", f"one of {self.scheme.ladder}", int(wanted.max()))
        return changed

    def _read(self, mask: Tensor, level: int) -> None:
        elements = self.scheme.page_size * self.pages.rows.shape[-1]
        before, kept = self.restored.clone(), (self.token_norms(), self.levels.clone())
        if level == FULL:
            self.restored[mask] = self.pages.rows[mask]
            self.payload_bits += int(mask.sum()) * FULL * elements
        else:
            self.payload_bits += int((level - self.levels[mask]).sum()) * elements
            self.sidecar_bits += int(mask.sum()) * 16 * (self.scheme.page_size + 1)
            self.sidecar_bits += self._scale_bits(mask & (self.levels == 0))
            self._decode(mask, level)
        self.levels[mask] = level
        self._check(mask, before, kept)

    def _scale_bits(self, first: Tensor) -> int:
        scales = (self.pages.rows.shape[-1], self.scheme.page_size)
        return sum(int(first[kind].sum()) * 32 * scales[kind] for kind in (KEYS, VALUES))

    def _decode(self, mask: Tensor, level: int) -> None:
        for kind in (KEYS, VALUES):
            units = mask[kind]
            codes, start = self.codes[kind][units], self.levels[kind][units]
            for bit in range(level):
                plane = unpack(self.pages.planes[kind][units][:, bit], codes[0].numel() if len(codes) else 0)
                fresh = (start <= bit)[:, None, None]
                codes = torch.where(fresh, codes * 2 + plane.reshape(codes.shape), codes)
            self.codes[kind][units] = codes.to(torch.int32)
            zero, width = self.pages.zero[kind][units], self.pages.width[kind][units]
            self.restored[kind][units] = decode(codes, zero, width, level)

    def token_norms(self) -> Tensor:
        """The token error norms at the present levels `[2, L, G, P, S]`; 0 at level 16."""
        return self._at_level(self.pages.norms)

    def _at_level(self, table: Tensor) -> Tensor:
        found = torch.zeros(table.shape[1:], dtype=F64)
        for at, bits in enumerate(b for b in self.scheme.levels if b < FULL):
            found[self.levels == bits] = table[at][self.levels == bits]
        return found

    def _check(self, mask: Tensor, before: Tensor, kept: tuple[Tensor, Tensor]) -> None:
        """The new level's set meets the old one's: the centres are no farther apart than the radii allow."""
        old, levels = kept
        gap = (self.restored - before).norm(dim=-1)
        allowed = (old + self.token_norms()) * (1 + 1e-12)
        known = self.pages.norms.isfinite().all(0) & (self.pages.norms >= 0).all(0)
        apart = (~(gap <= allowed) & (levels > 0)[..., None] & mask[..., None]) | (~known & mask[..., None])
        if apart.any():
            kind, layer, head, page, _ = apart.nonzero()[0].tolist()
            name = f"{('keys', 'values')[kind]} of layer {layer}, KV head {head}, page {page}"
            raise InvalidInputError(
                f"sidecar of the {name}", "a set that contains the page's refined content", "an empty set"
            )

    def cache(self, layer: int) -> Cache:
        """The rows of one layer as restored, then the exact rows."""
        keys, values = (
            torch.cat([self.restored[k, layer].flatten(1, 2), self.tail[k, layer]], 1) for k in (KEYS, VALUES)
        )
        return Cache(keys, values)

    def sets(self, layer: int) -> Sets:
        """The uncertainty set of one layer; exact rows have radius 0."""
        norms, sigmas = self.token_norms()[:, layer], self._at_level(self.pages.sigmas)[:, layer]
        key_tail, value_tail = self.tail_norm[:, layer]
        levels = self.levels[:, layer]
        half = torch.where(levels < FULL, torch.exp2(-(levels + 1).to(F64)) * BOX_UP, 0.0)
        key_box = (self.pages.width[KEYS][layer] * half[KEYS][..., None, None]).expand(
            -1, -1, self.scheme.page_size, -1
        )
        value_box = (self.pages.width[VALUES][layer] * half[VALUES][..., None, None])[..., 0]
        key_rows = key_tail[..., None].expand(*key_tail.shape, self.tail.shape[-1])
        return Sets(
            key_norm=torch.cat([norms[KEYS].flatten(1), key_tail], 1),
            value_norm=torch.cat([norms[VALUES].flatten(1), value_tail], 1),
            key_box=torch.cat([key_box.flatten(1, 2), key_rows], 1),
            value_box=torch.cat([value_box.flatten(1), value_tail], 1),
            key_sigma=sigmas[KEYS],
            value_sigma=sigmas[VALUES],
            page_size=self.scheme.page_size,
        )

    def append(self, row: Tensor) -> None:
        """Adds an exact row `[2, L, G, D]`; a page that it fills is compressed and kept at the first level.

        Raises:
            InvalidInputError: an earlier row of the tail is not exact.
        """
        if self.uncertain:
            raise InvalidInputError("tail", "exact rows before a row that is exact", "a row with a radius")
        self.append_uncertain(row, torch.zeros(row.shape[:-1], dtype=F64))
        self.uncertain = 0
        if self.tail.shape[-2] == self.scheme.page_size:
            self._close()

    def append_uncertain(self, row: Tensor, norm: Tensor) -> None:
        """Adds a row `[2, L, G, D]` that is known up to L2 radii `[2, L, G]`; it never enters a page."""
        self.tail = torch.cat([self.tail, row[..., None, :]], -2)
        self.tail_norm = torch.cat([self.tail_norm, norm[..., None]], -1)
        self.uncertain += 1

    def drop_uncertain(self) -> None:
        """Takes the rows off that were added as uncertain, before the exact ones are appended."""
        keep = self.tail.shape[-2] - self.uncertain
        self.tail, self.tail_norm, self.uncertain = self.tail[..., :keep, :], self.tail_norm[..., :keep], 0

    def _close(self) -> None:
        fresh = Opened(compress(self.tail[:, :, :, None], self.scheme), self.scheme, self.tail[..., :0, :])
        self.pages = join(self.pages, fresh.pages)
        for name in ("levels", "codes", "restored"):
            setattr(self, name, torch.cat([getattr(self, name), getattr(fresh, name)], 3))
        self.payload_bits += fresh.payload_bits
        self.sidecar_bits += fresh.sidecar_bits
        self.tail, self.tail_norm = fresh.tail, fresh.tail_norm


def join(a: Pages, b: Pages) -> Pages:
    """The pages of a followed by those of b."""
    return Pages(
        planes=torch.cat([a.planes, b.planes], 3),
        zero=(torch.cat([a.zero[0], b.zero[0]], 2), torch.cat([a.zero[1], b.zero[1]], 2)),
        width=(torch.cat([a.width[0], b.width[0]], 2), torch.cat([a.width[1], b.width[1]], 2)),
        norms=torch.cat([a.norms, b.norms], 4),
        sigmas=torch.cat([a.sigmas, b.sigmas], 4),
        rows=torch.cat([a.rows, b.rows], 3),
    )
