"""The declared error radii of a scheme against what it did, compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from proofkv_verify.audit.claim import AuditClaim, Finding, Setting
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.floats import difference, norm_lower, norm_upper, within
from proofkv_verify.audit.trial import SchemeError, Trial, bands, declared_sidecar, run_case
from proofkv_verify.audit.witness import counterexample, exact, not_finite, simplest
from proofkv_verify.certificate import Counterexample
from proofkv_verify.check import check_number
from proofkv_verify.exact import lift_float
from proofkv_verify.kinds import Instance
from proofkv_verify.schemes.base import Sidecar
from proofkv_verify.verdict import Refuted, Verified

EXACT_LIMIT = 64
"""How many borderline norms of one case are judged exactly before the case counts as undecided."""


def radius_claims(sidecar: Sidecar) -> list[AuditClaim]:
    """One claim for each radius that a scheme declares."""
    made = []
    for name, (bound, statement, examine) in _CLAIMS.items():
        if getattr(sidecar, name) is not None:
            made.append(AuditClaim(bound, statement, examine))
    return made


def examine_box(name: str, bound: str, setting: Setting, case: Case) -> Finding:
    """|x - xhat| <= the declared radius of the element, for each element of keys or values."""
    trial, original, restored, radius = _declared(name, setting, case)
    bad = ~within(original, restored, radius)
    if bool(bad.any()):
        return Finding(bad.numel(), None, _box_violation(name, bound, setting, trial, bad, radius))
    gap, _ = difference(original, restored)
    return Finding(bad.numel(), _largest_ratio(gap, radius))


def examine_norm(name: str, bound: str, setting: Setting, case: Case) -> Finding:
    """The Euclidean norm of x - xhat <= the declared radius, for each token (or each band of each token)."""
    _, original, restored, radius = _declared(name, setting, case)
    if name == "key_bands":
        count = radius.shape[-1]
        original, restored = bands(original, count), bands(restored, count)
    high, low = difference(original, restored)
    outer = torch.nextafter(high, torch.full_like(high, torch.inf))
    proper = radius >= 0  # NaN is not
    fine = (norm_upper(torch.where(low > 0, outer, high)) <= radius) & proper | (radius == torch.inf)
    open_ = (~fine).nonzero()
    tightness = _largest_ratio(norm_lower(high), radius)
    for row in open_[:EXACT_LIMIT]:
        index = tuple(int(i) for i in row)
        where = f"{name}{list(index)} of {case.name}"
        found = _judge_vector(
            setting, bound, original[index], restored[index], float(radius[index]), case.engine, where
        )
        if found is not None:
            return Finding(radius.numel(), None, found)
    left = max(0, len(open_) - EXACT_LIMIT)
    undecided = f"{left} norms of {case.name} are too close to their radius for float64" if left else ""
    return Finding(radius.numel(), tightness, None, undecided)


def _declared(name: str, setting: Setting, case: Case) -> tuple[Trial, torch.Tensor, torch.Tensor, torch.Tensor]:
    trial = run_case(setting.scheme, case, setting.device)
    sidecar = declared_sidecar(setting.scheme, trial)
    radius = None if sidecar is None else getattr(sidecar, name)
    if radius is None:
        raise SchemeError(f"sidecar {name}: declared for some inputs and not for others")
    of_keys = name.startswith("key")
    original, restored = (case.keys, trial.keys_hat) if of_keys else (case.values, trial.values_hat)
    return trial, original, restored, radius


def _box_violation(
    name: str, bound: str, setting: Setting, trial: Trial, bad: torch.Tensor, radius: torch.Tensor
) -> Counterexample:
    original, restored = (
        (trial.case.keys, trial.keys_hat) if name == "key_box" else (trial.case.values, trial.values_hat)
    )
    index = simplest(bad, original, restored, radius)
    x, y, r = float(original[index]), float(restored[index]), float(radius[index])
    where = f"{'keys' if name == 'key_box' else 'values'}{list(index)} of {trial.case.name}"
    for value, text in ((y, where), (r, f"the radius of {where}")):
        if value != value or value in (float("inf"), float("-inf")):
            return not_finite(setting, bound, x, value, trial.case.engine, text)
    fields = {"left": (lift_float(x, "left"),), "right": (lift_float(y, "right"),)}
    note = f"{where}: {x!r} came back as {y!r}, declared radius {r!r}"
    return counterexample(setting, bound, "element_error", fields, lift_float(r, "radius"), trial.case.engine, note)


def _judge_vector(
    setting: Setting, bound: str, x: torch.Tensor, y: torch.Tensor, radius: float, engine: str, where: str
) -> Counterexample | None:
    bad = ~y.isfinite()
    if bool(bad.any()):
        i = int(bad.nonzero()[0])
        return not_finite(setting, bound, float(x[i]), float(y[i]), engine, f"{where}, element {i}")
    if radius != radius or radius == float("-inf"):
        return not_finite(setting, bound, float(x[0]), radius, engine, f"the radius {where}")
    keep = _fewest(x, y, radius)
    fields = {"left": exact(x[keep]), "right": exact(y[keep])}
    claimed = lift_float(radius, "radius")
    verdict = check_number(Instance("vector_error", fields), claimed).verdict
    if isinstance(verdict, Verified):
        return None
    if not isinstance(verdict, Refuted):
        raise SchemeError(f"{where}: {verdict.reason}")
    size = float(torch.linalg.vector_norm((x.double() - y.double())[keep]))
    note = f"{where}: {len(keep)} of {len(x)} coordinates alone have error norm {size:.6g}, declared {radius!r}"
    return counterexample(setting, bound, "vector_error", fields, claimed, engine, note)


def _fewest(x: torch.Tensor, y: torch.Tensor, radius: float) -> torch.Tensor:
    """The largest differences, just so many that their norm is clearly above the radius; all of them if none is."""
    gap = (x.double() - y.double()).abs()
    order = gap.argsort(descending=True)
    norms = (gap[order] ** 2).cumsum(0).sqrt()
    above = (norms > radius * (1 + 1e-9)).nonzero()
    return order[: int(above[0]) + 1] if len(above) else order


def _largest_ratio(truth: torch.Tensor, radius: torch.Tensor) -> float | None:
    ratio = (truth / radius)[(radius > 0) & radius.isfinite()]
    return min(1.0, float(ratio.max())) if ratio.numel() else None


_NAMES: dict[str, tuple[str, str, Callable[[str, str, Setting, Case], Finding]]] = {
    "key_box": ("key_box_upper", "|k - k_hat| <= declared radius, each element", examine_box),
    "key_norm": ("key_norm_upper", "norm(k - k_hat) <= declared radius, each token", examine_norm),
    "key_bands": ("key_band_upper", "norm(k - k_hat) <= declared radius, each band of each token", examine_norm),
    "value_box": ("value_box_upper", "|v - v_hat| <= declared radius, each element", examine_box),
    "value_norm": ("value_norm_upper", "norm(v - v_hat) <= declared radius, each token", examine_norm),
}
_CLAIMS = {
    name: (bound, statement, partial(examine, name, bound)) for name, (bound, statement, examine) in _NAMES.items()
}
