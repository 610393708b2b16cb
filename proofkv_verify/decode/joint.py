"""One certificate over the whole tail: page errors exactly to first order along every path, remainders as ellipsoids.

delta at (token, layer) = J E + sum of Phi r, with E the page errors and the storing of tail rows, J and Phi exact
Jacobians of the nominal graph, and r the remainders of every nonlinear step before, each in an ellipsoid that depends
only on bounds of earlier deltas. Correlation is given up between remainders, never for E.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from proofkv_verify.decode.adjoint import heads_remainder, mlp_remainder
from proofkv_verify.decode.attention_bound import AttentionBound
from proofkv_verify.decode.attention_half import attention_half
from proofkv_verify.decode.ellipsoid import UP, combine, image, row_norms, support, widen
from proofkv_verify.decode.enclosure import RIVALS_FIRST, Enclosure, directions, rivals_by_gap
from proofkv_verify.decode.loop import Decision, Gaps, plain_step
from proofkv_verify.decode.maps import Maps, maps_of
from proofkv_verify.decode.mlp_half import MlpBound, mlp_half, remainder_after_mlp
from proofkv_verify.decode.model import F64, Model, Trace
from proofkv_verify.decode.noise import attention_noise, mlp_noise, score_noise
from proofkv_verify.decode.opened import Opened, Sets
from proofkv_verify.decode.shapes import split
from proofkv_verify.decode.stored_rows import OwnRow, own_row
from proofkv_verify.decode.tail_graph import Pulled, TailGraph


@dataclass(frozen=True, slots=True)
class Half:
    """One token at one layer: Jacobians, bounds of its halves, ellipsoids of what the Jacobians leave out, its own row.

    While the token has no MLP yet, `mlp` and `mlp_rest` are None; `norm_rest` is of the norm before attention.
    """

    maps: Maps
    attention: AttentionBound
    mlp: MlpBound | None
    mlp_rest: Tensor | None
    norm_rest: Tensor
    own: OwnRow


@dataclass(slots=True)
class JointTail:
    """Certifies the tokens since a full-cache pass together; a token that diverges ends it until the next pass."""

    model: Model
    capacity: int = 32
    graph: TailGraph | None = None
    halves: list[list[Half]] = field(default_factory=list)
    broken: bool = False

    def certify(self, opened: Opened, token: int) -> Decision | None:
        """As `Tail.certify`; the row is added even where the step is not certified, unless the bounds diverged."""
        decision, certified = self.step(opened, token)
        return decision if certified else None

    def step(self, opened: Opened, token: int) -> tuple[Decision, bool]:
        """Encloses the next step over the tail, adds its row, and says whether its token is certified."""
        if self.graph is None:
            self.graph = TailGraph(self.model, opened.num_tokens, self.capacity)
        trace, sets, seconds = plain_step(self.model, opened, token)
        found = self._enclose(self.graph, trace, sets)
        noise = score_noise(self.model.head, trace.final)
        certified = Gaps().meet(found, noise + noise[trace.token])
        if not self.broken:
            own = [half.own for half in self.halves[-1]]
            opened.append_uncertain(torch.stack([o.row for o in own], 1), torch.stack([o.total for o in own], 1))
        return Decision(trace.token, "certified", trace, found, 0, 0, seconds), certified

    def _enclose(self, graph: TailGraph, trace: Trace, sets: list[Sets]) -> Enclosure:
        rows, gaps = directions(self.model, trace)
        none = torch.full_like(gaps, torch.inf)
        if self.broken or graph.tokens == graph.capacity:
            return Enclosure(
                "joint", True, trace.token, gaps, none, "an earlier token of the tail diverged or it is full"
            )
        graph.open_token()
        self.halves.append([])
        after = [tr.x for tr in trace.layers[1:]] + [trace.final]
        p = torch.zeros(len(trace.final), len(trace.final), dtype=F64)
        parts = (p, p)
        for at, known in enumerate(sets):
            new = self._layer(graph, at, maps_of(self.model.layers[at], trace.layers[at], known), parts, after[at])
            if new is None:
                self.broken = True
                return Enclosure("joint", True, trace.token, gaps, none, f"the joint bound of layer {at} diverged")
            parts = new
        radii = support(combine(list(parts)), rows)
        return Enclosure("joint", True, trace.token, gaps, self._refine(graph, rows, gaps, radii, trace.token), "")

    def _layer(
        self, graph: TailGraph, at: int, maps: Maps, parts: tuple[Tensor, Tensor], after: Tensor
    ) -> tuple[Tensor, Tensor] | None:
        """First-order and remainder ellipsoids after layer `at` from those before it, or None where a bound failed."""
        layer, tr = maps.layer, maps.trace
        kappa = self._tail_kappa(at, maps)
        attention = attention_half(maps, combine(list(parts)), attention_noise(layer, tr), kappa, remainder_only=True)
        if attention.failed:
            return None
        norm_rest = combine(list(attention.norm.own_remainder))
        graph.put_attention(at, maps)
        half = Half(maps, attention, None, None, norm_rest, own_row(maps, attention.p_in))
        self.halves[-1].append(half)
        first, rest = self._marginals(graph, at)
        mlp = mlp_half(maps, combine([first, rest]), mlp_noise(layer, tr, after))
        left_out = remainder_after_mlp(mlp, maps)
        self.halves[-1][-1] = replace(half, mlp=mlp, mlp_rest=left_out)
        if mlp.failed or not bool(left_out.isfinite().all()):
            return None
        return image(maps.mlp, first), combine([image(maps.mlp, rest), left_out])

    def _tail_kappa(self, at: int, maps: Maps) -> Tensor | None:
        """Score changes by keys of earlier tail tokens `[H, m]`: in the direction of the query, and by rounding."""
        earlier = self.halves[:-1]
        if not earlier:
            return None
        q, found = maps.trace.q, []
        for halves in earlier:
            other = halves[at]
            reach = (q[:, None] @ other.maps.trace.wk[maps.of])[:, 0]
            own = row_norms(q) * other.own.rounding[0][maps.of]
            found.append((support(other.attention.p_in, reach) + own) * maps.scale * UP)
        return torch.stack(found, 1)

    def _marginals(self, graph: TailGraph, at: int) -> tuple[Tensor, Tensor]:
        """Ellipsoids of the newest token's residual after attention of layer `at`: first order, and all remainders."""
        eye = torch.eye(self.model.config.hidden_size, dtype=F64)
        first, rest = _Sum(len(eye)), _Sum(len(eye))
        for pulled in graph.pull(eye, at, from_mid=True):
            keys, values = self._radii(graph, pulled.layer)
            first.add_rows(pulled.keys, keys)
            first.add_mixed(pulled.weights, pulled.heads, values)
            for rows, matrices in self._sources(pulled):
                rest.add_images(rows, matrices)
        return first.total(), rest.total()

    def _radii(self, graph: TailGraph, layer: int) -> tuple[Tensor, Tensor]:
        """Radii of the sources at one layer `[G, N]`: pages by token norm, exact rows 0, tail rows by rounding."""
        known = self.halves[-1][layer].maps.sets
        tail = [token[layer].own.rounding[:, :, None] for token in self.halves[:-1]]
        keys = torch.cat([known.key_norm[:, : graph.base], *(t[0] for t in tail)], 1)
        return keys, torch.cat([known.value_norm[:, : graph.base], *(t[1] for t in tail)], 1)

    def _sources(self, pulled: Pulled) -> list[tuple[Tensor, Tensor]]:
        """The remainders of one layer and the rows that carry them to the newest token: `[S, R, d]`, `[S, d, d]`."""
        halves = [token[pulled.layer] for token in self.halves if len(token) > pulled.layer]
        late = halves[pulled.first :]
        found = [(pulled.normal, torch.stack([h.norm_rest for h in halves]))]
        found.append((pulled.mid, torch.stack([h.attention.out for h in late])))
        if pulled.end is not None:
            found.append((pulled.end, torch.stack([h.mlp_rest for h in late if h.mlp_rest is not None])))
        return found

    def _refine(self, graph: TailGraph, rows: Tensor, gaps: Tensor, radii: Tensor, winner: int) -> Tensor:
        """Replaces the screened radii of the rivals left by the joint adjoint, hardest first."""
        order = rivals_by_gap(gaps, winner)
        left = order[~(gaps > radii)[order]]
        for start, end in ((0, RIVALS_FIRST), (RIVALS_FIRST, len(left))):
            picked = left[start:end]
            if len(picked) and bool((gaps > radii)[left[:start]].all()):
                radii[picked] = torch.minimum(radii[picked], self._pull_back(graph, rows[picked]))
        return radii

    def _pull_back(self, graph: TailGraph, rows: Tensor) -> Tensor:
        """Radius of each direction at the newest token's last residual `[R]`."""
        total = torch.zeros(len(rows), dtype=F64)
        for pulled in graph.pull(rows, len(self.halves[-1]) - 1, from_mid=False):
            keys, values = self._radii(graph, pulled.layer)
            total += (row_norms(pulled.keys) * keys[..., None]).sum((0, 1)) + (
                row_norms(pulled.values) * values[..., None]
            ).sum((0, 1))
            for at, token in enumerate(self.halves):
                total += _directional(token[pulled.layer], pulled, at)
        return total * UP


