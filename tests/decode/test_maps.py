"""The Jacobians equal automatic differentiation, and the forward pass equals an attention written another way."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.maps import Maps, all_maps
from proofkv_verify.decode.model import advance, layer_step, mlp_output, prefill, stored
from tests.decode.harness import Step, tiny_step
from tests.decode.tiny import tiny_ids, tiny_model

F64 = torch.float64


def turned(step: Step) -> tuple[torch.Tensor, torch.Tensor]:
    angle = (step.model.frequencies * step.opened.num_tokens)[:, None]
    return angle.cos(), angle.sin()


def jacobian_faults(step: Step, maps: list[Maps]) -> list[str]:
    """Which halves' Jacobians differ from automatic differentiation."""
    found = []
    for at, (layer, m) in enumerate(zip(step.model.layers, maps, strict=True)):
        cache, spin = step.caches[at], turned(step)

        def attention(x: torch.Tensor) -> torch.Tensor:
            return layer_step(step.model, layer, cache, x, spin).mid  # noqa: B023

        def both(x: torch.Tensor) -> torch.Tensor:
            return mlp_output(layer, layer_step(step.model, layer, cache, x, spin))  # noqa: B023

        x = step.nominal.layers[at].x
        exact = torch.autograd.functional.jacobian(attention, x)
        whole = torch.autograd.functional.jacobian(both, x)
        if not (exact - m.attention).abs().max() < 1e-10:
            found.append(f"attention of layer {at}")
        if not (whole - m.mlp @ m.attention).abs().max() < 1e-9:
            found.append(f"layer {at}")
    return found


@pytest.mark.parametrize("group_size", [1, 2, 3])
def test_jacobians_equal_automatic_differentiation(group_size: int) -> None:
    step = tiny_step(1, 8, group_size=group_size)
    assert jacobian_faults(step, all_maps(step.model.layers, step.nominal, step.sets)) == []


def test_head_jacobians_and_score_rows_equal_automatic_differentiation() -> None:
    step = tiny_step(2, 8)
    m = all_maps(step.model.layers, step.nominal, step.sets)[1]
    tr, layer = m.trace, m.layer

    def centred_scores(h: torch.Tensor) -> torch.Tensor:
        keys = torch.cat([tr.keys[:, :-1], (tr.wk @ h)[:, None]], 1)[m.of]
        scores = (keys @ (tr.wq @ h)[..., None])[..., 0] * m.scale
        return scores - (tr.p * scores).sum(-1, keepdim=True)

    exact = torch.autograd.functional.jacobian(centred_scores, tr.h)
    assert (exact - m.rows @ m.turns).abs().max() < 1e-12

    def heads(h: torch.Tensor) -> torch.Tensor:
        values = torch.cat([tr.values[:, :-1], (layer.wv @ h)[:, None]], 1)[m.of]
        shift = centred_scores(h) - centred_scores(tr.h)
        p = (tr.p.log() + shift).softmax(-1)
        return (p[..., None] * values).sum(1)

    exact = torch.autograd.functional.jacobian(heads, tr.h)
    assert (exact - m.heads - tr.p[:, -1, None, None] * layer.wv[m.of]).abs().max() < 1e-12


def test_a_changed_half_has_its_own_jacobian_and_a_changed_layer_its_own_lengths() -> None:
    step = tiny_step(1, 8)
    m = all_maps(step.model.layers, step.nominal, step.sets)[1]
    eye, lengths = torch.eye(16, dtype=F64), m.layer.lengths
    assert not torch.equal(m.attention, eye)
    assert not torch.equal(m.mlp, eye)
    still = replace(m, attention_out=m.attention_out * 0, mlp_out=m.mlp_out * 0)
    assert torch.equal(still.attention, eye)
    assert torch.equal(still.mlp, eye)
    assert lengths["wo"] == float(m.layer.wo.square().sum().sqrt())
    assert replace(m.layer, wo=m.layer.wo * 2).lengths["wo"] == 2 * lengths["wo"]


def test_one_step_equals_the_parallel_prefill() -> None:
    model, ids = tiny_model(3, 4), tiny_ids(20, 4)
    full = FullCache.of_prompt(model, ids)
    exact = prefill(model, ids[:-1])
    trace = advance(model, ids[-1], 19, exact)
    for layer, cache in enumerate(full.caches):
        own = stored(trace.layers[layer].keys[:, -1])
        assert (own - cache.keys[:, -1]).abs().max() < 0.02  # the prefix's rows are rounded here and not there


def test_a_first_token_attends_to_itself_alone() -> None:
    model = tiny_model(1)
    trace = FullCache.of_prompt(model, []).step(3)
    assert (trace.layers[0].p == 1).all()
    assert torch.equal(trace.layers[0].o, trace.layers[0].values[model.heads_to_kv, 0])
