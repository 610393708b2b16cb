"""Bounds of logits, attention weights and outputs, on a scheme's own pages, against the true change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import torch

from proofkv_verify.audit.attention import Attention, logit_bounds, single_row, sliced
from proofkv_verify.audit.claim import AuditClaim, Finding, Setting
from proofkv_verify.audit.data import Case
from proofkv_verify.audit.instances import Row, kv_head, logit_instance, output_instance, weights_instance
from proofkv_verify.audit.memo import evaluated
from proofkv_verify.audit.shrink import fewest_tokens
from proofkv_verify.audit.truth import Ends, truth_of
from proofkv_verify.audit.witness import counterexample, not_finite
from proofkv_verify.certificate import Counterexample
from proofkv_verify.check import check_number
from proofkv_verify.exact import lift_float
from proofkv_verify.fast.attention_l2_upper import attention_l2_upper
from proofkv_verify.fast.attention_linf_exact_upper import attention_linf_exact_upper
from proofkv_verify.fast.softmax_tv_cell_upper import softmax_tv_cell_upper
from proofkv_verify.fast.softmax_tv_eform_upper import softmax_tv_eform_upper
from proofkv_verify.fast.softmax_tv_hinge_upper import softmax_tv_hinge_upper
from proofkv_verify.fast.softmax_tv_histogram_upper import softmax_tv_histogram_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_moment_upper import softmax_tv_moment_upper
from proofkv_verify.fast.softmax_tv_odds_upper import softmax_tv_odds_upper
from proofkv_verify.fast.softmax_tv_optimum import softmax_tv_optimum
from proofkv_verify.fast.softmax_tv_overlap_upper import softmax_tv_overlap_upper
from proofkv_verify.kinds import Instance
from proofkv_verify.verdict import Refuted, Verified

EXACT_LIMIT = 32
"""How many borderline numbers of one part are judged exactly before the part counts as undecided."""
Formula = Callable[[Attention, torch.Tensor], torch.Tensor]
"""The claimed numbers `[B, Hq, Q]` of a part under a mask."""


@dataclass(frozen=True, slots=True)
class RowBound:
    """A bound with one number a row: how the fast path computes it, and which true quantity it bounds."""

    slug: str
    statement: str
    kind: str
    formula: Formula
    weight: float = 1.0


def attention_claims() -> list[AuditClaim]:
    """The claims about logits, weights and outputs, in the order of the computation."""
    logits = [
        AuditClaim(slug, _LOGITS, partial(examine_logits, slug), weight, inputs="attention")
        for slug, weight in (("logit_abs_box_upper", 6.0), ("logit_abs_band_upper", 1.0), ("logit_abs_norm_upper", 1.0))
    ]
    rows = [AuditClaim(b.slug, b.statement, partial(examine_rows, b), b.weight, inputs="attention") for b in ROW_BOUNDS]
    return [*logits, *rows]


def examine_logits(slug: str, setting: Setting, case: Case) -> Finding | None:
    """The change of every logit is at most the claimed number."""
    findings = []
    for part in evaluated(setting, case):
        if slug not in part.claimed:
            return None
        judge = partial(_judge_logit, slug, setting, part)
        findings.append(_judge(part.claimed[slug], part.change, judge, case))
    return _merged(findings)


def examine_rows(bound: RowBound, setting: Setting, case: Case) -> Finding | None:
    """The true change of a row's weights or output is at most the claimed number."""
    findings = []
    for part in evaluated(setting, case):
        claimed = bound.formula(part, part.mask)
        judge = partial(_judge_row, bound, setting, part, claimed)
        findings.append(_judge(claimed, truth_of(part, bound.kind), judge, case))
    return _merged(findings)


Judge = Callable[[tuple[int, ...]], "Counterexample | bool"]
"""Judges one borderline or violating number exactly: a counterexample, or whether the claim was verified."""


