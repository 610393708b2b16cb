"""Batches of cases of one structure: fields as float64 tensors, screened together and lifted one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.exact import lift_tensor
from proofkv_verify.kinds import Exact, Instance, Kind, View
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.inside import inside
from proofkv_verify.search.space import Structure, Tensors
from proofkv_verify.search.torch_math import TorchMath, TorchScalar

_MATH = TorchMath()
_ULPS = Fraction(1, 1 << 44)
_NARROW = {"weights": (0.0, True), "ratios": (1.0, False)}  # least value, and whether it is left out


@dataclass(frozen=True, slots=True)
class Screened:
    """Float64 values of a batch, each a tensor [batch]: truth, claimed, and by how much the claim fails.

    `excess` is positive where the claim seems violated, in units of the values' size; NaN where a value is not finite.
    """

    truth: torch.Tensor
    claimed: torch.Tensor
    excess: torch.Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases of one structure; `fields[name]` is a float64 tensor [batch, axes...]."""

    structure: Structure
    fields: Tensors

    def __len__(self) -> int:
        return next(iter(self.fields.values())).shape[0]

    def instance(self, index: int) -> Instance:
        """Case `index` as exact numbers, moved into the premises exactly."""
        fields = {name: _lift(tensor[index], name) for name, tensor in self.fields.items()}
        return inside(Instance(self.structure.kind, _snapped(fields), self.structure.params))

    def narrowed(self, dtype: torch.dtype) -> Batch:
        """The same cases with weights and ratios rounded to a narrower type: short numbers, ties, coarse grids."""
        fields = dict(self.fields)
        for name, (low, open_low) in _NARROW.items():
            if name in fields:
                fields[name] = narrow(fields[name], dtype, low, open_low=open_low, name=name)
        return Batch(self.structure, fields)


def narrow(tensor: torch.Tensor, dtype: torch.dtype, low: float, *, open_low: bool, name: str) -> torch.Tensor:
    """The values rounded to `dtype` and back to float64, within [low, largest finite] or (low, largest finite].

    Raises:
        InvalidInputError: a value that left its set in the cast (see `check_cast`).
    """
    info = torch.finfo(dtype)
    floor = info.smallest_normal if open_low and low == 0.0 else max(low, info.min)
    cast = tensor.clamp(floor, info.max).to(dtype)
    return check_cast(cast, low, info.max, open_low=open_low, name=name)


def check_cast(cast: torch.Tensor, low: float, high: float, *, open_low: bool = False, name: str) -> torch.Tensor:
    """The float64 values of a tensor after a cast, all finite and in [low, high], or (low, high] with `open_low`.

    Raises:
        InvalidInputError: a value that is not; drawing in a wide type and casting to a narrow one does that.
    """
    values = cast.to(torch.float64)
    legal = values.isfinite() & (values <= high) & ((values > low) if open_low else (values >= low))
    if not bool(legal.all()):
        bad = values[~legal].flatten()[0].item()
        raise InvalidInputError(name, f"finite values from {low} to {high} after the cast to {cast.dtype}", bad)
    return values


def evaluate(claim: Claim, batch: Batch) -> Screened:
    """Truth and claimed number of every case in float64: fast, differentiable, not rigorous.

    Raises:
        TypeError: the claim branches on a scalar.
        AttributeError: the claim reads a field that this form of the data does not have.
        ZeroDivisionError, InvalidInputError: as the claim's own function raises them.
    """
    kind = kind_named(claim.kind)
    truth = _value(kind.truth(_view(kind, batch, hidden=True), _MATH), len(batch))
    claimed = _value(claim(_view(kind, batch, hidden=False), _MATH), len(batch))
    return Screened(truth, claimed, _excess(kind, truth, claimed))


def _excess(kind: Kind, truth: torch.Tensor, claimed: torch.Tensor) -> torch.Tensor:
    size = truth.abs() + claimed.abs() + 1e-300
    if kind.relation == "decision":
        # A positive claim with truth exactly 0 is a violation: the excess of a case on the border is 0.
        return torch.minimum(claimed, -truth) / (1 + size)
    return (truth - claimed) / size


def _view(kind: Kind, batch: Batch, *, hidden: bool) -> View:
    values: dict[str, Any] = {**kind.params, **batch.structure.params}
    for item in kind.fields:
        if item.name in batch.fields and (hidden or not item.hidden):
            values[item.name] = _scalars(batch.fields[item.name])
    return kind.derive(View(kind.name, values), _MATH)


def _scalars(tensor: torch.Tensor) -> Any:
    if tensor.dim() == 1:
        return TorchScalar(tensor)
    return [_scalars(part) for part in tensor.unbind(1)]


def _value(scalar: Any, batch: int) -> torch.Tensor:
    return _MATH.const(scalar).t.expand(batch)


def _lift(tensor: torch.Tensor, name: str) -> Exact:
    return _tuples(lift_tensor(tensor, name).nested())


def _tuples(value: Any) -> Exact:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value


def _snapped(fields: dict[str, Any]) -> dict[str, Any]:
    """Tilts that differ from a vertex r or 1/r by float rounding only are put on it."""
    if "ratios" in fields:
        low = [1 / r for r in fields["ratios"]]
        high = list(fields["ratios"])
    elif "lower" in fields:
        low, high = list(fields["lower"]), list(fields["upper"])
    else:
        return fields
    tilts = tuple(_nearest(*row) for row in zip(fields["tilts"], low, high, strict=True))
    return {**fields, "tilts": tilts}


def _nearest(tilt: Fraction, low: Fraction, high: Fraction) -> Fraction:
    for end in (low, high):
        if abs(tilt - end) <= end * _ULPS:
            return end
    return tilt


def sizes_of(instance: Instance) -> Mapping[str, int]:
    """The size of each axis of an instance that is known to be well formed."""
    found: dict[str, int] = {}
    for item in kind_named(instance.kind).fields:
        value: Any = instance.fields.get(item.name)
        for axis in item.axes:
            if not isinstance(value, tuple):
                break
            found.setdefault(axis, len(value))
            value = value[0] if value else None
    return found


def complexity(instance: Instance) -> tuple[int, int, int]:
    """(sum of axis sizes, number of fields and parameters, length of all numbers): what shrinking makes small."""
    text = sum(_text_length(value) for value in instance.fields.values())
    return sum(sizes_of(instance).values()), len(instance.fields) + len(instance.params), text


def _text_length(value: Exact) -> int:
    if isinstance(value, Fraction):
        return len(str(value))
    return sum(_text_length(entry) for entry in value)
