"""Unsound: dither from the global generator at read time, so two reads of the same page differ.

The radius itself holds.
"""

import torch


class UnseededDither:
    def compress(self, keys, values):
        return {"dtype": keys.dtype, "keys": encode(keys), "values": encode(values)}

    def restore(self, pages):
        return decode(*pages["keys"], pages["dtype"]), decode(*pages["values"], pages["dtype"])

    def sidecar(self, pages):
        return {
            "key_box": radius(*pages["keys"], pages["dtype"]),
            "value_box": radius(*pages["values"], pages["dtype"]),
        }


def encode(x):
    scale = (x.float().abs().amax(-1, keepdim=True) / 127).clamp(min=2.0**-100)
    return (x.float() / scale).round().clamp(-127, 127).to(torch.int8), scale


def decode(codes, scale, dtype):
    top = torch.finfo(dtype).max
    dither = torch.rand(codes.shape) - 0.5  # wrong: nobody can replay these numbers
    return ((codes + dither) * scale).clamp(-top, top).to(dtype)


def radius(codes, scale, dtype):
    size = (codes.double().abs() + 1) * scale
    return scale.double() * (1 + 2**-14) + size * torch.finfo(dtype).eps + 2**-24


scheme = UnseededDither
