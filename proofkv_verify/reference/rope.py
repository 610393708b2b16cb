"""Rotary position embedding: which coordinates form a plane, by which angle each turns, and the turned vector.

Order of operations: the angle of plane j at position t is t * theta^(-2j/rotary_dim); the pair (a, b) becomes
factor * (c a - s b, s a + c b). Coordinates from rotary_dim on are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from proofkv_verify.ball import BallMath, Real
from proofkv_verify.errors import InvalidInputError

Pairing: TypeAlias = Literal["half_split", "interleaved"]
_MATH = BallMath()


@dataclass(frozen=True, slots=True)
class Rope:
    """A rotary embedding.

    Attributes:
        theta: base of the frequencies, positive.
        rotary_dim: even number of coordinates that turn, the first ones.
        pairing: "half_split" turns (i, i + rotary_dim/2) together, "interleaved" (2i, 2i + 1).
        factor: attention factor that multiplies cos and sin (YaRN; 1 otherwise).
    """

    theta: Fraction
    rotary_dim: int
    pairing: Pairing = "half_split"
    factor: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.theta <= 0:
            raise InvalidInputError("theta", "a positive number", self.theta)
        if self.rotary_dim < 0 or self.rotary_dim % 2:
            raise InvalidInputError("rotary_dim", "an even number that is not negative", self.rotary_dim)
        if self.pairing not in ("half_split", "interleaved"):
            raise InvalidInputError("pairing", "half_split or interleaved", self.pairing)


def planes(rope: Rope) -> list[tuple[int, int]]:
    """The pairs of coordinates that turn together, in order of falling frequency."""
    half = rope.rotary_dim // 2
    if rope.pairing == "half_split":
        return [(j, j + half) for j in range(half)]
    return [(2 * j, 2 * j + 1) for j in range(half)]


def cos_sin(rope: Rope, position: int) -> list[tuple[Real, Real]]:
    """Cosine and sine of each plane's angle at a position, at the working precision."""
    log_theta = _MATH.log(rope.theta)
    found = []
    for j in range(rope.rotary_dim // 2):
        frequency = _MATH.exp(log_theta * Fraction(-2 * j, rope.rotary_dim))
        found.append(_MATH.cos_sin(frequency * position))
    return found


def rotate(vector: Sequence[Real], rope: Rope, position: int) -> list[Real]:
    """The vector as it stands after RoPE at this position.

    Raises:
        InvalidInputError: the vector is shorter than rotary_dim.
    """
    if len(vector) < rope.rotary_dim:
        raise InvalidInputError("vector", f"at least {rope.rotary_dim} coordinates", len(vector))
    turned = list(vector)
    for (i, j), (c, s) in zip(planes(rope), cos_sin(rope, position), strict=True):
        turned[i] = (c * vector[i] - s * vector[j]) * rope.factor
        turned[j] = (s * vector[i] + c * vector[j]) * rope.factor
    return turned