def _directional(half: Half, pulled: Pulled, at: int) -> Tensor:
    """What one token's remainders at one layer add in each direction: the smaller of ellipsoid and directional form."""
    normal = pulled.normal[at]
    total = torch.minimum(support(half.norm_rest, normal), half.attention.norm.support(normal))
    if at >= pulled.first:
        mid, end = pulled.mid[at - pulled.first], pulled.end
        total = total + torch.minimum(support(half.attention.out, mid), heads_remainder(half.maps, half.attention, mid))
        if end is not None and half.mlp is not None and half.mlp_rest is not None:
            rows = end[at - pulled.first]
            total = total + torch.minimum(support(half.mlp_rest, rows), mlp_remainder(half.maps, half.mlp, rows))
    return total


class _Sum:
    """A Minkowski sum in the making: sum of P_i / t_i and sum of t_i with t_i = sqrt(tr P_i)."""

    def __init__(self, size: int) -> None:
        self.matrix = torch.zeros(size, size, dtype=F64)
        self.weight, self.slack = torch.zeros((), dtype=F64), torch.zeros((), dtype=F64)

    def add_rows(self, maps: Tensor, radii: Tensor) -> None:
        """Adds, for every KV head and row, the image of a ball: maps `[G, N, R, D]`, radii `[G, N]`."""
        norms = maps.flatten(2).norm(dim=-1) * radii
        scaled = maps * (radii / torch.where(norms == 0, 1.0, norms).sqrt())[..., None, None]
        flat = scaled.permute(2, 0, 1, 3).flatten(1)
        self.matrix += flat @ flat.T
        self.weight += norms.sum() * UP

    def add_mixed(self, weights: Tensor, heads: Tensor, radii: Tensor) -> None:
        """The same for maps that are sums over k of weights_ik heads_k: weights `[G, N, K]`, heads `[G, K, R, D]`."""
        if weights.shape[2] >= weights.shape[1]:
            self.add_rows(split(weights @ heads.flatten(2), -1, tuple(heads.shape[2:])), radii)
            return
        flat = heads.flatten(2)
        lengths = ((weights @ (flat @ flat.mT)) * weights).sum(-1).clamp_min(0).sqrt() + 1e-7 * weights.norm(dim=-1)
        norms = lengths * radii
        scaled = weights * (radii / torch.where(norms == 0, 1.0, norms).sqrt())[..., None]
        mixed = split(torch.linalg.qr(scaled).R @ flat, -1, tuple(heads.shape[2:]))
        rows = mixed.permute(2, 0, 1, 3).flatten(1)
        self.matrix += rows @ rows.T
        self.weight += norms.sum() * UP

    def add_images(self, rows: Tensor, matrices: Tensor) -> None:
        """Adds the images of ellipsoids: rows `[S, R, d]`, matrices `[S, d, d]`."""
        half = rows @ matrices
        traces = (half * rows).sum((1, 2)).clamp_min(0).sqrt()
        safe = torch.where(traces == 0, 1.0, traces)
        scaled = half / safe[:, None, None]
        self.slack += (rows.square().sum((1, 2)) * matrices.diagonal(dim1=1, dim2=2).sum(-1) / safe).sum()
        self.matrix += scaled.transpose(0, 1).flatten(1) @ rows.transpose(0, 1).flatten(1).T
        self.weight += traces.sum() * UP

    def total(self) -> Tensor:
        """The matrix of the sum, symmetric and widened for rounding."""
        full = self.weight * (self.matrix + self.matrix.T) / 2
        return widen(full, full.diagonal().sum() + 1e-2 * self.weight * self.slack)
