"""|logit change| from the Euclidean norm of the key error (Cauchy-Schwarz), any rotation."""

from __future__ import annotations

from proofkv_verify.bounds.logit_abs_box_upper import head_query, logit_factor
from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "logit_abs",
    name="logit_abs_norm_upper",
    hypotheses=("planes_disjoint", "rotation_orthogonal", "key_error_norm", "query_error_norm", "key_norm"),
    lean="ProofKV.logit_abs_le_rope_norms",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object)
    """|scale m^2 <q, R e>| <= |scale| m^2 (|q| eps + rho (|k_hat| + eps)), eps the error norm of the head's KV head.

    Query head h of a group of G reads KV head floor(h / G).

    Sound when: the planes are disjoint; cos^2 + sin^2 = 1; |e| <= eps for the KV head that the query head reads;
    |dq| <= rho; |k_hat| <= key_norm.
    Lean: ProofKV.logit_abs_le_rope_norms
    """
    radius = x.norm_radii[x.query_head // len(x.queries)]
    norm = m.sqrt(m.sum(q * q for q in head_query(x)))
    return logit_factor(x, m) * (norm * radius + x.query_radius * (x.key_norm + radius))