def _judge(claimed: torch.Tensor, truth: Ends, judge: Judge, case: Case) -> Finding:
    low, high = truth
    fine = (high <= claimed) | (claimed == torch.inf)
    tightness, vacuous = _tightness(low, claimed), int((claimed == torch.inf).sum())
    undecided = ""
    order = _worst_first(~fine, low - claimed)
    for index in order[:EXACT_LIMIT]:
        found = judge(index)
        if isinstance(found, Counterexample):
            return Finding(fine.numel(), tightness, found)
        if not found:
            undecided = f"{case.name}: a number could not be decided exactly"
    if len(order) > EXACT_LIMIT:
        undecided = f"{case.name}: {len(order) - EXACT_LIMIT} numbers are too close to their claims for float64"
    return Finding(fine.numel(), tightness, None, undecided, vacuous)


def _worst_first(open_: torch.Tensor, excess: torch.Tensor) -> list[tuple[int, ...]]:
    indices = open_.nonzero()
    if not len(indices):
        return []
    order = excess[open_].nan_to_num(torch.inf).argsort(descending=True, stable=True)
    return [tuple(int(i) for i in row) for row in indices[order]]


def _tightness(low: torch.Tensor, claimed: torch.Tensor) -> float | None:
    ratio = (low / claimed)[(claimed > 0) & claimed.isfinite() & low.isfinite()]
    return max(0.0, float(ratio.max())) if ratio.numel() else None


def _merged(findings: Iterable[Finding]) -> Finding:
    found = list(findings)
    known = [f.tightness for f in found if f.tightness is not None]
    return Finding(
        cases=sum(f.cases for f in found),
        tightness=max(known, default=None),
        violation=next((f.violation for f in found if f.violation is not None), None),
        undecided=next((f.undecided for f in found if f.undecided), ""),
        vacuous=sum(f.vacuous for f in found),
    )


def _judge_logit(slug: str, setting: Setting, part: Attention, index: tuple[int, ...]) -> Counterexample | bool:
    batch, head, query, token = index
    row, where = (batch, head, query), f"query head {head}, token {token} of {part.trial.case.name}"
    for tried in _simple_queries(part, row, token):
        claimed = _logit_claim(slug, setting, part, row, token, tried)
        if claimed != claimed:
            return not_finite(setting, slug, float(tried[0]), claimed, part.trial.case.engine, f"the claim of {where}")
        found = _decide(setting, slug, part, logit_instance(part, row, token, tried), claimed, where)
        if isinstance(found, Counterexample):
            return found
    return found


def _simple_queries(part: Attention, row: Row, token: int) -> list[torch.Tensor]:
    """Unit vectors along the largest errors, then the query itself."""
    batch, head, query = row
    case, kv = part.trial.case, kv_head(part, head)
    error = (case.keys[batch, kv, token].double() - part.trial.keys_hat[batch, kv, token].double()).abs()
    units = torch.eye(len(error), dtype=torch.float64)[error.argsort(descending=True)[:4]]
    return [*units, case.queries[batch, head, query].double()]


def _logit_claim(slug: str, setting: Setting, part: Attention, row: Row, token: int, query: torch.Tensor) -> float:
    batch, kv = row[0], kv_head(part, row[1])
    at = (slice(batch, batch + 1), slice(kv, kv + 1), slice(token, token + 1))
    scale = part.trial.case.softmax_scale
    bounds = logit_bounds(query[None, None, None], sliced(part.sidecar, at), scale, setting.device)
    return float(bounds[slug])


def _judge_row(
    bound: RowBound, setting: Setting, part: Attention, claimed: torch.Tensor, index: tuple[int, ...]
) -> Counterexample | bool:
    batch, head, query = index
    row = (batch, head, query)
    number, case = float(claimed[index]), part.trial.case
    where = f"query head {head}, query {query} of {case.name}"
    if number != number:
        return not_finite(setting, bound.slug, 0.0, number, case.engine, f"the claim of {where}")
    everything = part.mask[index].nonzero()[:, 0]
    found = _decide(setting, bound.slug, part, _instance(bound, part, row, everything, centred=True), number, where)
    if not isinstance(found, Counterexample):
        return found
    as_stored = _instance(bound, part, row, everything, centred=False)
    found = _decide(setting, bound.slug, part, as_stored, number, where)

    def attempt(tokens: torch.Tensor) -> Counterexample | None:
        only = torch.zeros_like(part.mask)
        only[index][tokens] = True
        fewer = single_row(part, row)
        value = float(bound.formula(fewer, only[batch, head, query][None, None, None]))
        text = f"{where}, attending to tokens {', '.join(map(str, tokens.tolist()))}"
        smaller = _decide(setting, bound.slug, part, _instance(bound, part, row, tokens, centred=False), value, text)
        return smaller if isinstance(smaller, Counterexample) else None

    return fewest_tokens(everything, part.gap[index], attempt) or found


