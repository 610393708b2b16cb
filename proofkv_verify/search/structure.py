"""Removes one index of an axis from an instance, with the parameters that name indices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proofkv_verify.kinds import Exact, Instance
from proofkv_verify.reference.registry import kind_named


def without(instance: Instance, axis: str, index: int) -> Instance | None:
    """The instance without entry `index` of an axis, or None where that leaves no instance of its kind.

    A coordinate that is a band of its own takes the band with it, a cell its upper edge.
    """
    params = _params(instance, axis, index)
    if params is None:
        return None
    drops = {axis: index}
    if axis == "d" and [index] in instance.params.get("bands", []):
        drops["bands"] = instance.params["bands"].index([index])
    if axis == "cells":
        drops["cell_edges"] = min(index + 1, _size(instance, "cells") - 1)
    fields = dict(instance.fields)
    for item in kind_named(instance.kind).fields:
        for name in item.axes:
            if name in drops and item.name in fields:
                fields[item.name] = _drop(fields[item.name], item.axes.index(name), drops[name])
    return replace(instance, fields=fields, params=params)


def without_plane(instance: Instance, plane: int) -> Instance | None:
    """A logit instance without a rotation plane and the two coordinates that it turns."""
    found = without(instance, "planes", plane)
    for index in sorted(instance.params["planes"][plane], reverse=True):
        found = found and without(found, "d", index)
    return found


def _drop(value: Exact, depth: int, index: int) -> Exact:
    assert isinstance(value, tuple)  # the axis was found here
    if depth == 0:
        return (*value[:index], *value[index + 1 :])
    return tuple(_drop(entry, depth - 1, index) for entry in value)


def _params(instance: Instance, axis: str, index: int) -> dict[str, Any] | None:
    """Parameters after the removal; None where the entry cannot go."""
    params = dict(instance.params)
    if instance.kind == "logit_abs":
        return _logit_params(instance, params, axis, index)
    if axis == "n" and "pages" in params:
        params["pages"] = _renumbered_groups(params["pages"], index)
    if axis == "vocab":
        if params.get("candidate", 0) == index:
            return None
        params["candidate"] = _renumbered(params.get("candidate", 0), index)
    if axis == "cell_edges" or (axis in ("n", "d", "cells") and _size(instance, axis) == 1):
        return None
    return params


def _logit_params(instance: Instance, params: dict[str, Any], axis: str, index: int) -> dict[str, Any] | None:
    planes, bands = params.get("planes", []), params.get("bands", [])
    group, head = _size(instance, "group"), params.get("query_head", 0)
    if axis == "planes":
        params["planes"] = [plane for p, plane in enumerate(planes) if p != index]
    elif axis == "d":
        if any(index in plane for plane in planes) or _size(instance, "d") == 1:
            return None
        params["planes"] = [[_renumbered(i, index) for i in plane] for plane in planes]
        params["bands"] = _renumbered_groups(bands, index)
    elif axis == "bands":
        if bands[index]:
            return None
        params["bands"] = [band for b, band in enumerate(bands) if b != index]
    elif axis == "group":
        if head % group == index:
            return None
        params["query_head"] = head // group * (group - 1) + _renumbered(head % group, index)
    elif axis == "kv_heads":
        if head // group == index:
            return None
        params["query_head"] = _renumbered(head // group, index) * group + head % group
    return params


def _renumbered(position: int, removed: int) -> int:
    return position - 1 if position > removed else position


def _renumbered_groups(groups: list[list[int]], removed: int) -> list[list[int]]:
    kept = ([_renumbered(i, removed) for i in group if i != removed] for group in groups)
    return [group for group in kept if group]


def _size(instance: Instance, axis: str) -> int:
    for item in kind_named(instance.kind).fields:
        if axis in item.axes and item.name in instance.fields:
            value: Any = instance.fields[item.name]
            for _ in range(item.axes.index(axis)):
                value = value[0]
            return len(value)
    return 0
