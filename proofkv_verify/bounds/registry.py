"""Every built-in bound by slug."""

from __future__ import annotations

from proofkv_verify.bounds import (
    argmax_margin_lower,
    logit_abs_band_upper,
    logit_abs_box_upper,
    logit_abs_norm_upper,
    quantizer_step_upper,
    softmax_tv_mean_upper,
)
from proofkv_verify.claims import Claim

_MODULES = (
    quantizer_step_upper,
    logit_abs_box_upper,
    logit_abs_band_upper,
    logit_abs_norm_upper,
    softmax_tv_mean_upper,
    argmax_margin_lower,
)

BOUNDS: dict[str, Claim] = {module.BOUND.name: module.BOUND for module in _MODULES}
