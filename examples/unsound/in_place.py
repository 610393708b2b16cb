"""Unsound: `compress` rounds the caller's tensors in place, then measures its error against the rounded ones: 0."""


class InPlace:
    def compress(self, keys, values):
        for x in (keys, values):
            scale = (x.float().abs().amax(-1, keepdim=True) / 127).clamp(min=2.0**-100)
            x.copy_((x.float() / scale).round() * scale)  # wrong: x is the caller's
        return {"keys": keys.clone(), "values": values.clone(), "errors": (keys - keys, values - values)}

    def restore(self, pages):
        return pages["keys"], pages["values"]

    def sidecar(self, pages):
        key_error, value_error = pages["errors"]
        return {"key_box": key_error.abs(), "value_box": value_error.abs()}


scheme = InPlace
