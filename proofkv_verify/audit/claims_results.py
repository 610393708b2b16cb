"""What a scheme returns must be finite, repeatable, and depend on live data only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from proofkv_verify.audit.claim import AuditClaim, Finding, Setting
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.trial import Trial, append, compress, restore, run_case, streams
from proofkv_verify.audit.witness import not_finite, unequal
from proofkv_verify.certificate import Counterexample

Pair = tuple[torch.Tensor, torch.Tensor]
_NAMES = ("keys", "values")


def examine_finite(setting: Setting, case: Case) -> Finding:
    """Finite keys and values come back finite."""
    trial = run_case(setting.scheme, case, setting.device)
    size = trial.keys_hat.numel() + trial.values_hat.numel()
    for name, original, restored in _pairs(trial):
        bad = (~restored.isfinite()).nonzero()
        if len(bad):
            index = tuple(int(i) for i in bad[0])
            where = f"{name}{list(index)} of {case.name}"
            x, y = float(original[index]), float(restored[index])
            return Finding(size, None, not_finite(setting, "finite", x, y, case.engine, where))
    return Finding(size)


def examine_repeatable(setting: Setting, case: Case) -> Finding:
    """A second run on the same input gives the same numbers."""
    first, second = (run_case(setting.scheme, case, setting.device) for _ in range(2))
    return _compare(setting, "deterministic", case, _hats(first), _hats(second), (case.keys, case.values))


def examine_inputs_unchanged(setting: Setting, case: Case) -> Finding:
    """compress and restore leave their arguments as they were."""
    keys, values = (t.to(setting.device, copy=True) for t in (case.keys, case.values))
    restore(setting.scheme, compress(setting.scheme, keys, values), case.keys.shape)
    originals = (case.keys, case.values)
    return _compare(setting, "inputs_unchanged", case, originals, (keys.cpu(), values.cpu()), originals)


def examine_batch(setting: Setting, case: Case) -> Finding:
    """A batch row comes back the same alone, in its batch, and in the reversed batch."""
    case = two_rows(case)
    whole = _hats(run_case(setting.scheme, case, setting.device))
    backwards = _hats(run_case(setting.scheme, _rows(case, slice(None), flip=True), setting.device))
    parts = [_rows(case, slice(b, b + 1)) for b in range(case.keys.shape[0])]
    alone = _join([_hats(run_case(setting.scheme, part, setting.device)) for part in parts], 0)
    inputs = (case.keys, case.values)
    return _first_bad(
        _compare(setting, "batch_independent", case, whole, alone, inputs),
        _compare(setting, "batch_independent", case, whole, (backwards[0].flip(0), backwards[1].flip(0)), inputs),
    )


def examine_layout(setting: Setting, case: Case) -> Finding:
    """Contiguous tensors and views (transposed, sliced from a poisoned buffer) come back the same."""
    plain = _hats(run_case(setting.scheme, case, setting.device))
    findings = []
    for view in (_transposed, _inside_poison):
        keys, values = (view(t.to(setting.device)) for t in (case.keys, case.values))
        pages = compress(setting.scheme, keys, values)
        came = restore(setting.scheme, pages, case.keys.shape)
        findings.append(_compare(setting, "layout_independent", case, plain, came, (case.keys, case.values)))
    return _first_bad(*findings)


def examine_chunks(setting: Setting, case: Case) -> Finding | None:
    """Pages built by append in any split restore to the same numbers as pages built at once."""
    if streams(setting.scheme) is None:
        return None
    whole = _hats(run_case(setting.scheme, case, setting.device))
    inputs = (case.keys, case.values)
    findings = []
    for split in splits(case.keys.shape[2], setting.scheme.declaration.residual_window):
        came = stream(setting, case, split)
        named = replace(case, name=f"{case.name}, chunks of {_describe(split)}")
        findings.append(_compare(setting, "chunk_independent", named, whole, came, inputs))
    return _first_bad(*findings)


def stream(setting: Setting, case: Case, split: Sequence[int]) -> Pair:
    """What the scheme restores when tokens arrive in chunks of these sizes."""
    scheme = setting.scheme
    extending = streams(scheme)
    assert extending is not None
    keys, values = (torch.split(t.to(setting.device), list(split), dim=2) for t in (case.keys, case.values))
    pages = compress(scheme, keys[0].clone(), values[0].clone())
    for key, value in zip(keys[1:], values[1:], strict=True):
        pages = append(extending, pages, key.clone(), value.clone())
    return restore(scheme, pages, case.keys.shape)


def splits(seq_len: int, window: int) -> list[list[int]]:
    """Chunk sizes: halves, a first chunk at the residual window and one past it, then the last 40 one by one."""
    found = [[seq_len // 2, seq_len - seq_len // 2]] if seq_len > 1 else []
    found.extend([cut, seq_len - cut] for cut in (window, window + 1) if 0 < cut < seq_len)
    tail = min(40, seq_len - 1)
    if tail > 0:
        found.append([seq_len - tail, *[1] * tail])
    return found


def two_rows(case: Case) -> Case:
    """The case, with a second batch row of other magnitude where it has only one."""
    if case.keys.shape[0] > 1:
        return case
    keys, values = (torch.cat([t, t.flip(2) / 4]) for t in (case.keys, case.values))
    return replace(case, keys=keys, values=values, queries=case.queries.repeat(2, 1, 1, 1))


RESULT_CLAIMS = (
    AuditClaim("finite", "finite input comes back finite", examine_finite, 0.5),
    AuditClaim("deterministic", "a second run gives the same numbers", examine_repeatable, 0.5),
    AuditClaim(
        "inputs_unchanged", "compress and restore leave their arguments unchanged", examine_inputs_unchanged, 0.5
    ),
    AuditClaim("batch_independent", "a row alone = the row in any batch", examine_batch),
    AuditClaim("layout_independent", "contiguous = strided", examine_layout),
)
CHUNK_CLAIM = AuditClaim("chunk_independent", "one shot = streamed in any split", examine_chunks, 2.0)


def _pairs(trial: Trial) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    yield "keys", trial.case.keys, trial.keys_hat
    yield "values", trial.case.values, trial.values_hat


def _hats(trial: Trial) -> Pair:
    return trial.keys_hat, trial.values_hat


def _join(pairs: Sequence[Pair], dim: int) -> Pair:
    return torch.cat([p[0] for p in pairs], dim), torch.cat([p[1] for p in pairs], dim)


def _rows(case: Case, rows: slice, *, flip: bool = False) -> Case:
    keys, values, queries = (t[rows] for t in (case.keys, case.values, case.queries))
    if flip:
        keys, values, queries = keys.flip(0), values.flip(0), queries.flip(0)
    return replace(case, keys=keys, values=values, queries=queries)


def _compare(setting: Setting, bound: str, case: Case, first: Pair, second: Pair, inputs: Pair) -> Finding:
    size = first[0].numel() + first[1].numel()
    return Finding(size, None, first_difference(setting, bound, case, first, second, inputs))


def first_difference(
    setting: Setting, bound: str, case: Case, first: Pair, second: Pair, inputs: Pair
) -> Counterexample | None:
    """A counterexample where two pairs that must be equal differ, else None."""
    for name, a, b, x in zip(_NAMES, first, second, inputs, strict=True):
        found = unequal(setting, bound, a, b, case.engine, f"{case.name}: restored {name}", x)
        if found is not None:
            return found
    return None


def _first_bad(*findings: Finding) -> Finding:
    total = sum(f.cases for f in findings)
    bad = next((f.violation for f in findings if f.violation is not None), None)
    return Finding(total, None, bad)


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def _inside_poison(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as a view into a buffer that is NaN everywhere else."""
    b, h, t, d = tensor.shape
    buffer = torch.full((b, h, 2 * t, d + 3), torch.nan, dtype=tensor.dtype, device=tensor.device)
    view = buffer[:, :, :t, 1 : d + 1]
    view.copy_(tensor)
    return view


def _describe(split: Sequence[int]) -> str:
    return f"{split[0]}, then {len(split) - 1} of {split[-1]}" if len(split) > 2 else " and ".join(map(str, split))
