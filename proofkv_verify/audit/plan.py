"""Which claims an audit of a scheme makes, in which order, and how it splits its time."""

from __future__ import annotations

from collections.abc import Sequence

from proofkv_verify.audit.claim import AuditClaim, Setting
from proofkv_verify.audit.claims_attention import attention_claims
from proofkv_verify.audit.claims_exhaust import exhaust_claims
from proofkv_verify.audit.claims_live import BYTES_CLAIM, CHANGED_CLAIM, HEADS_CLAIM, LOCAL_CLAIM, is_lossy
from proofkv_verify.audit.claims_radii import radius_claims
from proofkv_verify.audit.claims_results import CHUNK_CLAIM, RESULT_CLAIMS
from proofkv_verify.audit.data import Shape, random_cases
from proofkv_verify.audit.trial import declared_sidecar, run_case, streams
from proofkv_verify.schemes.base import Sidecar


def make_plan(setting: Setting, shape: Shape) -> list[AuditClaim]:
    """The claims that apply to a scheme: cheap properties of its results first, then radii, then what rests on them."""
    probe = run_case(setting.scheme, next(random_cases(shape, 0, 1)), setting.device)
    sidecar = declared_sidecar(setting.scheme, probe) or Sidecar()
    plan = [*RESULT_CLAIMS]
    if streams(setting.scheme) is not None:
        plan.append(CHUNK_CLAIM)
    plan += [HEADS_CLAIM, LOCAL_CLAIM]
    if is_lossy(setting.scheme.declaration):
        plan.append(CHANGED_CLAIM)
    if probe.pages.num_bytes is not None:
        plan.append(BYTES_CLAIM)
    return [*plan, *exhaust_claims(setting.scheme), *radius_claims(sidecar), *attention_claims()]


def share(plan: Sequence[AuditClaim], index: int, left_s: float) -> float:
    """Seconds for claim `index` out of those that are left: by weight among the claims still to come."""
    total = sum(claim.weight for claim in plan[index:])
    return left_s * plan[index].weight / total
