"""Unsound: one scale for the whole batch, so a request's numbers depend on who else is being served.

The radius itself holds.
"""

import torch


class BatchScale:
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
    scale = (x.float().abs().amax((0, 3), keepdim=True) / 127).clamp(min=2.0**-100)  # wrong: dim 0 is the batch
    return (x.float() / scale).round().clamp(-127, 127).to(torch.int8), scale


def decode(codes, scale, dtype):
    top = torch.finfo(dtype).max
    return (codes * scale).clamp(-top, top).to(dtype)


def radius(codes, scale, dtype):
    restored = decode(codes, scale, dtype).double()
    return scale.double() * (0.5 + 2**-15) + restored.abs() * torch.finfo(dtype).eps + 2**-24


scheme = BatchScale
