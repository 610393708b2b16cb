"""Every built-in bound by slug."""

from __future__ import annotations

from proofkv_verify.bounds import softmax_tv_mean_upper
from proofkv_verify.claims import Claim

BOUNDS: dict[str, Claim] = {module.BOUND.name: module.BOUND for module in (softmax_tv_mean_upper,)}
