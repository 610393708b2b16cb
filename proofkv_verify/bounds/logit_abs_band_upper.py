"""|logit change| from error norms in bands that rotations leave in place."""

from __future__ import annotations

from proofkv_verify.bounds.logit_abs_box_upper import head_query, logit_factor
from proofkv_verify.claims import claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import View
from proofkv_verify.scalar import Math, Scalar


@claim(
    "logit_abs",
    name="logit_abs_band_upper",
    hypotheses=(
        "bands_partition_coordinates",
        "bands_are_unions_of_planes",
        "rotation_orthogonal",
        "key_error_bands",
        "query_error_norm",
        "key_norm",
    ),
    lean="ProofKV.logit_abs_le_rope_bands",
)
def BOUND(x: View, m: Math) -> Scalar:  # noqa: N802 (a registered object)
    """|scale m^2 <q, R e>| <= |scale| m^2 (sum_b |q|_b rho_b + rho (|k_hat| + |rho_b|)) over bands b.

    The same at every position, before or after RoPE: a band norm does not change under rotation inside its planes.

    Sound when: the bands partition the coordinates; each plane lies in one band (else InvalidInputError);
    cos^2 + sin^2 = 1; |e|_b <= rho_b; |dq| <= rho; |k_hat| <= key_norm.
    Source: docs/theory.md R7.
    Lean: ProofKV.logit_abs_le_rope_bands
    """
    require_bands(x)
    query = head_query(x)
    norms = [m.sqrt(m.sum(query[i] * query[i] for i in band)) for band in x.bands]
    total = m.sum(norm * radius for norm, radius in zip(norms, x.band_radii, strict=True))
    error = m.sqrt(m.sum(radius * radius for radius in x.band_radii))
    return logit_factor(x, m) * (total + x.query_radius * (x.key_norm + error))


def require_bands(x: View) -> None:
    """Checks that the bands partition the coordinates and hold whole rotation planes.

    Raises:
        InvalidInputError: a coordinate in no band or in two, or a plane across two bands.
    """
    coordinates = sorted(i for band in x.bands for i in band)
    if coordinates != list(range(len(x.queries[0]))):
        raise InvalidInputError("bands", "a partition of the coordinates", x.bands)
    for i, j in x.planes:
        if not any(i in band and j in band for band in x.bands):
            raise InvalidInputError("bands", f"plane ({i}, {j}) inside one band", x.bands)
