"""The loop: the sequence is the full cache's under every policy, and every step says how it was decided."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from proofkv_verify import decode as decode_package
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.enclosure import Enclosure
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import ContradictionError, Decider, Gaps, open_cache
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.planner import brute_force, needs, next_levels, plan, predict
from proofkv_verify.decode.policy import Policy, parse_policy
from proofkv_verify.errors import InvalidInputError
from tests.decode.harness import tiny_step
from tests.decode.tiny import tiny_ids, tiny_model

F64 = torch.float64


def greedy(seed: int, ids: list[int], count: int) -> list[int]:
    full, token, found = FullCache.of_prompt(tiny_model(2, seed), ids[:-1]), ids[-1], []
    for _ in range(count):
        token = full.step(token).token
        found.append(token)
    return found


@pytest.mark.parametrize("policy", ["exact", "exact:4", "joint", "joint:3", "radius", "radius:5"])
@pytest.mark.parametrize("levels", [(4, 8, 16), (8,), (12, 16)])
def test_the_sequence_is_the_full_caches(policy: str, levels: tuple[int, ...]) -> None:
    ids = tiny_ids(30, 1)
    decoder = CertifiedDecoder(tiny_model(2, 1), Scheme(levels, 8), policy)
    found = decoder.generate(ids, 14)
    assert list(found.tokens) == greedy(1, ids, 14)
    assert [r.position for r in found.records] == list(range(29, 43))
    counted = found.summary
    assert counted.certified + counted.refined + counted.full + counted.anchored + counted.drafted == 14


@pytest.mark.parametrize("prompt", [1, 2, 9])
def test_prompts_shorter_than_a_page_decode(prompt: int) -> None:
    ids = tiny_ids(prompt, 2)
    found = CertifiedDecoder(tiny_model(2, 2), Scheme((4, 8, 16), 8), "exact").generate(ids, 10)
    assert list(found.tokens) == greedy(2, ids, 10)


def test_every_step_of_the_default_policy_is_certified_or_repaired() -> None:
    found = CertifiedDecoder(tiny_model(2, 3), Scheme((4, 8, 16), 8), "exact").generate(tiny_ids(40, 3), 12)
    assert {r.outcome for r in found.records} <= {"certified", "refined", "full"}
    for r in found.records:
        assert r.outcome == "full" or r.radius < r.margin
        assert (r.rounds == 0) == (r.outcome == "certified") or r.outcome == "full"
        assert r.anchor_bits > 0


def test_levels_are_counted_per_step() -> None:
    found = CertifiedDecoder(tiny_model(2, 3), Scheme((4, 8, 16), 8), "exact").generate(tiny_ids(40, 3), 4)
    for r in found.records:
        units = sum(count for _, count in r.levels)
        assert units == 2 * 2 * 2 * (r.position // 8)
        assert r.bits == pytest.approx(sum(level * count for level, count in r.levels) / units)
        assert {level for level, _ in r.levels} <= {4, 8, 16}


def test_the_decoder_is_loaded_from_its_package_when_asked_for() -> None:
    assert decode_package.CertifiedDecoder is CertifiedDecoder
    assert all(getattr(decode_package, name) is not None for name in decode_package.__all__)
    with pytest.raises(AttributeError, match="surprise"):
        _ = decode_package.surprise


def test_bytes_are_ids() -> None:
    prompt = bytes(tiny_ids(20, 1))
    decoder = CertifiedDecoder(tiny_model(2, 1), Scheme((12, 16), 8))
    assert decoder.generate(prompt, 3).tokens == decoder.generate(list(prompt), 3).tokens


def test_kept_levels_only_rise_and_are_read_once() -> None:
    decoder = CertifiedDecoder(tiny_model(2, 3), Scheme((4, 8, 16), 8), "exact", keep_levels=True)
    kept = decoder.generate(tiny_ids(40, 3), 6)
    dropped = CertifiedDecoder(tiny_model(2, 3), Scheme((4, 8, 16), 8), "exact").generate(tiny_ids(40, 3), 6)
    assert kept.tokens == dropped.tokens
    assert sum(r.units_opened for r in kept.records) < sum(r.units_opened for r in dropped.records)


def test_a_decision_is_deterministic() -> None:
    runs = [
        CertifiedDecoder(tiny_model(2, 4), Scheme((3, 5, 8, 16), 8), "exact").generate(tiny_ids(30, 4), 5)
        for _ in range(2)
    ]
    strip = [[replace(r, seconds=0.0, forward_seconds=0.0) for r in run.records] for run in runs]
    assert strip[0] == strip[1]


def test_the_loop_ends_with_the_full_caches_argmax_when_nothing_can_be_certified() -> None:
    """Two equal head rows tie for ever: all is read, and the lowest id wins."""
    model = tiny_model(2, 5)
    step = tiny_step(5)
    head = model.head.clone()
    winner = step.true.token
    twin = (winner + 3) % 16
    head[twin] = head[winner]
    tied = replace(model, head=head)
    full = FullCache.of_prompt(tied, tiny_ids(38, 5)[:-1])
    opened = open_cache(full, Scheme((4, 8, 16), 8))
    decision = Decider(tied).decide(opened, tiny_ids(38, 5)[-1])
    assert decision is not None
    assert decision.outcome == "full"
    assert decision.token == min(winner, twin)
    assert (opened.levels == 16).all()
    assert decision.rounds <= 3 * opened.levels.numel()


def test_rounds_that_do_not_meet_raise() -> None:
    low = Enclosure("ellipsoid", True, 0, torch.tensor([0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.1], dtype=F64), "")
    high = replace(low, gaps=torch.tensor([0.0, 3.0], dtype=F64))
    noise, gaps = torch.zeros(2, dtype=F64), Gaps()
    assert gaps.meet(low, noise)
    with pytest.raises(ContradictionError, match="token 1"):
        gaps.meet(high, noise)


def test_rounds_of_one_winner_intersect_and_another_winner_starts_anew() -> None:
    noise, gaps = torch.zeros(2, dtype=F64), Gaps()
    wide = Enclosure("ellipsoid", True, 0, torch.tensor([0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.9], dtype=F64), "")
    wider = replace(wide, radii=torch.tensor([0.0, 5.0], dtype=F64))
    assert gaps.meet(wide, noise)
    assert gaps.meet(wider, noise)
    other = replace(
        wider, winner=1, gaps=torch.tensor([1.0, 0.0], dtype=F64), radii=torch.tensor([2.0, 0.0], dtype=F64)
    )
    assert not gaps.meet(other, noise)


def test_a_slack_asks_for_that_many_radii() -> None:
    noise = torch.zeros(2, dtype=F64)
    found = Enclosure(
        "ellipsoid", True, 0, torch.tensor([0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.4], dtype=F64), ""
    )
    assert Gaps().meet(found, noise)
    assert Gaps().meet(found, noise, 2.0)
    assert not Gaps().meet(found, noise, 2.5)
    ids, scheme = tiny_ids(30, 1), Scheme((4, 6, 8, 10, 12, 16), 8)
    plain, wide = (CertifiedDecoder(tiny_model(2, 1), scheme, slack=s).generate(ids, 6) for s in (1.0, 4.0))
    assert plain.tokens == wide.tokens
    assert sum(r.bits for r in plain.records) < sum(r.bits for r in wide.records)
    assert all(r.outcome == "full" or 4 * r.radius < r.margin for r in wide.records)


@pytest.mark.parametrize(("slack", "policy"), [(0.5, "exact"), (math.nan, "exact"), (2.0, "joint")])
def test_a_slack_below_one_or_under_another_policy_is_refused(slack: float, policy: str) -> None:
    with pytest.raises(InvalidInputError, match="slack"):
        CertifiedDecoder(tiny_model(), Scheme(), policy, slack=slack)


@pytest.mark.parametrize("radius", [math.nan, math.inf])
def test_a_radius_that_is_no_number_certifies_nothing(radius: float) -> None:
    found = Enclosure(
        "ellipsoid", True, 0, torch.tensor([0.0, 1.0], dtype=F64), torch.tensor([0.0, radius], dtype=F64), ""
    )
    assert not Gaps().meet(found, torch.zeros(2, dtype=F64))
    assert not found.certified


def test_a_plan_is_monotone_and_meets_its_target() -> None:
    step = tiny_step(3, 4)
    found = needs(step.model, step.nominal, step.sets)
    ladder = (4, 6, 8, 10, 16)
    for target in (3.0, 1.0, 0.3, 0.01):
        wanted = plan(found.scores, step.opened.levels, ladder, target)
        assert (wanted >= step.opened.levels).all()
        assert set(wanted.unique().tolist()) <= set(ladder)
        assert float(predict(found.scores, step.opened.levels, wanted).sum()) <= target
    wanted, _ = next_levels(found, torch.full_like(step.opened.levels, 16), ladder, 0)
    assert (wanted == 16).all()


def test_brute_force_finds_the_cheapest_levels() -> None:
    assert brute_force((4, 8, 16), [4, 4, 4], lambda c: c[1] >= 8 and c[2] >= 4) == (4, 8, 4)
    assert brute_force((4, 8), [8, 8], lambda c: False) is None
    with pytest.raises(InvalidInputError, match="12"):
        brute_force((4, 8), [4] * 13, lambda c: True)


@pytest.mark.parametrize("text", ["", "exactly", "exact:0", "joint:-1", "radius:x", "vericache"])
def test_an_unknown_policy_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"policy|full-cache passes"):
        parse_policy(text)


def test_policies_parse_with_their_periods() -> None:
    assert parse_policy("exact") == Policy("exact", 1)
    assert parse_policy("joint:8") == Policy("joint", 8)


@pytest.mark.parametrize(
    ("ids", "count", "match"),
    [
        ([], 1, "at least one token"),
        ([16], 1, "id below 16"),
        ([-1], 1, "id below 16"),
        ([1] * 120, 9, "at most 128 positions"),
    ],
)
def test_bad_prompts_are_refused(ids: list[int], count: int, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        CertifiedDecoder(tiny_model(), Scheme()).generate(ids, count)


def test_methods_that_prove_nothing_do_not_decide() -> None:
    with pytest.raises(InvalidInputError, match="proof"):
        CertifiedDecoder(tiny_model(), Scheme(), method="first-order")
    with pytest.raises(InvalidInputError, match="ellipsoid"):
        CertifiedDecoder(tiny_model(), Scheme(), "joint", method="l2")