def _instance(bound: RowBound, part: Attention, row: Row, tokens: torch.Tensor, *, centred: bool) -> Instance:
    if bound.kind == "softmax_tv":
        return weights_instance(part, row, tokens)
    return output_instance(bound.kind, part, row, tokens, centred=centred)


def _decide(
    setting: Setting, slug: str, part: Attention, instance: Instance, claimed: float, where: str
) -> Counterexample | bool:
    if claimed == float("inf"):
        return True
    number = lift_float(claimed, "claimed")
    judgement = check_number(instance, number)
    if isinstance(judgement.verdict, Verified):
        return True
    if not isinstance(judgement.verdict, Refuted):
        return False
    truth = judgement.truth.lower if judgement.truth is not None else None
    note = f"{where}: true change {float(truth or 0):.6g}, claimed at most {claimed:.6g}"
    return counterexample(setting, slug, instance.kind, instance.fields, number, part.trial.case.engine, note)


def _tv(bound: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]) -> Formula:
    return lambda part, mask: bound(*_placed(part, part.logits_hat, part.radii, mask)).double().cpu()


def _optimum(part: Attention, mask: torch.Tensor) -> torch.Tensor:
    return softmax_tv_optimum(*_placed(part, part.logits_hat, part.radii, mask))[1].double().cpu()


def _l2(part: Attention, mask: torch.Tensor) -> torch.Tensor:
    assert part.sidecar.value_norm is not None
    values = part.trial.values_hat.double()
    placed = _placed(part, part.logits_hat, part.radii, values, part.sidecar.value_norm, mask)
    return attention_l2_upper(*placed).double().cpu()


def _linf(part: Attention, mask: torch.Tensor) -> torch.Tensor:
    assert part.sidecar.value_box is not None
    values = part.trial.values_hat.double()
    placed = _placed(part, part.logits_hat, part.radii, values, part.sidecar.value_box, mask)
    return attention_linf_exact_upper(*placed).double().cpu()


def _placed(part: Attention, *tensors: torch.Tensor) -> list[torch.Tensor]:
    return [tensor.to(part.device) for tensor in tensors]


_LOGITS = "|s - s_hat| <= claimed, each logit"
_WEIGHTS = "TV(exact weights, computed weights) <= claimed, each row"
ROW_BOUNDS = (
    RowBound("softmax_tv_eform_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_eform_upper)),
    RowBound("softmax_tv_odds_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_odds_upper)),
    RowBound("softmax_tv_mean_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_mean_upper)),
    RowBound("softmax_tv_overlap_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_overlap_upper)),
    RowBound("softmax_tv_hinge_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_hinge_upper)),
    RowBound("softmax_tv_histogram_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_histogram_upper), 6.0),
    RowBound("softmax_tv_cell_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_cell_upper), 2.0),
    RowBound("softmax_tv_moment_upper", _WEIGHTS, "softmax_tv", _tv(softmax_tv_moment_upper), 6.0),
    RowBound("softmax_tv_optimum", _WEIGHTS, "softmax_tv", _optimum, 9.0),
    RowBound("attention_l2_upper", "norm(o - o_hat) <= claimed, each row", "attention_l2", _l2, 6.0),
    RowBound("attention_linf_exact_upper", "max |o_c - o_hat_c| <= claimed, each row", "attention_linf", _linf, 20.0),
)
