"""Bounds of logits, attention weights and outputs, on a scheme's own pages, against the true change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch

from proofkv_verify.audit.attention import Attention
from proofkv_verify.audit.claim import AuditClaim, Finding, Setting
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.instances import logit_violation, row_violation
from proofkv_verify.audit.truth import Ends, parts_of, true_l2, true_linf, true_tv
from proofkv_verify.certificate import Counterexample
from proofkv_verify.fast.attention_l2_upper import attention_l2_upper
from proofkv_verify.fast.attention_linf_exact_upper import attention_linf_exact_upper
from proofkv_verify.fast.softmax_tv_cell_upper import softmax_tv_cell_upper
from proofkv_verify.fast.softmax_tv_eform_upper import softmax_tv_eform_upper
from proofkv_verify.fast.softmax_tv_hinge_upper import softmax_tv_hinge_upper
from proofkv_verify.fast.softmax_tv_histogram_upper import softmax_tv_histogram_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_moment_upper import softmax_tv_moment_upper
from proofkv_verify.fast.softmax_tv_odds_upper import softmax_tv_odds_upper
from proofkv_verify.fast.softmax_tv_optimum import softmax_tv_optimum
from proofkv_verify.fast.softmax_tv_overlap_upper import softmax_tv_overlap_upper

EXACT_LIMIT = 16
"""How many borderline numbers of one case are judged exactly before the case counts as undecided."""
