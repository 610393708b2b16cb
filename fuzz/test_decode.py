"""Decoding: sidecars, enclosure, joint tail and loop on random models, ladders and prompts."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable

import pytest
import torch

from fuzz.conftest import seconds
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.model import Model, build_model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.page_plan import page_charges
from proofkv_verify.decode.pages import Scheme, compress
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.reference.step_check import check_step
from proofkv_verify.verdict import Verified
from tests.decode.harness import make_step, only, search_violation
from tests.decode.stored import certified, rewrite, write_model
from tests.decode.test_page_plan import random_head, violated
from tests.decode.tiny import tiny_config, tiny_ids, tiny_tensors

LADDERS = ((4, 8, 16), (2, 16), (3, 6, 9, 12, 15), (8,), (6, 7, 16), (12, 14), (16,), (5, 10))


@pytest.fixture
def spend(request: pytest.FixtureRequest) -> Callable[[Callable[[torch.Generator], None]], None]:
    """Runs a trial with fresh random choices until the budget is spent; at least one."""
    budget, seed = seconds(request.config.getoption("--fuzz-budget")), request.config.getoption("--fuzz-seed")

    def run(trial: Callable[[torch.Generator], None]) -> None:
        end, generator = time.monotonic() + budget, torch.Generator().manual_seed(seed)
        trial(generator)
        while time.monotonic() < end:
            trial(generator)

    return run


def pick(generator: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high + 1, (1,), generator=generator))


def random_model(generator: torch.Generator) -> Model:
    config = tiny_config(pick(generator, 1, 3), pick(generator, 1, 3))
    scale = float(torch.rand(1, generator=generator)) * 1.6 + 0.3
    return build_model(config, tiny_tensors(config, pick(generator, 0, 10**6), scale), "random")


def test_sidecars_contain_every_page(spend) -> None:
    def trial(generator: torch.Generator) -> None:
        shape = (2, 1, 1, pick(generator, 1, 3), pick(generator, 1, 17), pick(generator, 1, 9))
        rows = torch.randn(shape, generator=generator) * 10.0 ** pick(generator, -6, 2)
        flat = torch.rand(shape, generator=generator) < 0.2 * pick(generator, 0, 2)
        rows = torch.where(flat, torch.full_like(rows, 1.5), rows).clamp(-4000, 4000).half().double()
        scheme = Scheme(LADDERS[pick(generator, 0, len(LADDERS) - 1)], shape[4])
        found = Opened(compress(rows, scheme), scheme, rows[:, :, :, 0, :0])
        for level in scheme.ladder:
            found.refine(torch.full_like(found.levels, level))
            known, cache = found.sets(0), found.cache(0)
            keys, values = (rows[kind, 0].flatten(1, 2) for kind in (0, 1))
            assert ((keys - cache.keys).abs() <= known.key_box).all()
            assert ((keys - cache.keys).norm(dim=-1) <= known.key_norm).all()
            assert ((values - cache.values).abs() <= known.value_box[..., None]).all()
            assert ((values - cache.values).norm(dim=-1) <= known.value_norm).all()

    spend(trial)


def test_attacks_leave_no_enclosure(spend) -> None:
    def trial(generator: torch.Generator) -> None:
        model, page = random_model(generator), pick(generator, 4, 12)
        ids = tiny_ids(pick(generator, 6, 40), pick(generator, 0, 10**6))
        step = make_step(model, ids, Scheme((pick(generator, 5, 13),), page))
        assert search_violation(step, steps=4) == []
        assert search_violation(step, only(step.sets, ("norm", "box", "sigma")[pick(generator, 0, 2)]), steps=2) == []

    spend(trial)


def test_the_loop_emits_the_full_caches_tokens(spend) -> None:
    def trial(generator: torch.Generator) -> None:
        model, ids = random_model(generator), tiny_ids(pick(generator, 1, 40), pick(generator, 0, 10**6))
        scheme = Scheme(LADDERS[pick(generator, 0, len(LADDERS) - 1)], pick(generator, 1, 12))
        policy = ("exact", "exact:3", "joint", "joint:2", "radius")[pick(generator, 0, 4)]
        found = CertifiedDecoder(model, scheme, policy, keep_levels=bool(pick(generator, 0, 1))).generate(ids, 6)
        full, token = FullCache.of_prompt(model, ids[:-1]), ids[-1]
        for emitted in found.tokens:
            token = full.step(token).token
            assert emitted == token

    spend(trial)


def test_no_set_of_opened_pages_leaves_more_than_the_charges(spend) -> None:
    def trial(generator: torch.Generator) -> None:
        assert not violated(page_charges, random_head(pick(generator, 0, 10**9)))

    spend(trial)


def test_an_altered_certificate_is_refused_or_judged_and_never_for_another_winner(spend, tmp_path) -> None:
    certified(write_model(tmp_path / "model.safetensors"), tmp_path / "kept.json", (5, 12, 16))
    winner = json.loads((tmp_path / "kept.json").read_text())["winner"]

    def trial(generator: torch.Generator) -> None:
        stated = pick(generator, 0, 15)

        def change(document, tensors) -> None:
            document["winner"] = stated
            for _ in range(pick(generator, 1, 3)):
                name = sorted(tensors)[pick(generator, 0, len(tensors) - 1)]
                if tensors[name].numel():
                    at, least = pick(generator, 0, tensors[name].numel() - 1), 0 if name == "levels" else -2
                    tensors[name].view(-1)[at] = pick(generator, least, 250)

        for end in ("json", "safetensors"):
            shutil.copyfile(tmp_path / f"kept.{end}", tmp_path / f"step.{end}")
        rewrite(tmp_path / "step.json", change)
        try:
            report = check_step(tmp_path / "step.json", tmp_path / "model.safetensors", tmp_path / "rows.safetensors")
        except InvalidInputError:
            return
        assert stated == winner or not isinstance(report.verdict, Verified)

    spend(trial)
