"""Decides whether the certificate attached to a lossy KV cache can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proofkv_verify.claims import Claim, claim
from proofkv_verify.verdict import Inconclusive, Refuted, Status, Verdict, Verified

if TYPE_CHECKING:
    from proofkv_verify.search.driver import refute

__all__ = ["Claim", "Inconclusive", "Refuted", "Status", "Verdict", "Verified", "claim", "refute"]


def __getattr__(name: str) -> Any:
    """Loads `refute`, and with it torch and z3, when it is first asked for: the checker needs neither."""
    if name == "refute":
        from proofkv_verify.search.driver import refute  # noqa: PLC0415

        return refute
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
