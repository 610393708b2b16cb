"""The sequence theorem's invariant is checked while decoding, and "exact" is printed only where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from proofkv_verify.decode import decoder as decoder_module
from proofkv_verify.decode.command import run_decode
from proofkv_verify.decode.decoder import CertifiedDecoder
from proofkv_verify.decode.full_cache import FullCache, row_of
from proofkv_verify.decode.invariant import check_enclosed, check_rows
from proofkv_verify.decode.loop import ContradictionError, open_cache
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.record import confirmed
from proofkv_verify.errors import InvalidInputError
from tests.decode.stored import write_model
from tests.decode.test_baselines import record
from tests.decode.tiny import tiny_ids, tiny_model

SCHEME = Scheme((12, 16), 8)
TEXT = "".join(chr(1 + i % 15) for i in range(30))


def held(tokens: int = 20) -> tuple[FullCache, Opened]:
    full = FullCache.of_prompt(tiny_model(2, 1), tiny_ids(tokens, 1))
    return full, open_cache(full, SCHEME)


def test_rows_of_the_full_cache_pass_and_others_do_not() -> None:
    full, opened = held()
    check_rows(opened, full)
    opened.append(row_of(full.step(3)))
    check_rows(opened, full)
    full.step(4)
    with pytest.raises(ContradictionError, match="21 rows, the full cache 22"):
        check_rows(opened, full)


@pytest.mark.parametrize(
    ("where", "name"), [("pages", "row 9 of the values of layer 1"), ("tail", "row 17 of the keys")]
)
def test_one_changed_bit_of_a_row_is_noticed(where: str, name: str) -> None:
    full, opened = held()
    if where == "pages":
        opened.pages.rows[1, 1, 0, 1, 1, 2] *= 1 + 2.0**-10
    else:
        opened.tail[0, 0, 1, 1, 0] *= 1 + 2.0**-10
    with pytest.raises(ContradictionError, match=name):
        check_rows(opened, full)


def test_rows_that_are_only_enclosed_are_not_the_full_caches() -> None:
    full, opened = held()
    opened.append_uncertain(row_of(full.step(3)), torch.zeros(2, 2, 2, dtype=torch.float64))
    with pytest.raises(ContradictionError):
        check_rows(opened, full)


def test_a_row_outside_its_set_and_a_nan_are_noticed() -> None:
    row, radius = torch.zeros(2, 1, 1, 3, dtype=torch.float64), torch.full((2, 1, 1), 0.5, dtype=torch.float64)
    check_enclosed(row, radius, row + 0.25, 7)
    for bad in (row + 0.3, row + float("nan")):
        with pytest.raises(ContradictionError, match="position 7"):
            check_enclosed(row, radius, bad, 7)


def test_read_back_of_a_generated_row_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row that the compressed pass computed, kept as if it were the full cache's."""
    monkeypatch.setattr(decoder_module, "row_of", lambda trace: row_of(trace) * (1 + 2.0**-9))
    with pytest.raises(ContradictionError, match="is not the full cache's"):
        CertifiedDecoder(tiny_model(2, 1), Scheme((4, 8, 16), 8), "exact").generate(tiny_ids(30, 1), 3)


@pytest.mark.parametrize("policy", ["joint:3", "radius:3"])
def test_a_tail_whose_sets_are_too_small_stops_the_run(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tokens may still be right; the sets behind them were not."""
    kept = Opened.append_uncertain

    def shrunk(self: Opened, row: Tensor, norm: Tensor) -> None:
        kept(self, row, norm * 1e-6)

    monkeypatch.setattr(Opened, "append_uncertain", shrunk)
    with pytest.raises(ContradictionError, match="left the set claimed for it"):
        CertifiedDecoder(tiny_model(2, 1), SCHEME, policy).generate(tiny_ids(30, 1), 8)


def output(model: Path, capsys: pytest.CaptureFixture[str], **given: Any) -> str:
    assert run_decode(model=str(model), prompt=TEXT, tokens=5, page_size=8, scheme="12:16", **given) == 0
    return capsys.readouterr().out.partition("\n")[2]  # the first line names the model's file


def test_exact_is_printed_only_where_every_row_was_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path / "m.safetensors")
    for policy in ("exact", "exact:4"):
        assert "exact: every token and every row confirmed" in output(model, capsys, policy=policy)
    for policy in ("joint", "radius"):
        text = output(model, capsys, policy=policy)
        assert "exact" not in text
        assert "proved over enclosed rows" in text


def test_tokens_are_counted_as_confirmed_up_to_the_last_pass() -> None:
    proved, passed = record("certified", anchor_bits=0), record("anchored")
    assert confirmed([proved, passed, proved, proved]) == 2
    assert confirmed([proved, proved]) == confirmed([]) == 0
    assert confirmed([record("certified"), record("drafted", anchor_bits=0)]) == 2


def test_a_negative_number_of_tokens_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="tokens to emit"):
        CertifiedDecoder(tiny_model(), SCHEME).generate(tiny_ids(5), -1)
