"""The one door through which bounds enter: a plain function registered as a claim about a documented quantity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from proofkv_verify.kinds import View
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.scalar import Math, Scalar

ClaimFunction: TypeAlias = Callable[[View, Math], Scalar]


@dataclass(frozen=True, slots=True)
class Claim:
    """A number computed from known data, claimed to bound (or decide) the true quantity of its kind.

    Attributes:
        name: slug of a built-in bound, name of a mutant, or the function's own name.
        kind: name of the kind (see `reference.registry`).
        function: `function(x, m)` with `x` the known fields and `m` the `Math` of the arithmetic in use.
        statement: the inequality in words (first line of the docstring).
        hypotheses: named hypotheses under which it is claimed, in the order of the proof sheet.
        lean: name of the Lean theorem, or "" if none is claimed.
        mutates: slug of the bound of which this is a planted wrong variant, or "".
    """

    name: str
    kind: str
    function: ClaimFunction
    statement: str
    hypotheses: tuple[str, ...] = ()
    lean: str = ""
    mutates: str = ""

    def __call__(self, x: View, m: Math) -> Scalar:
        """The claimed number in the arithmetic of `m`."""
        return self.function(x, m)


def claim(
    kind: str,
    *,
    name: str | None = None,
    hypotheses: tuple[str, ...] = (),
    lean: str = "",
    mutates: str = "",
) -> Callable[[ClaimFunction], Claim]:
    """Registers a function as a claim about the quantity `kind`, for `refute file.py:object` and the built-in tables.

    Example:
        >>> from proofkv_verify import claim
        >>> @claim("softmax_tv")
        ... def overlap(x, m):
        ...     a = m.sum(p * r for p, r in zip(x.weights, x.ratios))
        ...     b = m.sum(p / r for p, r in zip(x.weights, x.ratios))
        ...     return 1 - b / a
        >>> overlap.kind
        'softmax_tv'

    Raises:
        InvalidInputError: no such kind.
    """
    kind_named(kind)

    def register(function: ClaimFunction) -> Claim:
        text = inspect.getdoc(function) or ""
        return Claim(
            name=name or function.__name__,
            kind=kind,
            function=function,
            statement=text.split("\n", 1)[0],
            hypotheses=hypotheses,
            lean=lean,
            mutates=mutates,
        )

    return register
