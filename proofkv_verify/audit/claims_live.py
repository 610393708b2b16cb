"""Dead data must not matter, heads must not mix, a lossy scheme must lose something, and bytes must add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

import torch

from proofkv_verify.audit.claim import AuditClaim, Finding, Setting
from proofkv_verify.audit.claims_results import first_difference, stream, two_rows
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.trial import RefusedError, Trial, run_case, streams
from proofkv_verify.audit.witness import counterexample, exact, not_finite, simplest
from proofkv_verify.certificate import Counterexample
from proofkv_verify.exact import lift_float
from proofkv_verify.schemes.base import Declaration
from proofkv_verify.schemes.user import UserPages

POISONS = (float("nan"), 1e30)


def examine_locality(setting: Setting, case: Case) -> Finding | None:
    """Live numbers do not move when another batch row, or later tokens outside their group, hold NaN or 1e30."""
    case = two_rows(case)
    clean = run_case(setting.scheme, case, setting.device)
    total = 0
    for value in POISONS:
        for live, poisoned in _poisoned(case, setting.scheme.declaration, value):
            named = replace(poisoned, name=f"{case.name}, {value:g} in dead entries")
            try:
                trial = run_case(setting.scheme, named, setting.device)
            except RefusedError:  # to refuse NaN is a fair answer
                continue
            before, after = (_live(t, live) for t in (clean, trial))
            inputs = (case.keys[live], case.values[live])
            total += before[0].numel() + before[1].numel()
            found = first_difference(setting, "local", named, before, after, inputs)
            if found is not None:
                return Finding(total, None, found)
    return Finding(total) if total else None


def examine_heads(setting: Setting, case: Case) -> Finding:
    """Query head h attends through restored head h // G: its output is the constant of that head, not of another."""
    heads = case.keys.shape[1]
    group = case.queries.shape[1] // heads
    constants = torch.arange(1, heads + 1, dtype=torch.float64)[None, :, None, None].expand(case.keys.shape)
    marked = replace(case, keys=constants.to(case.keys.dtype), values=constants.to(case.values.dtype))
    trial = run_case(setting.scheme, marked, setting.device)
    total = 0
    for name, restored in (("keys", trial.keys_hat), ("values", trial.values_hat)):
        read = restored.double().repeat_interleave(group, 1)
        wanted = constants.repeat_interleave(group, 1)
        total += read.numel()
        found = _nearest_head(setting, f"{name} of {case.name}, head g filled with g + 1", read, wanted, case.engine)
        if found is not None:
            return Finding(total, None, found)
    return Finding(total)


def examine_changed(setting: Setting, case: Case) -> Finding | None:
    """A scheme of fewer than 16 bits changes some number beyond its residual window, in one shot and streamed."""
    seq_len, window = case.keys.shape[2], setting.scheme.declaration.residual_window
    if case.engine == "adversarial" or seq_len <= window + 8:
        return None
    trial = run_case(setting.scheme, case, setting.device)
    whole = (trial.keys_hat, trial.values_hat)
    found = _unchanged(setting, case, whole, slice(0, seq_len - window), "in one shot", both=True)
    if found is None and streams(setting.scheme) is not None:
        singles = min(seq_len - 1, window + 32)
        came = stream(setting, case, [seq_len - singles, *[1] * singles])
        found = _unchanged(setting, case, came, slice(seq_len - singles, seq_len - window), "streamed", both=False)
    return Finding(2 * case.keys.numel(), None, found)


def examine_bytes(setting: Setting, case: Case) -> Finding | None:
    """The stated size covers what the pages hold, and a lossy scheme's is below the uncompressed size."""
    trial = run_case(setting.scheme, case, setting.device)
    stated = trial.pages.num_bytes
    if stated is None:
        return None
    parts = page_parts(trial, setting.scheme.declaration)
    if sum(parts) > stated:
        note = f"{case.name}: pages state {stated} bytes, their tensors take {sum(parts)}"
        return Finding(1, None, _bytes_violation(setting, parts, stated, case.engine, note))
    full = 2 * case.keys.numel() * case.keys.element_size()
    if not is_lossy(setting.scheme.declaration) or case.engine != "trace" or stated < full:
        return Finding(1, sum(parts) / stated if stated else None)
    note = f"{case.name}: pages state {stated} bytes, uncompressed tensors take {full}"
    return Finding(1, None, _bytes_violation(setting, [stated], full - 1, case.engine, note))


