"""`decode` as a function: exit code, text, JSON, plot, and one clear error for each bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proofkv_verify.decode import command
from proofkv_verify.decode.command import REPORT_SCHEMA, run_decode
from proofkv_verify.decode.loop import ContradictionError
from proofkv_verify.errors import InvalidInputError
from tests.decode.stored import write_model

TEXT = "".join(chr(1 + i % 15) for i in range(30))


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_model(tmp_path / "model.safetensors"))


def run(model: str, **given: Any) -> int:
    return run_decode(**({"model": model, "prompt": TEXT, "tokens": 5, "page_size": 8} | given))


def test_a_verified_run_ends_0_and_says_so(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(model, verify=True) == 0
    text = capsys.readouterr().out
    assert "equal to the full cache's, 5 compared" in text
    assert "bits per page element" in text


def test_a_line_a_step_on_request(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(model, steps=True) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if " margin " in line]
    assert len(lines) == 5
    assert all("radius" in line and "bits/element" in line for line in lines)


def test_json_on_standard_output_moves_the_text_away(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(model, json_path="-", policy="joint", scheme="12:16", verify=True) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["schema"] == REPORT_SCHEMA
    assert report["mismatches"] == 0
    assert len(report["steps"]) == len(report["tokens"]) == 5
    assert "tokens" in err


def test_a_mismatch_ends_1(model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "_compare", lambda *given: 2)
    assert run(model, verify=True) == 1
    assert "2 tokens differ" in capsys.readouterr().out


def test_a_contradiction_ends_1_and_says_what_broke(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*given: object, **named: object) -> None:
        raise ContradictionError("token 3: the enclosures of two rounds do not meet")

    monkeypatch.setattr(command, "_stream", broken)
    assert run(model) == 1
    assert "refuted: token 3" in capsys.readouterr().err


def test_the_plot_shows_every_step(model: str, tmp_path: Path) -> None:
    assert run(model, plot=tmp_path / "p.svg", json_path=str(tmp_path / "r.json")) == 0
    text = (tmp_path / "p.svg").read_text()
    assert text.count("<rect") == 5
    assert text.count("<title>") == 5
    assert json.loads((tmp_path / "r.json").read_text())["policy"] == "exact"


def test_a_prompt_file_is_read_as_bytes(model: str, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes(bytes([1, 2, 3]))
    assert run(model, prompt=None, prompt_file=tmp_path / "p.txt") == 0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"model": "gpt"}, "model"),
        ({"prompt": "\x7f"}, "id below 16"),
        ({"prompt": ""}, "at least one token"),
        ({"prompt": "\x01" * 200}, "at most 128 positions"),
        ({"scheme": "8:4"}, "ladder"),
        ({"scheme": "kivi"}, "scheme"),
        ({"page_size": 0}, "page size"),
        ({"policy": "hope"}, "policy"),
        ({"method": "hope"}, "method"),
        ({"method": "first-order"}, "proof"),
        ({"tokens": 0}, "tokens"),
        ({"plot": Path("x.png")}, "svg"),
        ({"prompt_file": Path("/nonexistent")}, "not both"),
        ({"prompt": None, "prompt_file": Path("/nonexistent")}, "readable file"),
    ],
)
def test_bad_input_is_one_clear_error(model: str, given: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        run(given.pop("model", model), **given)


def test_certificates_need_the_exact_policy(model: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="exact policy"):
        run(model, certificates=tmp_path, policy="joint")


@pytest.mark.slow
def test_64_tokens_from_the_shipped_model_are_the_full_caches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_decode(tokens=64, verify=True) == 0
    assert "equal to the full cache's, 64 compared" in capsys.readouterr().out
