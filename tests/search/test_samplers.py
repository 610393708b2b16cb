"""The generators are tested too: values lie in their sets after every cast, and the promised regimes are reached."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import validate
from proofkv_verify.reference.registry import kind_named
from proofkv_verify.search.batch import check_cast, evaluate, narrow
from proofkv_verify.search.samplers import SPACES, random_batch, sample, space_of
from proofkv_verify.search.strategies import instances
from tests.search.claims import mean_without_condition
from tests.search.test_inside import broken_premises

ROUNDS = 60
SEARCHED = [(kind, form) for kind, space in SPACES.items() for form in space.forms]


def batches(kind, form, rounds=ROUNDS, size=16):
    rng = Random(7)
    return [random_batch(SPACES[kind], form, rng, batch=size) for _ in range(rounds)]


@pytest.mark.parametrize(("kind", "form"), SEARCHED)
def test_lifted_cases_are_well_formed_and_satisfy_their_premises_exactly(kind, form):
    for regime, batch in batches(kind, form):
        instance = batch.instance(3)
        validate(instance, kind_named(kind), hidden=True)
        assert broken_premises(instance) == [], regime


@pytest.mark.parametrize(("kind", "form"), SEARCHED)
def test_batches_are_finite(kind, form):
    for regime, batch in batches(kind, form):
        for name, tensor in batch.fields.items():
            assert bool(tensor.isfinite().all()), (regime, name)


@pytest.mark.parametrize(("kind", "form"), SEARCHED)
def test_lifting_moves_a_case_by_rounding_only(kind, form):
    for regime, batch in batches(kind, form, rounds=20):
        lifted = batch.instance(0).fields
        for name, tensor in batch.fields.items():
            flat = torch.tensor(floats(lifted[name]), dtype=torch.float64)
            gap = (flat - tensor[0].flatten()).abs()
            assert bool((gap <= 1e-9 * (1 + tensor[0].abs().max() if tensor[0].numel() else 1)).all()), (regime, name)


def floats(value):
    return [x for entry in value for x in floats(entry)] if isinstance(value, tuple) else [float(value)]


@pytest.mark.parametrize("kind", SPACES)
def test_every_regime_draws_every_structure_of_its_kind(kind):
    space, rng = space_of(kind), Random(3)
    for regime in space.regimes:
        for form in space.forms:
            for _ in range(12):
                batch = sample(space, regime, space.structure(rng, form, 8), rng.getrandbits(60), 4)
                assert len(batch) == 4


def test_equal_seeds_give_equal_batches():
    structure = space_of("softmax_tv").structure(Random(0), "ratio", 4)
    first, second = (sample(space_of("softmax_tv"), "wide", structure, 5, 8) for _ in range(2))
    other = sample(space_of("softmax_tv"), "wide", structure, 6, 8)
    assert all(torch.equal(first.fields[name], second.fields[name]) for name in first.fields)
    assert not all(torch.equal(first.fields[name], other.fields[name]) for name in first.fields)


def softmax_marks(batch):
    """Which promised corners the cases of a softmax batch reach."""
    w, r, t = (batch.fields[name] for name in ("weights", "ratios", "tilts"))
    p = w / w.sum(-1, keepdim=True)
    rows = p.shape[-1]
    marks = {
        "one token": torch.full((len(batch),), rows == 1),
        "dominant token": p.amax(-1) > 0.999,
        "tiny mass with a huge ratio": ((p < 1e-3) & (r > 1e3)).any(-1),
        "tie": torch.full((len(batch),), rows > 1) & (p.amax(-1) == p.amin(-1)),
        "subnormal weight": (w < 2.0**-1022).any(-1),
        "zero radius beside a positive one": (r == 1).any(-1) & (r > 1).any(-1),
        "all tilts at vertices": ((t - r).abs() < 1e-9 * r).logical_or((t - 1 / r).abs() < 1e-9 / r).all(-1),
        "equal ratios at mass 1/(k+1)": torch.full((len(batch),), rows > 1)
        & ((p * (1 + r) - 1).abs() < 1e-2).any(-1)
        & (r.amax(-1) == r.amin(-1)),
        "saturated": (r > 1e8).all(-1),
    }
    return {name: int(mask.sum()) for name, mask in marks.items()}


def test_promised_softmax_regimes_are_reached():
    count = Counter()
    for _, batch in batches("softmax_tv", "ratio", rounds=300):
        count.update(softmax_marks(batch))
    missing = [name for name in softmax_marks(batches("softmax_tv", "ratio", 1)[0][1]) if count[name] < 20]
    assert missing == [], count


def test_promised_structures_are_reached():
    rng, seen = Random(1), Counter()
    for _ in range(400):
        tv, logit = SPACES["softmax_tv"].structure(rng, "ratio", 8), SPACES["logit_abs"].structure(rng, "", 8)
        pages = [len(page) for page in tv.params["pages"]]
        seen.update(
            {"one-token page": 1 in pages, "page of many": max(pages) > 2, "no outside token": not tv.sizes["k"]}
        )
        group, heads, d = (logit.sizes[name] for name in ("group", "kv_heads", "d"))
        rotary = 2 * len(logit.params["planes"])
        split = any(j - i > 1 for i, j in logit.params["planes"])
        seen.update(
            {"query heads > KV heads > 1": group > 1 < heads, "partial rotary": 0 < rotary < d, "half-split": split}
        )
        seen.update({"head beyond the first group": logit.params["query_head"] >= group})
    assert min(seen.values()) >= 20, seen
    assert len(seen) == 7


def test_promised_linear_regimes_are_reached():
    seen = Counter()
    for _, batch in batches("logit_abs", "", rounds=150):
        c, e = batch.fields["cos"], batch.fields["key_error"]
        seen["quarter turn"] += int((c.abs() < 1e-12).any(-1).sum())
        seen["45 degrees"] += int(((c - 0.5**0.5).abs() < 1e-9).any(-1).sum())
        seen["no key error but a query error"] += int(((e == 0).all(-1) & (batch.fields["query_radius"] > 0)).sum())
    for _, batch in batches("quantizer_step", "", rounds=150):
        x = batch.fields
        seen["code at the end of its range"] += int(((x["code"] >= x["code_max"]) | (x["code"] <= x["code_min"])).sum())
        seen["stored scale differs"] += int((x["scale"] != x["divisor"]).sum())
    for _, batch in batches("argmax", "", rounds=150):
        top = batch.fields["scores_hat"].topk(min(2, batch.fields["scores_hat"].shape[-1])).values
        seen["exact tie at the top"] += int((top[:, 0] == top[:, -1]).sum()) if top.shape[-1] > 1 else 0
    assert min(seen.values()) >= 20, seen
    assert len(seen) == 6


def test_free_parameters_are_sometimes_malformed_on_purpose():
    below, decreasing, gaps = 0, 0, 0
    for _, batch in batches("softmax_tv", "ratio", rounds=200):
        kappas, edges, cells = (batch.fields.get(name) for name in ("kappas", "bin_edges", "cell_edges"))
        below += 0 if kappas is None else int((kappas < 1).any(-1).sum())
        decreasing += 0 if edges is None else int((edges.diff(dim=-1) < 0).any(-1).sum())
        gaps += 0 if cells is None else int(((cells[:, 0] > 0) | (cells[:, -1] < 1)).sum())
    assert min(below, decreasing, gaps) >= 20, (below, decreasing, gaps)


def test_screening_of_a_violated_case_is_positive_and_of_a_sound_one_negative():
    space = space_of("softmax_tv")
    structure = space.structure(Random(4), "ratio", 2)
    values = evaluate(mean_without_condition, sample(space, "benign", structure, 0, 64))
    assert bool(values.truth.isfinite().all())
    assert bool((values.excess[values.truth > values.claimed] > 0).all())
    assert bool((values.excess[values.truth <= values.claimed] <= 0).all())


@pytest.mark.parametrize("kind", SPACES)
def test_hypothesis_instances_satisfy_their_premises_exactly(kind):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(instances(kind))
    def holds(instance):
        validate(instance, kind_named(kind), hidden=True)
        assert broken_premises(instance) == []

    holds()


@pytest.mark.parametrize("kind", SPACES)
def test_hypothesis_reaches_the_vertices_of_the_box(kind):
    hits = Counter()

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(instances(kind, ("ratio",)))
    def count(instance):
        x = instance.fields
        pairs = {
            "softmax_tv": lambda: zip(x["tilts"], x["ratios"], strict=True),
            "attention_l2": lambda: zip(x["tilts"], x["ratios"], strict=True),
            "attention_linf": lambda: zip(x["tilts"], x["ratios"], strict=True),
            "argmax": lambda: ((abs(e), r) for e, r in zip(x["score_errors"], x["radii"], strict=True)),
            "logit_abs": lambda: ((abs(e), r) for e, r in zip(x["key_error"], x["box_radii"], strict=True)),
            "quantizer_step": lambda: [(abs(x["value"] - x["offset_in"] - x["divisor"] * x["code"]), x["divisor"] / 2)],
        }[kind]()
        hits["vertex"] += any(value == end > 0 for value, end in pairs)

    count()
    assert hits["vertex"] >= 15, hits


def test_narrow_keeps_open_and_closed_ends():
    values = torch.tensor([1e-300, 1.0, 1e300], dtype=torch.float64)
    weights = narrow(values, torch.float16, 0.0, open_low=True, name="weights")
    assert weights[0] > 0
    assert weights[2] == 65504
    ratios = narrow(torch.tensor([1.0, 1.0001], dtype=torch.float64), torch.bfloat16, 1.0, open_low=False, name="r")
    assert ratios.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_check_cast_refuses_what_left_its_set(dtype):
    with pytest.raises(InvalidInputError, match="after the cast"):
        check_cast(torch.tensor([1e39], dtype=torch.float64).to(dtype), 0.0, 1e40, name="x")
    with pytest.raises(InvalidInputError, match="after the cast"):
        check_cast(torch.tensor([1e-60], dtype=torch.float64).to(dtype), 0.0, 1.0, open_low=True, name="x")
    with pytest.raises(InvalidInputError, match="after the cast"):
        check_cast(torch.tensor([1.0 - 2.0**-30], dtype=torch.float64).to(dtype), 0.0, 1.0 - 2.0**-30, name="x")


def test_tilts_at_a_vertex_are_lifted_onto_it():
    space = space_of("softmax_tv")
    on_vertex = 0
    for seed in range(20):
        structure = space.structure(Random(seed), "ratio", 4)
        x = sample(space, "wide", structure, seed, 4).instance(0).fields
        on_vertex += all(t in (r, 1 / r) for t, r in zip(x["tilts"], x["ratios"], strict=True))
        assert all(isinstance(t, Fraction) for t in x["tilts"])
    assert on_vertex >= 18
