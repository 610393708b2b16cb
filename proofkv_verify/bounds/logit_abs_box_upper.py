"""|logit change| from a box on the stored key error, taken through the rotation plane by plane."""

from __future__ import annotations

from proofkv_verify.claims import claim
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "logit_abs",
    name="logit_abs_box_upper",
    hypotheses=("planes_disjoint", "rotation_orthogonal", "key_error_in_box", "query_error_norm", "key_norm"),
    lean="ProofKV.logit_abs_le_rope_box",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object)
    """|scale m^2 <q, R e>| <= |scale| m^2 sum_c |(R^T q)_c| r_c, plus rho (|k_hat| + |r|) for a query error rho.

    The query is turned back into the stored coordinates, where the box holds; with keys stored after RoPE, R = 1.

    Sound when: the planes are disjoint pairs of coordinates; cos^2 + sin^2 = 1 in each; |e_c| <= r_c in stored
    coordinates; |dq| <= rho; |k_hat| <= key_norm.
    Lean: ProofKV.logit_abs_le_rope_box
    """
    query = turned_back(head_query(x), x)
    box = m.sum(m.abs(q) * r for q, r in zip(query, x.box_radii, strict=True))
    norm = m.sqrt(m.sum(r * r for r in x.box_radii))
    return logit_factor(x, m) * (box + x.query_radius * (x.key_norm + norm))


def head_query(x: View) -> list[Scalar]:
    """The query of the head asked about, one of the heads that share the KV head."""
    query: list[Scalar] = x.queries[x.query_head % len(x.queries)]
    return query


def turned_back(query: list[Scalar], x: View) -> list[Scalar]:
    """R^T q: each plane (i, j) turned by the opposite angle."""
    turned = list(query)
    for (i, j), c, s in zip(x.planes, x.cos, x.sin, strict=True):
        turned[i] = c * query[i] + s * query[j]
        turned[j] = c * query[j] - s * query[i]
    return turned


def logit_factor(x: View, m: Math) -> Scalar:
    """|softmax_scale| rope_factor^2: the attention factor enters once for the query and once for the key."""
    return m.abs(x.softmax_scale) * x.rope_factor * x.rope_factor
