"""int8, one fp32 scale a token and head; the radius counts every rounding of this very code."""

import torch


class Int8PerToken:
    declaration = {"bits": 8, "elementwise": True, "scale_dtype": "fp32", "rounding": "nearest_even"}

    def compress(self, keys, values):
        return {"dtype": keys.dtype, "keys": encode(keys), "values": encode(values)}

    def restore(self, pages):
        return decode(*pages["keys"], pages["dtype"]), decode(*pages["values"], pages["dtype"])

    def sidecar(self, pages):
        return {
            "key_box": radius(*pages["keys"], pages["dtype"]),
            "value_box": radius(*pages["values"], pages["dtype"]),
        }

    def append(self, pages, keys, values):
        more = self.compress(keys, values)
        joined = {side: join(pages[side], more[side]) for side in ("keys", "values")}
        return {"dtype": pages["dtype"], **joined}


def encode(x):
    # An fp32 subnormal scale would lose bits (or be flushed to 0), hence the floor.
    scale = (x.float().abs().amax(-1, keepdim=True) / 127).clamp(min=2.0**-100)
    codes = (x.float() / scale).round().clamp(-127, 127)
    return codes.to(torch.int8), scale


def decode(codes, scale, dtype):
    top = torch.finfo(dtype).max
    return (codes * scale).clamp(-top, top).to(dtype)


def radius(codes, scale, dtype):
    # scale / 2; the fp32 quotient errs by at most 127 * 2^-24 < 2^-16; the cast by half an eps (a whole one is taken),
    # and 2^-24 covers subnormals.
    restored = decode(codes, scale, dtype).double()
    return scale.double() * (0.5 + 2**-15) + restored.abs() * torch.finfo(dtype).eps + 2**-24


def join(first, second):
    return tuple(torch.cat(pair, 2) for pair in zip(first, second, strict=True))


scheme = Int8PerToken
