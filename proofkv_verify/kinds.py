"""What claims are about: for each kind the data of an instance, its premises and its true quantity.

An instance holds exact numbers only. *Known* fields are what a certificate may use (compressed data and declared
radii); *hidden* fields are the exact data that the radii enclose. A claim is sound when, for every instance whose
premises hold, the true quantity relates to the claimed number as the kind's relation says. Premises and true
quantities are plain functions over the scalar interface; the checker evaluates them on exact rationals and balls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.scalar import Condition, Math, Scalar

Exact: TypeAlias = "Fraction | tuple[Exact, ...]"
Params: TypeAlias = Mapping[str, Any]  # ints, strings and nested lists of them
Relation: TypeAlias = Literal["upper", "decision"]
Premises: TypeAlias = "Callable[[View, Math], Sequence[tuple[str, Condition]]]"


@dataclass(frozen=True, slots=True)
class Lazy:
    """A derived field that is computed when read (so that z3 meets `log` only in claims that use it)."""

    compute: Callable[[], Any]


class View:
    """The fields of an instance in one arithmetic: scalars, lists of scalars, lists of lists."""

    def __init__(self, kind: str, values: Mapping[str, Any]) -> None:
        self._kind = kind
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            known = ", ".join(sorted(self._values))
            raise AttributeError(f"{self._kind} has no known field {name!r}; it has {known}") from None
        return value.compute() if isinstance(value, Lazy) else value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def extended(self, **more: Any) -> View:
        """This view with more fields."""
        return View(self._kind, {**self._values, **more})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an instance: its axes ("n", "d": equal names mean equal sizes), and whether claims see it."""

    name: str
    axes: tuple[str, ...]
    meaning: str
    hidden: bool = False
    optional: bool = False
    integer: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A documented true quantity that bounds may be claimed for.

    Attributes:
        relation: "upper": sound when truth <= claimed; "decision": sound when claimed <= 0 or truth > 0.
        derive: adds derived fields to a view (normalised weights, ratios).
        known_premises: named conditions on known data alone; they also guard certificates without hidden data.
        hidden_premises: named conditions that tie the hidden data to the known radii.
        truth: the true quantity, from all fields.
        params: the parameters (integers, text, lists of them) and their defaults.
    """

    name: str
    doc: str
    fields: tuple[Field, ...]
    relation: Relation
    derive: Callable[[View, Math], View]
    known_premises: Premises
    hidden_premises: Premises
    truth: Callable[[View, Math], Scalar]
    params: Mapping[str, Any] = field(default_factory=dict)

    def field_named(self, name: str) -> Field:
        """The field called `name`."""
        for item in self.fields:
            if item.name == name:
                return item
        raise InvalidInputError(name, f"a field of {self.name}", name)


@dataclass(frozen=True, slots=True)
class Instance:
    """Exact data of one case: the kind's name, its fields as nested tuples of rationals, and its parameters."""

    kind: str
    fields: Mapping[str, Exact]
    params: Params = field(default_factory=dict)


def as_given(x: View, _m: Math) -> View:
    """The `derive` of a kind without derived fields."""
    return x


def validate(instance: Instance, kind: Kind, *, hidden: bool) -> dict[str, int]:
    """Checks names and shapes of an instance and returns the size of each axis; hidden fields must be there on request.

    Raises:
        InvalidInputError: an unknown or missing field or parameter.
        ShapeError: an axis with two sizes, or a wrong nesting.
    """
    names = {item.name for item in kind.fields}
    for name in instance.fields:
        if name not in names:
            raise InvalidInputError(name, f"a field of {kind.name}", "an unknown field")
    for name, value in instance.params.items():
        if name not in kind.params:
            raise InvalidInputError(name, f"a parameter of {kind.name}", "an unknown parameter")
        _check_param(name, value, kind.params[name])
    sizes: dict[str, int] = {}
    for item in kind.fields:
        if item.name in instance.fields:
            _measure(item, instance.fields[item.name], item.axes, sizes)
        elif not item.optional and (hidden or not item.hidden):
            raise InvalidInputError(item.name, f"a field of {kind.name}", "nothing")
    return sizes


def view(instance: Instance, kind: Kind, math: Math, *, hidden: bool) -> View:
    """The instance in the arithmetic of `math`, with derived fields; hidden fields only on request."""
    validate(instance, kind, hidden=hidden)
    values: dict[str, Any] = {**kind.params, **instance.params}
    for item in kind.fields:
        if item.name in instance.fields and (hidden or not item.hidden):
            values[item.name] = _convert(instance.fields[item.name], math)
    return kind.derive(View(kind.name, values), math)


def _check_param(name: str, value: Any, default: Any) -> None:
    wanted = (list, tuple) if isinstance(default, list) else type(default)
    if not isinstance(value, wanted) or isinstance(value, bool) != isinstance(default, bool):
        raise InvalidInputError(name, f"a value of the type of {default!r}", repr(value))


def _measure(item: Field, value: Exact, axes: tuple[str, ...], sizes: dict[str, int]) -> None:
    if not axes:
        if not isinstance(value, Fraction):
            raise ShapeError(item.name, "one exact number", type(value).__name__)
        if item.integer and value.denominator != 1:
            raise InvalidInputError(item.name, "an integer", value)
        return
    if not isinstance(value, tuple):
        raise ShapeError(item.name, f"a tuple along axis {axes[0]}", type(value).__name__)
    if sizes.setdefault(axes[0], len(value)) != len(value):
        raise ShapeError(item.name, f"{sizes[axes[0]]} entries along axis {axes[0]}", len(value))
    for entry in value:
        _measure(item, entry, axes[1:], sizes)


def _convert(value: Exact, math: Math) -> Any:
    if isinstance(value, tuple):
        return [_convert(entry, math) for entry in value]
    return math.const(value)
