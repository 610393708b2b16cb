"""Certified greedy decoding from lossy pages: pages, enclosure through the model, refinement, loop, checker.

from proofkv_verify.decode import CertifiedDecoder, load_model, parse_scheme

decoder = CertifiedDecoder(load_model(), parse_scheme("4:8:16"), "exact")
result = decoder.generate(b"def main(", 16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofkv_verify.decode.decoder import CertifiedDecoder
    from proofkv_verify.decode.model import load_model
    from proofkv_verify.decode.pages import parse_scheme

__all__ = ["CertifiedDecoder", "load_model", "parse_scheme"]


def __getattr__(name: str) -> Any:
    """Loads the decoder, and with it torch, when it is first asked for: the checker of its certificates needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from proofkv_verify.decode import decoder, model, pages  # noqa: PLC0415

    return next(getattr(module, name) for module in (decoder, model, pages) if hasattr(module, name))
