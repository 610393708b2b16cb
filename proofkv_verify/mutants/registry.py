"""Every mutant by name."""

from __future__ import annotations

from proofkv_verify.claims import Claim
from proofkv_verify.mutants import argmax, logit, quantizer

MUTANTS: dict[str, Claim] = {
    mutant.name: mutant for area in (quantizer, logit, argmax) for mutant in area.MUTANTS
}