def page_parts(trial: Trial, declaration: Declaration) -> list[int]:
    """A lower bound of the bytes that pages hold, part by part.

    A floating tensor counts in full. Integer tensors count together, at most with the declared bits for each element
    that no full-precision tensor could hold, since a scheme may keep codes unpacked while it states packed bytes.
    """
    pages = trial.pages
    stored = (pages.payload, pages.witness) if isinstance(pages, UserPages) else pages
    found = {id(t): t for t in _tensors(stored)}.values()
    floats = [_bytes(t) for t in found if t.dtype.is_floating_point]
    whole = [t for t in found if not t.dtype.is_floating_point]
    held = sum(t.numel() for t in found if t.dtype.is_floating_point)
    coded = max(0, 2 * trial.case.keys.numel() - held)
    packed = coded * declaration.bits // 8 if declaration.bits else 0
    return [*floats, min(packed, sum(_bytes(t) for t in whole))]


def is_lossy(declaration: Declaration) -> bool:
    """Whether a scheme declares codes narrower than 16 bits."""
    return 0 < declaration.bits < 16


LOCAL_CLAIM = AuditClaim("local", "poison in dead entries moves nothing", examine_locality)
HEADS_CLAIM = AuditClaim("gqa_heads", "query head h reads KV head h // G", examine_heads, 0.5)
CHANGED_CLAIM = AuditClaim("something_changed", "a lossy scheme changes something", examine_changed)
BYTES_CLAIM = AuditClaim("bytes_accounted", "stated bytes cover the pages", examine_bytes, 0.5)


def _poisoned(case: Case, declaration: Declaration, value: float) -> Iterator[tuple[Any, Case]]:
    """(index of live entries, the case with poison everywhere else)."""
    yield (slice(0, 1),), _fill(case, (slice(1, None),), value)
    group = declaration.group_tokens
    live = (case.keys.shape[2] // 2) // group * group if group > 0 else 0
    if live:
        yield (
            (slice(None), slice(None), slice(0, live)),
            _fill(case, (slice(None), slice(None), slice(live, None)), value),
        )


def _fill(case: Case, dead: Any, value: float) -> Case:
    keys, values = case.keys.clone(), case.values.clone()
    for tensor in (keys, values):
        tensor[dead] = min(value, torch.finfo(tensor.dtype).max) if value == value else value
    return replace(case, keys=keys, values=values)


def _live(trial: Trial, live: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return trial.keys_hat[live], trial.values_hat[live]


def _nearest_head(
    setting: Setting, where: str, read: torch.Tensor, wanted: torch.Tensor, engine: str
) -> Counterexample | None:
    bad = ~((read - wanted).abs() <= 0.5)
    if not bool(bad.any()):
        return None
    index = simplest(bad, read, wanted)
    left, right = float(wanted[index]), float(read[index])
    note = f"{where}: query head {index[1]} reads {right!r}, its KV head holds {left!r}"
    if not torch.tensor(right).isfinite():
        return not_finite(setting, "gqa_heads", left, right, engine, note)
    data = {"left": (lift_float(left, "left"),), "right": (lift_float(right, "right"),)}
    return counterexample(setting, "gqa_heads", "element_error", data, Fraction(1, 2), engine, note)


def _unchanged(
    setting: Setting, case: Case, came: tuple[torch.Tensor, torch.Tensor], part: slice, how: str, *, both: bool
) -> Counterexample | None:
    """A counterexample if the part is equal to the input: both tensors (`both`), or one that a one-shot run changes."""
    pairs = list(zip(("keys", "values"), (case.keys, case.values), came, strict=True))
    same = [(name, x, y) for name, x, y in pairs if bool((x[:, :, part] == y[:, :, part]).all())]
    if len(same) < (2 if both else 1) or not same:
        return None
    if not both:
        same = [entry for entry in same if _changes_at_once(setting, case, entry[0], part)]
    if not same:
        return None
    name, x, y = same[0]
    row = (0, 0, slice(part.start, part.start + 4), 0)
    note = f"{case.name}, {how}: {name} of tokens {part.start} to {part.stop - 1} come back bit for bit"
    data = {"left": exact(x[row]), "right": exact(y[row])}
    return counterexample(setting, "something_changed", "unchanged", data, Fraction(0), case.engine, note)


def _changes_at_once(setting: Setting, case: Case, name: str, part: slice) -> bool:
    trial = run_case(setting.scheme, case, setting.device)
    x, y = (case.keys, trial.keys_hat) if name == "keys" else (case.values, trial.values_hat)
    return not bool((x[:, :, part] == y[:, :, part]).all())


def _bytes_violation(setting: Setting, parts: list[int], claimed: int, engine: str, note: str) -> Counterexample:
    data = {"parts": tuple(Fraction(part) for part in parts)}
    return counterexample(setting, "bytes_accounted", "stored_bytes", data, Fraction(claimed), engine, note)


def _bytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor, an expanded axis counted once."""
    distinct = [1 if stride == 0 else size for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return prod(distinct) * tensor.element_size()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor inside pages: fields of dataclasses, items of containers, attributes of plain objects."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _tensors(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _tensors(getattr(value, field.name))
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from _tensors(vars(value))
