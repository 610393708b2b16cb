"""Makes a counterexample small: fewest tokens and dimensions, then the shortest numbers; exact at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

from proofkv_verify.kinds import Exact, Instance, Kind
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.batch import complexity, sizes_of
from proofkv_verify.search.inside import inside
from proofkv_verify.search.numbers import pythagorean, shorter
from proofkv_verify.search.result import Clock
from proofkv_verify.search.structure import without, without_plane

Path: TypeAlias = tuple[str, tuple[int, ...]]
_TANGENTS = [Fraction(*pair) for pair in ((0, 1), (1, 1), (-1, 1), (1, 2), (2, 1), (-1, 2), (-2, 1), (1, 3), (2, 3))]


def shrink(instance: Instance, fails: Callable[[Instance], bool], clock: Clock) -> Instance:
    """The smallest instance found that still fails, by greedy passes until none helps or the clock is over.

    Args:
        instance: one that fails.
        fails: the exact judgement.
        clock: when to stop; the result fails whenever it stops.
    """
    changed = True
    while changed and not clock.over():
        changed = False
        for steps in (_removals, _simplifications):
            smaller = _pass(instance, steps, fails, clock)
            changed, instance = changed or smaller is not instance, smaller
    return instance


def _pass(
    instance: Instance,
    steps: Callable[[Instance], Iterator[Instance]],
    fails: Callable[[Instance], bool],
    clock: Clock,
) -> Instance:
    """Takes steps of one sort as long as one makes the instance smaller and still fails."""
    progress = True
    while progress:
        progress = False
        for candidate in steps(instance):
            if clock.over():
                return instance
            if complexity(candidate) < complexity(instance) and fails(candidate):
                instance, progress = candidate, True
                break
    return instance


def _removals(instance: Instance) -> Iterator[Instance]:
    kind = kind_named(instance.kind)
    for item in kind.fields:
        if item.optional and item.name in instance.fields and not _is_form(item.name):
            fields = {name: value for name, value in instance.fields.items() if name != item.name}
            yield replace(instance, fields=fields)
    if "pages" in instance.params:
        yield replace(instance, params={name: value for name, value in instance.params.items() if name != "pages"})
    if "lower" in instance.fields:
        yield inside(_symmetric(instance))
    for plane in range(len(instance.params.get("planes", []))):
        smaller = without_plane(instance, plane)
        if smaller is not None:
            yield inside(smaller)
    for axis, size in sizes_of(instance).items():
        for index in range(size):
            smaller = without(instance, axis, index)
            if smaller is not None:
                yield inside(smaller)


def _symmetric(instance: Instance) -> Instance:
    """Ratios in place of intervals, wide enough to hold them."""
    fields: dict[str, Any] = dict(instance.fields)
    ends = zip(fields.pop("lower"), fields.pop("upper"), strict=True)
    return replace(instance, fields={**fields, "ratios": tuple(max(high, 1 / low) for low, high in ends)})


def _is_form(name: str) -> bool:
    return name in ("weights", "ratios", "lower", "upper", "tilts", "logits_hat", "logit_radii", "logits")


def _simplifications(instance: Instance) -> Iterator[Instance]:
    kind = kind_named(instance.kind)
    yield from _whole_fields(instance, kind)
    yield from _angles(instance)
    yield from _rescaled_weights(instance)
    for path, value in _numbers(instance):
        for candidate in shorter(value):
            yield inside(_with(instance, path, candidate))


def _whole_fields(instance: Instance, kind: Kind) -> Iterator[Instance]:
    """All entries of one field set to 0 or to 1."""
    for item in kind.fields:
        if item.axes and item.name in instance.fields:
            for number in (Fraction(0), Fraction(1)):
                value = _filled(instance.fields[item.name], number)
                if value != instance.fields[item.name]:
                    yield inside(replace(instance, fields={**instance.fields, item.name: value}))


def _angles(instance: Instance) -> Iterator[Instance]:
    """Simple angles for each rotation plane: cosine and sine change together or leave the circle."""
    for plane in range(len(instance.params.get("planes", []))):
        for tangent in _TANGENTS:
            pair = zip(("cos", "sin"), pythagorean(tangent), strict=True)
            turned = {name: _replaced(instance.fields[name], (plane,), number) for name, number in pair}
            yield inside(replace(instance, fields={**instance.fields, **turned}))


def _rescaled_weights(instance: Instance) -> Iterator[Instance]:
    """Weights divided by one of them: a common factor is free."""
    weights: Any = instance.fields.get("weights", ())
    for unit in weights:
        scaled = tuple(weight / unit for weight in weights)
        yield replace(instance, fields={**instance.fields, "weights": scaled})


def _filled(value: Exact, number: Fraction) -> Exact:
    return tuple(_filled(entry, number) for entry in value) if isinstance(value, tuple) else number


def _numbers(instance: Instance) -> Iterator[tuple[Path, Fraction]]:
    """Every number with its place, the longest first."""
    found = [entry for name, value in instance.fields.items() for entry in _walk(name, (), value)]
    yield from sorted(found, key=lambda entry: -len(str(entry[1])))


def _walk(name: str, index: tuple[int, ...], value: Exact) -> Iterator[tuple[Path, Fraction]]:
    if isinstance(value, tuple):
        for i, entry in enumerate(value):
            yield from _walk(name, (*index, i), entry)
    else:
        yield (name, index), value


def _with(instance: Instance, path: Path, number: Fraction) -> Instance:
    name, index = path
    return replace(instance, fields={**instance.fields, name: _replaced(instance.fields[name], index, number)})


def _replaced(value: Any, index: tuple[int, ...], number: Fraction) -> Any:
    if not index:
        return number
    head = index[0]
    return (*value[:head], _replaced(value[head], index[1:], number), *value[head + 1 :])
