"""Small schemes for audits: int8 with declared radii, and wrong ones that differ from it in one thing."""

from dataclasses import dataclass

import torch

from proofkv_verify.schemes.base import Declaration, Sidecar


@dataclass(frozen=True)
class Pages:
    codes: tuple
    scales: tuple
    dtype: torch.dtype
    stated: int | None = None

    @property
    def num_bytes(self):
        if self.stated is not None:
            return self.stated
        return sum(t.numel() * t.element_size() for t in (*self.codes, *self.scales))

    @property
    def seq_len(self):
        return self.codes[0].shape[2]


class Int8:
    name = "toy int8"
    declaration = Declaration(bits=8, radii="declared")
    radius_factor = 1.0

    def compress(self, keys, values):
        pairs = [_quantize(x) for x in (keys, values)]
        return Pages(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), keys.dtype)

    def restore(self, pages):
        return tuple((c.double() * s.double()).float() for c, s in zip(pages.codes, pages.scales, strict=True))

    def sidecar(self, pages):
        key, value = (self.radius_factor * s.double() * (0.5 + 2.0**-12) for s in pages.scales)
        shape = pages.codes[0].shape
        width = shape[-1] ** 0.5 * (1 + 2.0**-40)
        return Sidecar(
            key_box=key.expand(shape),
            key_norm=key[..., 0] * width,
            key_bands=(key * (shape[-1] / 4) ** 0.5 * (1 + 2.0**-40)).expand(*shape[:3], 4),
            value_box=value.expand(shape),
            value_norm=value[..., 0] * width,
        )

    def append(self, pages, keys, values):
        more = self.compress(keys, values)
        codes, scales = (
            tuple(torch.cat(pair, 2) for pair in zip(getattr(pages, n), getattr(more, n), strict=True))
            for n in ("codes", "scales")
        )
        return Pages(codes, scales, pages.dtype)


class ZeroRadii(Int8):
    """Declares that nothing is lost."""

    radius_factor = 0.0


class HalfRadii(Int8):
    """Declares half of the true radii."""

    radius_factor = 0.5


class NanRadii(Int8):
    """Declares radii that are no numbers."""

    radius_factor = float("nan")


class Overflowing(Int8):
    """Returns infinity for large numbers."""

    def restore(self, pages):
        return tuple((x * 1e30).half().float() / 1e30 for x in super().restore(pages))


class Idle(Int8):
    """Says that it has 8 bits and keeps all of them."""

    def compress(self, keys, values):
        return Pages((keys.clone(), values.clone()), (torch.ones(1), torch.ones(1)), keys.dtype)

    def restore(self, pages):
        return pages.codes

    def sidecar(self, pages):
        return Sidecar(key_box=torch.zeros(pages.codes[0].shape, dtype=torch.float64))


class Understated(Int8):
    """States fewer bytes than its pages hold."""

    def compress(self, keys, values):
        pages = super().compress(keys, values)
        return Pages(pages.codes, pages.scales, pages.dtype, pages.codes[0].numel())


class Raising(Int8):
    """Fails on every input."""

    def restore(self, pages):
        raise KeyError("no such page")


class Misshapen(Int8):
    """Drops the last token."""

    def restore(self, pages):
        return tuple(x[:, :, :-1] for x in super().restore(pages))


class Picky(Int8):
    """Refuses numbers above 1000, as it may."""

    def compress(self, keys, values):
        if float(keys.abs().max()) > 1000 or float(values.abs().max()) > 1000:
            raise ValueError("numbers above 1000")
        return super().compress(keys, values)


def _quantize(x):
    scale = (x.float().abs().amax(-1, keepdim=True) / 127).clamp(min=2.0**-100)
    return (x.double() / scale.double()).round().clamp(-127, 127).to(torch.int8), scale


good = Int8()
zero_radii = ZeroRadii()
