"""The enclosure of one step: an ellipsoid around every half layer, then a radius for every rival of the winner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofkv_verify.decode.adjoint import LayerBound, pull_back, screen
from proofkv_verify.decode.attention_half import attention_half
from proofkv_verify.decode.ellipsoid import UP, support
from proofkv_verify.decode.maps import maps_of
from proofkv_verify.decode.mlp_half import mlp_half
from proofkv_verify.decode.model import F64, Model, Trace
from proofkv_verify.decode.noise import attention_noise, mlp_noise, score_noise
from proofkv_verify.decode.opened import Sets

RIVALS_FIRST = 4


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What one method shows about one step.

    Attributes:
        method: its name; proof: whether the radii are a bound (the first-order method's are not).
        winner: argmax of the nominal scores.
        gaps: winner's score minus each rival's, rounded down `[V]`, 0 at the winner itself.
        radii: bound on how far each true gap is from its nominal value `[V]`, infinity where none was shown.
        reason: why nothing was shown, or "".
    """

    method: str
    proof: bool
    winner: int
    gaps: Tensor
    radii: Tensor
    reason: str

    @property
    def certified(self) -> bool:
        """The winner's score is shown strictly above every other; a tie, a NaN or no proof is not."""
        others = torch.arange(len(self.gaps)) != self.winner
        return self.proof and not self.reason and bool((self.gaps > self.radii)[others].all())

    @property
    def hardest(self) -> int:
        """The rival whose gap is smallest relative to its radius."""
        slack = torch.where(torch.arange(len(self.gaps)) == self.winner, torch.inf, self.gaps - self.radii)
        return int(torch.where(self.radii.isfinite(), slack, self.gaps).argmin())


def directions(model: Model, trace: Trace) -> tuple[Tensor, Tensor]:
    """Rows head[winner] - head[j] `[V, d]` and the gaps of the scores, rounded down `[V]`.

    The last RMSNorm divides all scores by one positive number, so it cannot change the sign of a gap and is left out.
    """
    winner = trace.token
    rows = model.head[winner] - model.head
    noise = score_noise(model.head, trace.final)
    gaps = trace.scores[winner] - trace.scores - (noise + noise[winner]) * UP
    gaps[winner] = 0.0
    return rows, gaps


def layer_bounds(model: Model, trace: Trace, sets: Sequence[Sets]) -> tuple[list[LayerBound], str]:
    """The bounds of all layers up to the first that failed, and why it failed ("" if none did)."""
    p = torch.zeros(len(trace.final), len(trace.final), dtype=F64)
    after = [tr.x for tr in trace.layers[1:]] + [trace.final]
    found: list[LayerBound] = []
    for at, (layer, tr, known) in enumerate(zip(model.layers, trace.layers, sets, strict=True)):
        maps = maps_of(layer, tr, known)
        attention = attention_half(maps, found[-1].out if found else p, attention_noise(layer, tr))
        if attention.failed:
            return found, f"the attention bound of layer {at} diverged"
        mlp = mlp_half(maps, attention.out, mlp_noise(layer, tr, after[at]))
        if mlp.failed:
            return found, f"the MLP bound of layer {at} diverged"
        found.append(LayerBound(maps, attention, mlp))
    return found, ""


def enclose(model: Model, trace: Trace, sets: Sequence[Sets]) -> Enclosure:
    """The ellipsoid method: radii forward, rivals screened at the last MLP and behind it, those left pulled back.

    Sound when the true rows lie in the sets, the weights are those of the model and the token's prefix is the same.
    """
    rows, gaps = directions(model, trace)
    bounds, reason = layer_bounds(model, trace, sets)
    if reason:
        return Enclosure("ellipsoid", True, trace.token, gaps, torch.full_like(gaps, torch.inf), reason)
    radii = screen(bounds[-1], rows)
    order = rivals_by_gap(gaps, trace.token)
    left = order[~(gaps > radii)[order]]
    if len(left):
        radii[left] = torch.minimum(radii[left], support(bounds[-1].out, rows[left]))
        left = left[~(gaps > radii)[left]]
    for start, end in ((0, RIVALS_FIRST), (RIVALS_FIRST, len(left))):
        picked = left[start:end]
        if len(picked) and bool((gaps > radii)[left[:start]].all()):
            radii[picked] = torch.minimum(radii[picked], pull_back(bounds, rows[picked]))
    return Enclosure("ellipsoid", True, trace.token, gaps, radii, "")


def rivals_by_gap(gaps: Tensor, winner: int) -> Tensor:
    """All ids but the winner, closest first, ties by the lowest id."""
    order = gaps.argsort(stable=True)
    return order[order != winner]
