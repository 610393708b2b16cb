"""Decides whether the certificate attached to a lossy KV cache can be believed."""

from proofkv_verify.claims import Claim, claim
from proofkv_verify.verdict import Inconclusive, Refuted, Status, Verdict, Verified

__all__ = ["Claim", "Inconclusive", "Refuted", "Status", "Verdict", "Verified", "claim"]
