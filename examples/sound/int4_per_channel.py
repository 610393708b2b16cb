"""int4, one fp16 scale a channel and 32 tokens; the radius uses the scale as stored, and the excess where it clips."""

import torch

GROUP = 32


class Int4PerChannel:
    declaration = {"bits": 4, "scale_dtype": "fp16", "overflow": "saturate", "group_tokens": GROUP}

    def compress(self, keys, values):
        return {"dtype": keys.dtype, "keys": encode(keys), "values": encode(values)}

    def restore(self, pages):
        return decode(pages["keys"], pages["dtype"]), decode(pages["values"], pages["dtype"])

    def sidecar(self, pages):
        return {"key_box": radius(pages["keys"], pages["dtype"]), "value_box": radius(pages["values"], pages["dtype"])}


def encode(x):
    amax = torch.stack([g.float().abs().amax(2) for g in x.split(GROUP, 2)], 2)
    scale = (amax / 7).clamp(2.0**-14, 65504).half()  # the stored scale: the division below uses it too
    codes = (x.float() / spread(scale, x)).round().clamp(-7, 7).to(torch.int8)
    return codes, scale, amax


def spread(per_group, x):
    return per_group.repeat_interleave(GROUP, 2)[:, :, : x.shape[2]]


def decode(stored, dtype):
    codes, scale, _ = stored
    top = torch.finfo(dtype).max
    return (codes * spread(scale, codes).float()).clamp(-top, top).to(dtype)


def radius(stored, dtype):
    codes, scale, amax = stored
    step = spread(scale, codes).double()
    error = step * (0.5 + 2**-15)
    # A code of +-7 may be a clipped element: amax says how far out it can have been.
    clipped = spread(amax, codes).double() - 7 * step
    error = torch.where(codes.abs() == 7, torch.maximum(error, clipped), error)
    return error + decode(stored, dtype).double().abs() * torch.finfo(dtype).eps + 2**-24


scheme = Int4PerChannel
