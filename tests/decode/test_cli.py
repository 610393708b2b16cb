"""`decode` and `check` from the command line: stored certificates, processors, and one clear line for bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from proofkv_verify.cli import app
from proofkv_verify.decode.defaults import MODELS
from proofkv_verify.decode.methods import METHODS
from proofkv_verify.reference.tensors import read_tensors
from tests.cli.test_commands import certificate
from tests.cli.test_slim_environment import BLOCKER
from tests.decode.stored import rewrite, scaled, write_model

TEXT = "".join(chr(1 + i % 15) for i in range(30))


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def decode(model: Path, *arguments: object) -> Result:
    return invoke("decode", "--model", model, "--prompt", TEXT, "--page-size", 8, "--tokens", 3, *arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and the certificates of three steps decoded from it."""
    folder = tmp_path_factory.mktemp("made")
    model = write_model(folder / "model.safetensors")
    done = decode(model, "--certificates", folder / "steps", "--scheme", "12:14:16")
    assert done.exit_code == 0, done.output
    assert f"certificates of 3 of 3 steps are in {folder / 'steps'}" in done.stdout
    return folder


@pytest.fixture
def step(made: Path, tmp_path: Path) -> Path:
    """A copy of one stored step with its rows; the model lies one folder up."""
    (tmp_path / "model.safetensors").write_bytes((made / "model.safetensors").read_bytes())
    (tmp_path / "steps").mkdir()
    for name in ("step-30.json", "step-30.safetensors", "rows.safetensors"):
        (tmp_path / "steps" / name).write_bytes((made / "steps" / name).read_bytes())
    return tmp_path / "steps" / "step-30.json"


def check(step: Path, *arguments: object) -> Result:
    return invoke("check", step, "--model", step.parent.parent / "model.safetensors", *arguments)


def one_line(done: Result, *parts: str) -> None:
    """Exit code 2 and a single error line that holds the parts."""
    assert done.exit_code == 2, (done.exit_code, done.output)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert all(part in lines[0] for part in (*parts, "expected", "got"))


def test_every_step_leaves_a_certificate_and_the_rows_are_kept_once(made: Path) -> None:
    names = sorted(path.name for path in (made / "steps").iterdir())
    steps = [f"step-{at}.{end}" for at in (29, 30, 31) for end in ("json", "safetensors")]
    assert names == ["rows.safetensors", *steps]
    rows = read_tensors(made / "steps" / "rows.safetensors").tensors
    assert {name: found.shape for name, found in rows.items()} == {"keys": (2, 2, 31, 4), "values": (2, 2, 31, 4)}


@pytest.mark.parametrize("at", [29, 30, 31])
def test_a_stored_certificate_is_verified_and_says_what_it_rests_on(made: Path, at: int) -> None:
    path = made / "steps" / f"step-{at}.json"
    done = invoke("check", path, "--model", made / "model.safetensors")
    assert done.exit_code == 0, done.output
    assert "verdict  Verified" in done.stdout
    assert "derived  ellipsoids and radii" in done.stdout
    assert "trusted  the sidecars bound the rows behind them" in done.stdout
    full = invoke("check", path, "--model", made / "model.safetensors", "--full", made / "steps" / "rows.safetensors")
    assert full.exit_code == 0
    assert "derived  sidecars against the full rows" in full.stdout
    assert "trusted  the sidecars" not in full.stdout


def test_the_report_of_a_check_is_json(step: Path) -> None:
    report = json.loads(check(step, "--json", "-").stdout)
    assert report["schema"] == "proofkv-verify/check-step/1"
    assert (report["verdict"], report["text"]) == ("Verified", "Verified")
    assert "nominal scores" in report["derived"]
    assert "the rows are those of the prefix" in report["trusted"]


def test_a_check_needs_neither_torch_nor_numpy(step: Path) -> None:
    call = [sys.executable, "-c", BLOCKER, "check", str(step), "--model", str(step.parent.parent / "model.safetensors")]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Verified" in done.stdout


def test_an_altered_certificate_is_refused_and_nothing_is_judged(step: Path) -> None:
    step.write_text(step.read_text().replace('"position": 30', '"position": 29'))
    done = check(step)
    one_line(done, "step-30.json", "digest of its own text")
    assert done.stdout == ""


def test_altered_tensors_are_refused(step: Path) -> None:
    beside = step.with_suffix(".safetensors")
    tensors = load_file(beside)
    tensors["gaps"][0] *= 0.5
    save_file(tensors, beside)
    one_line(check(step), "the tensors that it was written with")


def test_an_altered_certificate_with_new_digests_is_judged_again(step: Path) -> None:
    rewrite(step, scaled("gaps", 2))
    done = check(step)
    assert done.exit_code == 1
    assert "Refuted: the gap to token" in done.stdout
    rewrite(step, scaled("gaps", 0.5))
    rewrite(step, scaled("norms", 1000))
    assert check(step).exit_code == 3


def test_a_sidecar_that_the_full_rows_contradict_is_refuted(step: Path) -> None:
    rewrite(step, scaled("norms", 0.25))
    assert check(step).exit_code == 0
    done = check(step, "--full", step.parent / "rows.safetensors")
    assert done.exit_code == 1
    assert "does not bound its error" in done.stdout


