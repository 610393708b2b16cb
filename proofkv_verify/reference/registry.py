"""Every kind of true quantity by name."""

from __future__ import annotations

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Kind
from proofkv_verify.reference.argmax import ARGMAX
from proofkv_verify.reference.logit import LOGIT_ABS
from proofkv_verify.reference.observed import ELEMENT_ERROR, NON_FINITE, STORED_BYTES, UNCHANGED, VECTOR_ERROR
from proofkv_verify.reference.output import ATTENTION_L2, ATTENTION_LINF
from proofkv_verify.reference.quantizer import QUANTIZER_STEP
from proofkv_verify.reference.softmax_tv import SOFTMAX_TV

CLAIMABLE = (QUANTIZER_STEP, LOGIT_ABS, SOFTMAX_TV, ATTENTION_L2, ATTENTION_LINF, ARGMAX)
OBSERVED = (ELEMENT_ERROR, VECTOR_ERROR, NON_FINITE, UNCHANGED, STORED_BYTES)
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*CLAIMABLE, *OBSERVED)}


def kind_named(name: str) -> Kind:
    """The kind called `name`.

    Raises:
        InvalidInputError: no such kind.
    """
    if name not in KINDS:
        raise InvalidInputError("kind", f"one of {', '.join(KINDS)}", name)
    return KINDS[name]
