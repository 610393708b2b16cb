"""Enclosures of the true changes of weights and outputs, in float64, for one part of a case."""

from __future__ import annotations

import numpy as np
import torch

from proofkv_verify.audit.attention import Attention
from proofkv_verify.audit.floats import U
from proofkv_verify.search import bulk

Ends = tuple[torch.Tensor, torch.Tensor]
