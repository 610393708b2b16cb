"""Every mutant by name."""

from __future__ import annotations

from proofkv_verify.claims import Claim
from proofkv_verify.mutants import argmax, logit, output, quantizer, tv, tv_optimum

MUTANTS: dict[str, Claim] = {
    mutant.name: mutant for area in (quantizer, logit, tv, tv_optimum, output, argmax) for mutant in area.MUTANTS
}
