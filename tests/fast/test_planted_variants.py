"""Wrong fast paths that a reviewer could miss: the same comparison that the real ones pass finds each of them."""

import dataclasses

import pytest
import torch

from proofkv_verify.fast import _rows, rounding, softmax_tv_mean_upper, softmax_tv_odds_upper
from proofkv_verify.fast.rounding import FP32, FP64, Model
from tests.fast.battery import TV_BOUNDS, TvBound, violations
from tests.fast.cases import Row, corner_rows, long_rows, random_rows

BY_SLUG = {bound.slug: bound for bound in TV_BOUNDS}
MEAN, ODDS, EFORM = (BY_SLUG[f"softmax_tv_{name}_upper"] for name in ("mean", "odds", "eform"))
OVERLAP = BY_SLUG["softmax_tv_overlap_upper"]


def rows(dtype=torch.float32):
    return [*corner_rows(dtype), *random_rows(dtype, 20, seed=31), *long_rows(dtype)]


def planted(slug, function):
    return dataclasses.replace(BY_SLUG[slug], fast=function)


@pytest.fixture(autouse=True)
def _fresh_factors():
    """The factors of the error model are cached; a planted model must not meet, or leave, those of another."""
    caches = (_rows.growth, _rows.shrinkage)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize("bound", [MEAN, ODDS, EFORM, OVERLAP], ids=lambda b: b.slug)
def test_the_real_paths_have_no_violation_on_the_rows_of_this_file(bound: TvBound):
    assert violations(bound, rows()) == []


def test_rounding_to_nearest_in_place_of_up_is_found(monkeypatch):
    monkeypatch.setattr(_rows, "returned_above", lambda x, dtype: x.to(dtype))
    assert violations(ODDS, rows())


def test_float64_steps_without_outward_rounding_are_found(monkeypatch):
    for name in ("up", "down"):
        monkeypatch.setattr(softmax_tv_odds_upper, name, lambda x: x)
    monkeypatch.setattr(softmax_tv_odds_upper, "scaled_up", lambda x, factor: x)
    assert violations(ODDS, rows(torch.float64))


def test_a_missing_term_for_the_rounding_of_the_exponent_is_found(monkeypatch):
    monkeypatch.setattr(Model, "weight_error", property(lambda model: model.exp_error))
    assert "exponent rounded down" in violations(MEAN, corner_rows(torch.float32))


def test_the_exponential_form_by_squaring_and_subtracting_one_is_found():
    def subtracting(s, c, mask=None):
        a = (torch.softmax(s, -1) * torch.exp(c)).sum(-1)
        return (a * a - 1) / 2

    found = violations(planted("softmax_tv_eform_upper", subtracting), rows())
    assert "tiny radii" in found
    row = Row("two hundred millionths", torch.zeros(2), torch.full((2,), 2e-8))
    assert subtracting(*row.batched).item() == 0


def test_the_overlap_form_by_subtracting_a_ratio_from_one_is_found():
    def subtracting(s, c, mask=None):
        p, r = torch.softmax(s, -1), torch.exp(c)
        return 1 - (p / r).sum(-1) / (p * r).sum(-1)

    assert "tiny radii" in violations(planted("softmax_tv_overlap_upper", subtracting), rows())


def test_a_running_sum_in_fp32_without_its_gamma_term_is_found(monkeypatch):
    def running(s, c, mask=None):
        weights = torch.exp(s - s.amax(-1, keepdim=True))
        total, top = torch.zeros(1, 1, 1), torch.zeros(1, 1, 1)
        for k in range(s.shape[-1]):
            total, top = total + weights[..., k], top + (weights * torch.expm1(c))[..., k]
        grow = (1 + FP32.weight_error) * (1 + FP32.exp_error) * (1 + FP32.unit) / (1 - FP32.weight_error)
        alpha = rounding.scaled_up(top.double(), grow) / total.double()
        return rounding.returned_above(softmax_tv_mean_upper.mean_of(alpha), torch.float32)

    equal = [Row(f"radius {k}/64", torch.zeros(2000), torch.full((2000,), k / 64)) for k in range(1, 9)]
    assert violations(planted("softmax_tv_mean_upper", running), equal)
    assert violations(MEAN, equal) == []


def test_an_underestimated_exponential_is_found(monkeypatch):
    monkeypatch.setattr(_rows, "excess", lambda c: (torch.expm1(c) * (1 - 2.0**-16), torch.expm1(c).amax(-1).double()))
    assert violations(MEAN, rows())


def test_a_mask_applied_after_the_sums_is_found():
    def after(s, c, mask):
        weights = torch.exp(s - s.amax(-1, keepdim=True)).double()
        alpha = (weights * torch.expm1(c.double()) * mask).sum(-1) / weights.sum(-1)
        return rounding.returned_above(softmax_tv_mean_upper.mean_of(alpha), torch.float32)

    def with_dead_tokens(bound):
        def fast(s, c, mask=None):
            dead = torch.full_like(s[..., :1], 30.0)
            mask = torch.cat([torch.ones_like(s), torch.zeros_like(dead)], -1) > 0
            return bound(torch.cat([s, dead], -1), torch.cat([c, torch.zeros_like(dead)], -1), mask)

        return planted("softmax_tv_mean_upper", fast)

    few = random_rows(torch.float32, 10, seed=33)
    assert violations(with_dead_tokens(MEAN.fast), few) == []
    assert len(violations(with_dead_tokens(after), few)) == len(few)


def test_masking_by_multiplication_is_found():
    def multiplied(s, c, mask):
        weights = torch.exp(s - torch.where(mask, s, -torch.inf).amax(-1, keepdim=True)) * mask
        alpha = (weights * torch.expm1(c)).sum(-1) / weights.sum(-1)
        return softmax_tv_mean_upper.mean_of(alpha.double())

    def poisoned(bound):
        def fast(s, c, mask=None):
            dead = torch.full_like(s[..., :1], torch.nan)
            return bound(torch.cat([s, dead], -1), torch.cat([c, dead], -1), torch.cat([s == s, dead == dead], -1))

        return planted("softmax_tv_mean_upper", fast)

    few = random_rows(torch.float32, 5, seed=34)
    assert violations(poisoned(MEAN.fast), few) == []
    assert len(violations(poisoned(multiplied), few)) == len(few)


def test_no_radius_mutant_the_slack_of_fp64_is_not_the_slack_of_fp32(monkeypatch):
    monkeypatch.setattr(_rows, "model_of", lambda dtype: FP64)
    assert violations(MEAN, rows())