def test_another_model_is_refused(step: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.safetensors", seed=2)
    one_line(invoke("check", step, "--model", other), "the file that was decoded", "SHA-256")
    one_line(invoke("check", step, "--model", "byte-llama-4"), "the file that was decoded")


def test_missing_files_are_refused(step: Path, tmp_path: Path) -> None:
    one_line(invoke("check", step, "--model", tmp_path / "none"), "none", "readable safetensors file")
    one_line(check(step, "--full", tmp_path / "none"), "none", "readable safetensors file")
    step.with_suffix(".safetensors").unlink()
    one_line(check(step), "step-30.safetensors", "readable safetensors file")
    one_line(check(tmp_path / "none.json"), "none.json", "readable text file")


def test_a_certificate_names_no_file_that_is_opened(step: Path) -> None:
    """The model of a certificate is found by its name among the shipped ones, or by what the user says."""
    one_line(invoke("check", step), "--model", "which is not shipped")


def test_options_of_the_other_kind_of_certificate_are_refused(step: Path, tmp_path: Path) -> None:
    one_line(check(step, "--second-opinion"), "--second-opinion")
    bound = tmp_path / "bound.json"
    bound.write_text(certificate("inf"))
    one_line(invoke("check", bound, "--model", "byte-llama-4"), "--model and --full")


@pytest.mark.slow
def test_a_step_of_the_shipped_model_and_the_default_ladder_is_verified_under_its_name(tmp_path: Path) -> None:
    done = invoke("decode", "--tokens", 1, "--certificates", tmp_path)
    assert done.exit_code == 0, done.output
    checked = invoke("check", tmp_path / "step-255.json", "--full", tmp_path / "rows.safetensors")
    assert checked.exit_code == 0, checked.output


def test_processors_are_reported(made: Path, tmp_path: Path) -> None:
    given = ["--processor", "temperature:0.7", "--processor", "top-p:0.9", "--json", tmp_path / "r.json"]
    assert decode(made / "model.safetensors", *given).exit_code == 0
    found = json.loads((tmp_path / "r.json").read_text())["processors"]
    assert [(p["name"], p["value"]) for p in found] == [("temperature", 0.7), ("top-p", 0.9)]
    assert all(p["keeps_the_winner"] for p in found)


def write_wrong(folder: Path, **change: object) -> Path:
    """The model file with another config."""
    path = folder / "wrong.safetensors"
    good = read_tensors(folder / "model.safetensors")
    config = json.loads(good.metadata["config"]) | change
    save_file(load_file(folder / "model.safetensors"), path, {**good.metadata, "config": json.dumps(config)})
    return path


def write_lacking(folder: Path) -> Path:
    path = folder / "lacking.safetensors"
    tensors = load_file(folder / "model.safetensors")
    del tensors["layers.1.wv"]
    save_file(tensors, path, read_tensors(folder / "model.safetensors").metadata)
    return path


BAD: dict[str, tuple[list[Any], str]] = {
    "scheme": (["--scheme", "kivi"], "bit widths such as 4:8:16"),
    "falling ladder": (["--scheme", "8:4"], "increasing bit widths"),
    "flat ladder": (["--scheme", "8:8"], "increasing bit widths"),
    "wide ladder": (["--scheme", "8:32"], "increasing bit widths"),
    "page size": (["--page-size", "0"], "page size: expected at least 1"),
    "policy": (["--policy", "hope"], "exact, joint or radius"),
    "period": (["--policy", "exact:0"], "full-cache passes: expected at least 1"),
    "method": (["--method", "hope"], "method: expected one of"),
    "no proof": (["--method", "first-order"], "one whose radii are a proof"),
    "processor": (["--processor", "repetition-penalty:1.2"], "tokens that have occurred"),
    "temperature": (["--processor", "temperature:0"], "keeps no order"),
    "no such processor": (["--processor", "magic"], "temperature, softcap, top-k"),
    "tokens": (["--tokens", "0"], "tokens: expected at least 1"),
    "context": (["--tokens", "100"], "at most 128 positions"),
    "vocabulary": (["--prompt", "\x7f"], "an id below 16"),
    "letters": (["--prompt", "\u00e9"], "an id below 16"),
    "no prompt": (["--prompt", ""], "at least one token"),
    "model": (["--model", "gpt"], "byte-llama-4"),
    "plot": (["--plot", "x.png"], "ends in .svg, the one format"),
    "plot folder": (["--plot", "/nonexistent/x.svg"], "existing folder"),
    "json folder": (["--json", "/nonexistent/x.json"], "existing folder"),
    "json is a folder": (["--json", "/"], "existing folder"),
    "certificates": (["--certificates", "/dev/null/x"], "a folder that can be made"),
    "joint certificates": (["--certificates", "x", "--policy", "joint"], "the exact policy"),
    "prompt file": (["--prompt-file", "/nonexistent"], "not both"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_is_one_clear_line_and_exit_code_2(made: Path, name: str) -> None:
    arguments, expected = BAD[name]
    one_line(decode(made / "model.safetensors", *arguments), expected)


def test_bad_model_files_are_one_clear_line(made: Path) -> None:
    one_line(decode(write_wrong(made, architecture="gpt2")), "architecture", "llama", "gpt2")
    one_line(decode(write_wrong(made, num_heads=3)), "multiple of num_kv_heads")
    one_line(decode(write_lacking(made)), "a tensor layers.1.wv")
    save_file({"x": load_file(made / "model.safetensors")["head"]}, made / "foreign.safetensors")
    one_line(decode(made / "foreign.safetensors"), "metadata format")
    (made / "text.safetensors").write_text("no model")
    one_line(decode(made / "text.safetensors"), "safetensors file")
    one_line(decode(made), "safetensors file")


def test_help_names_what_can_be_chosen() -> None:
    text = " ".join(re.sub(r"[│╭╰─╮╯]", " ", invoke("decode", "--help").stdout).split())
    assert all(name in text for name in (*METHODS, "exact", "joint", "radius") if name != "first-order")
    assert "proofkv-verify decode --tokens 64 --verify" in text
    assert "proofkv-verify check steps/step-255.json" in text
    assert "byte-llama-4" in MODELS
    assert "--full steps/rows.safetensors" in " ".join(invoke("check", "--help").stdout.split())
