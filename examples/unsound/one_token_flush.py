"""Unsound: groups run along tokens, and each appended token is flushed as a group of its own, where min = max.

So decoded tokens come back exactly, another answer than that of the same tokens compressed at once, and what the
pages state as their size is that of 2-bit codes: it leaves out the two numbers stored with each group.
"""

from dataclasses import dataclass

import torch

GROUP, TOP = 32, 3


@dataclass
class Pages:
    dtype: torch.dtype
    keys: list
    values: list

    @property
    def num_bytes(self):
        return sum(codes.numel() for codes, _, _ in self.keys + self.values) // 4


class OneTokenFlush:
    declaration = {"bits": 2, "group_tokens": GROUP, "scale_dtype": "fp32"}

    def compress(self, keys, values):
        return Pages(keys.dtype, encode(keys), encode(values))

    def append(self, pages, keys, values):
        # wrong: a group must wait until it is full
        return Pages(pages.dtype, pages.keys + encode(keys), pages.values + encode(values))

    def restore(self, pages):
        return tuple(torch.cat([decode(*g, pages.dtype) for g in side], 2) for side in (pages.keys, pages.values))

    def sidecar(self, pages):
        sides = (("key_box", pages.keys), ("value_box", pages.values))
        return {name: torch.cat([radius(*g, pages.dtype) for g in side], 2) for name, side in sides}


def encode(x):
    return [group(part.float()) for part in x.split(GROUP, 2)]


def group(x):
    low = x.amin(2, keepdim=True)
    scale = ((x.amax(2, keepdim=True) - low) / TOP).clamp(min=2.0**-100)
    return ((x - low) / scale).round().clamp(0, TOP).to(torch.uint8), scale, low


def decode(codes, scale, low, dtype):
    top = torch.finfo(dtype).max
    return (codes * scale + low).clamp(-top, top).to(dtype)


def radius(codes, scale, low, dtype):
    size = decode(codes, scale, low, dtype).double().abs() + low.double().abs() + scale.double()
    return scale.double() * (0.5 + 2**-15) + size * torch.finfo(dtype).eps + 2**-24


scheme = OneTokenFlush
