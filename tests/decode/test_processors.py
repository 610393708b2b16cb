"""Logit processors: those that keep the winner are recorded, all others are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.processors import Processor, parse_processor, parse_processors
from proofkv_verify.errors import InvalidInputError
from tests.decode.tiny import tiny_ids, tiny_model

F64 = torch.float64


def top_k(x: Tensor, k: float) -> Tensor:
    return x.masked_fill(x < x.topk(min(int(k), len(x))).values[-1], -torch.inf)


def top_p(x: Tensor, p: float) -> Tensor:
    ordered, index = x.softmax(-1).sort(descending=True)
    gone = ordered.cumsum(-1) - ordered >= p
    return x.masked_fill(torch.zeros_like(gone).scatter(0, index, gone), -torch.inf)


def min_p(x: Tensor, p: float) -> Tensor:
    weights = x.softmax(-1)
    return x.masked_fill(weights < p * weights.max(), -torch.inf)


RUN: dict[str, Callable[[Tensor, float], Tensor]] = {
    "temperature": lambda x, t: x / t,
    "softcap": lambda x, c: c * torch.tanh(x / c),
    "top-k": top_k,
    "top-p": top_p,
    "min-p": min_p,
}
TEXTS = ["temperature:0.7", "temperature:3", "softcap:30", "top-k:1", "top-k:50", "top-p:0.9", "top-p:1", "min-p:0.1"]


@pytest.mark.parametrize("text", TEXTS)
@given(st.lists(st.integers(-40, 40), min_size=2, max_size=12, unique=True))
def test_an_accepted_processor_keeps_the_argmax(text: str, values: list[int]) -> None:
    """Logits at least 1/4 apart and within 10, so that no float rounds two of them together."""
    found, logits = parse_processor(text), torch.tensor(values, dtype=F64) / 4
    assert int(RUN[found.name](logits, found.value).argmax()) == int(logits.argmax())
    assert found.reason


def test_a_rounded_increasing_map_can_tie_what_the_exact_one_does_not() -> None:
    """Why the claim is about real arithmetic: two different logits far above the cap are one float afterwards."""
    logits = torch.tensor([900.0, 901.0], dtype=F64)
    capped = RUN["softcap"](logits, 30.0)
    assert logits[1] > logits[0]
    assert capped[1] == capped[0]
    assert int(capped.argmax()) != int(logits.argmax())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("repetition-penalty:1.1", "tokens that have occurred"),
        ("repetition_penalty:1.1", "tokens that have occurred"),
        ("frequency-penalty:0.5", "how often they have occurred"),
        ("presence-penalty:0.5", "tokens that have occurred"),
        ("logit-bias:5", "another number to each token"),
        ("no-repeat-ngram:3", "can forbid the winner"),
        ("typical-p:0.9", "can mask the most probable token"),
        ("xtc:0.1", "masks the most probable tokens"),
        ("guidance-scale:1.5", "another prompt"),
        ("min-length:4", "end token"),
        ("temperature:0", "keeps no order"),
        ("temperature:-1", "keeps no order"),
        ("temperature:inf", "positive number"),
        ("temperature:nan", "positive number"),
        ("temperature", "positive number"),
        ("softcap:0", "positive number"),
        ("top-k:0", "positive integer"),
        ("top-k:2.5", "positive integer"),
        ("top-p:0", "above 0 and at most 1"),
        ("top-p:1.5", "above 0 and at most 1"),
        ("min-p:1.5", "from 0 to 1"),
        ("banana:1", "temperature, softcap, top-k, top-p, min-p"),
        ("", "temperature, softcap"),
    ],
)
def test_any_other_processor_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why) as error:
        parse_processor(text)
    assert "\n" not in str(error.value)


def test_a_processor_cannot_be_made_past_the_check() -> None:
    with pytest.raises(InvalidInputError, match="occurred"):
        Processor("repetition-penalty", 1.0)


def test_processors_change_no_token_and_are_kept_with_the_decoder() -> None:
    ids, model = tiny_ids(20, 1), tiny_model(2, 1)
    plain = CertifiedDecoder(model, Scheme((4, 8, 16), 8)).generate(ids, 4)
    decoder = CertifiedDecoder(model, Scheme((4, 8, 16), 8), processors=["temperature:0.7", Processor("top-k", 5)])
    assert decoder.generate(ids, 4).tokens == plain.tokens
    assert decoder.processors == parse_processors(["temperature:0.7", "top-k:5"])
    with pytest.raises(InvalidInputError, match="logit-bias"):
        CertifiedDecoder(model, Scheme(), processors=["logit-bias:1"])
