"""Every built-in bound by slug."""

from __future__ import annotations

from proofkv_verify.bounds import (
    argmax_margin_lower,
    attention_l2_upper,
    attention_linf_exact_upper,
    logit_abs_band_upper,
    logit_abs_box_upper,
    logit_abs_norm_upper,
    quantizer_step_upper,
    softmax_tv_cell_upper,
    softmax_tv_eform_upper,
    softmax_tv_exact,
    softmax_tv_hinge_upper,
    softmax_tv_histogram_upper,
    softmax_tv_mean_upper,
    softmax_tv_moment_upper,
    softmax_tv_odds_upper,
    softmax_tv_optimum,
    softmax_tv_overlap_upper,
)
from proofkv_verify.claims import Claim

_MODULES = (
    quantizer_step_upper,
    logit_abs_box_upper,
    logit_abs_band_upper,
    logit_abs_norm_upper,
    softmax_tv_exact,
    softmax_tv_eform_upper,
    softmax_tv_odds_upper,
    softmax_tv_mean_upper,
    softmax_tv_overlap_upper,
    softmax_tv_hinge_upper,
    softmax_tv_histogram_upper,
    softmax_tv_optimum,
    softmax_tv_cell_upper,
    softmax_tv_moment_upper,
    attention_l2_upper,
    attention_linf_exact_upper,
    argmax_margin_lower,
)

BOUNDS: dict[str, Claim] = {module.BOUND.name: module.BOUND for module in _MODULES}
