"""Counterexamples of an audit: exact numbers of what a scheme did, which replay without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from proofkv_verify.audit.claim import Setting
from proofkv_verify.certificate import Counterexample, Interval
from proofkv_verify.check import check_number
from proofkv_verify.exact import format_exact, lift_float, lift_tensor
from proofkv_verify.kinds import Exact, Instance

_PACKAGES = ("proofkv-verify", "torch", "python-flint")


def versions() -> dict[str, str]:
    """Versions of the packages that take part in an audit."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found


def exact(tensor: torch.Tensor) -> Exact:
    """A tensor of finite floats as nested tuples of exact numbers."""
    if tensor.dim() == 0:
        return lift_float(float(tensor), "number")
    return _tuples(lift_tensor(tensor.detach().cpu(), "tensor").nested())


def counterexample(
    setting: Setting,
    bound: str,
    kind: str,
    fields: Mapping[str, Exact],
    claimed: Fraction,
    engine: str,
    note: str,
    params: Mapping[str, Any] | None = None,
) -> Counterexample:
    """Exact data on which the claimed number of a scheme's bound fails, with the enclosure of the true quantity."""
    instance = Instance(kind, fields, params or {})
    truth = check_number(instance, claimed).truth
    return Counterexample(
        claim=f"audit:{setting.target}:{bound}",
        instance=instance,
        claimed=Interval(claimed, claimed),
        truth=truth or Interval(None, None),
        engine=engine,
        seed=setting.seed,
        versions=versions(),
        source=setting.source,
        note=note,
    )


def not_finite(setting: Setting, bound: str, value: float, came: float, engine: str, where: str) -> Counterexample:
    """A finite input that came back as NaN or infinity, or got such a radius."""
    text = "nan" if came != came else "inf" if came > 0 else "-inf"
    left = (lift_float(value, "input"),)
    note = f"{where}: {value!r} came back as {text}"
    return counterexample(setting, bound, "non_finite", {"left": left}, Fraction(0), engine, note, {"restored": text})


def unequal(
    setting: Setting,
    bound: str,
    first: torch.Tensor,
    second: torch.Tensor,
    engine: str,
    where: str,
    inputs: torch.Tensor,
) -> Counterexample | None:
    """The simplest element in which two results that must be equal differ, as a counterexample; None if none does.

    Args:
        setting: of the audit.
        bound: slug of the claim.
        first: one result; NaN in the same place of both counts as equal.
        second: the other, of the same shape.
        engine: which inputs they come from.
        where: what they are, for the reader.
        inputs: the original elements, named where a result is not finite.
    """
    differ = (first != second) & ~(first.isnan() & second.isnan())
    if not bool(differ.any()):
        return None
    index = simplest(differ, first, second)
    a, b = float(first[index]), float(second[index])
    place = f"{where}{list(index)}"
    for value in (a, b):
        if not torch.tensor(value).isfinite():
            return not_finite(setting, bound, float(inputs[index]), value, engine, f"{place}: one of two results")
    fields = {"left": (lift_float(a, "left"),), "right": (lift_float(b, "right"),)}
    return counterexample(setting, bound, "element_error", fields, Fraction(0), engine, f"{place}: {a!r} against {b!r}")


def simplest(where: torch.Tensor, *tensors: torch.Tensor) -> tuple[int, ...]:
    """Among the first 256 marked elements, the index whose exact numbers have the shortest text."""
    indices = [tuple(int(i) for i in row) for row in where.nonzero()[:256]]
    return min(indices, key=lambda index: _length([float(tensor[index]) for tensor in tensors]))


def _tuples(value: Any) -> Exact:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list | tuple) else value


def _length(values: Sequence[float]) -> int:
    finite = [value for value in values if torch.tensor(value).isfinite()]
    return sum(len(format_exact(lift_float(value, "value"))) for value in finite)
