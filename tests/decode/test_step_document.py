"""Whatever a stored certificate says, it is judged or refused with one error that names the place."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from proofkv_verify.decode.config import MODEL_FORMAT
from proofkv_verify.decode.enclosure import enclose
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import Decision, open_cache, plain_step
from proofkv_verify.decode.model import load_model
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.step_certificate import save_certificate, save_rows, step_certificate
from proofkv_verify.errors import CertificateFormatError, InvalidInputError
from proofkv_verify.reference import step_document
from proofkv_verify.reference.model_file import read_model
from proofkv_verify.reference.step_check import StepReport, check_step
from proofkv_verify.reference.step_document import is_step
from proofkv_verify.reference.tensors import read_tensors
from proofkv_verify.verdict import Inconclusive, Refuted, Verified
from tests.decode.stored import IDS, Change, certified, rewrite, scaled, write_model
from tests.decode.tiny import tiny_ids

LARGE = 10**30


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, its full rows and a certificate at 5 bits, where a radius is most of a gap."""
    folder = tmp_path_factory.mktemp("kept")
    certified(write_model(folder / "model.safetensors"), folder / "step.json", (5, 12, 16))
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "copy"))


def check(folder: Path, *, full: bool = False, change: Change | None = None) -> StepReport:
    if change is not None:
        rewrite(folder / "step.json", change)
    return check_step(folder / "step.json", folder / "model.safetensors", folder / "rows.safetensors" if full else None)


def entry(name: str, value: float) -> Change:
    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors[name].view(-1)[1] = value

    return change


def said(name: str, value: Any) -> Change:
    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        document[name] = value

    return change


def replaced(name: str, size: tuple[int, ...]) -> Change:
    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors[name] = torch.ones(size, dtype=tensors[name].dtype)

    return change


def without(name: str) -> Change:
    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        del (tensors if name in tensors else document)[name]

    return change


def test_an_honest_certificate_is_verified_with_its_full_rows(folder: Path) -> None:
    assert isinstance(check(folder, full=True).verdict, Verified)


@pytest.mark.parametrize("tokens", [1, 8, 9, 16, 25])
def test_prefixes_with_no_page_no_row_or_no_tail_are_checked(tmp_path: Path, tokens: int) -> None:
    model = write_model(tmp_path / "model.safetensors")
    certified(model, tmp_path / "step.json", (12, 16), tiny_ids(tokens, 1))
    report = check_step(tmp_path / "step.json", model, tmp_path / "rows.safetensors")
    assert isinstance(report.verdict, Verified)


def test_full_rows_of_later_tokens_are_not_used(folder: Path) -> None:
    rows = load_file(folder / "rows.safetensors")
    save_file({k: torch.cat([x, x[:, :, :2] + 9], 2) for k, x in rows.items()}, folder / "rows.safetensors")
    assert isinstance(check(folder, full=True).verdict, Verified)


def test_a_negative_norm_is_refused_although_its_square_bounds_the_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Radii that cancel: a step that its honest set does not certify was verified with the full rows at hand."""
    model, ids = load_model(write_model(folder / "model.safetensors", seed=2)), tiny_ids(30, 2)
    opened = open_cache(FullCache.of_prompt(model, ids[:-1]), Scheme((3, 16), 8))
    trace, sets, _ = plain_step(model, opened, ids[-1])
    claimed = Decision(trace.token, "certified", trace, enclose(model, trace, sets), 0, 0, 0.0)
    save_certificate(step_certificate(model, opened, ids[-1], claimed), folder / "step.json")
    save_rows(opened, folder / "rows.safetensors")
    assert isinstance(check(folder, full=True).verdict, Inconclusive)
    rewrite(folder / "step.json", scaled("norms", torch.tensor([1.0, -1.0]).repeat(4)))
    with pytest.raises(CertificateFormatError, match=r"tensor norms: expected numbers of at least 0"):
        check(folder, full=True)
    monkeypatch.setattr(step_document, "_NOT_NEGATIVE", ())
    assert isinstance(check(folder, full=True).verdict, Verified)


def test_a_gap_stated_smaller_than_it_is_is_no_fault_and_one_stated_larger_is(folder: Path) -> None:
    assert isinstance(check(folder, change=scaled("gaps", 0.5)).verdict, Verified)
    assert isinstance(check(folder, change=scaled("gaps", 2.5)).verdict, Refuted)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (said("position", len(IDS)), "tensor tail: expected shape"),
        (said("position", len(IDS) - 2), "tensor tail: expected shape"),
        (said("position", -1), "field position"),
        (said("position", LARGE), "tensor tail"),
        (said("position", 29.0), "field position"),
        (said("token", 16), "token, winner and number of gaps"),
        (said("token", -1), "field token"),
        (said("token", True), "field token"),
        (said("token", "3"), "field token"),
        (said("winner", LARGE), "token, winner and number of gaps"),
        (said("winner", -1), "field winner"),
        (said("page_size", 0), "field page_size"),
        (said("page_size", 4), "tensor codes"),
        (said("schema", "proofkv-verify/decode-step/2"), "schema"),
        (without("winner"), "field winner"),
        (without("codes"), "tensor codes"),
        (without("gaps"), "tensor gaps"),
        (without("tail"), "tensor tail"),
        (entry("norms", math.nan), "tensor norms"),
        (entry("zero_keys", math.inf), "tensor zero_keys"),
        (entry("gaps", math.nan), "tensor gaps"),
        (entry("gaps", math.inf), "tensor gaps"),
        (entry("radii", math.nan), "tensor radii"),
        (entry("width_keys", -1.0), "tensor width_keys"),
        (entry("width_values", -1.0), "tensor width_values"),
        (entry("levels", 0), "tensor levels"),
        (entry("levels", 17), "tensor levels"),
        (replaced("codes", (2, 2, 2, 3, 8)), "6 dimensions"),
        (replaced("codes", (2, 3, 2, 3, 8, 4)), "tensor rows"),
        (replaced("rows", (2, 2, 2, 3, 8, 3)), "tensor rows"),
        (replaced("levels", (2, 2, 2, 4)), "tensor levels"),
        (replaced("norms", (2, 2, 2, 3, 7)), "tensor norms"),
        (replaced("zero_keys", (2, 2, 3, 8, 1)), "tensor zero_keys"),
        (replaced("tail", (2, 2, 2, 0, 4)), "tensor tail"),
        (replaced("radii", (5,)), "tensor radii"),
    ],
)
def test_a_document_with_other_numbers_is_refused(folder: Path, change: Change, match: str) -> None:
    with pytest.raises(CertificateFormatError, match=match) as error:
        check(folder, change=change)
    assert "\n" not in str(error.value)


def test_fewer_gaps_than_tokens_are_refused(folder: Path) -> None:
    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors["gaps"], tensors["radii"] = tensors["gaps"][:3].clone(), tensors["radii"][:3].clone()

    with pytest.raises(CertificateFormatError, match="number of gaps"):
        check(folder, change=change)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_an_altered_certificate_is_never_verified_for_another_winner(
    kept: Path, tmp_path: Path, data: st.DataObject
) -> None:
    """Numbers altered at random, digests made right again: refused, or judged, and then only the true winner passes."""
    copy = Path(shutil.copytree(kept, tmp_path / "copy", dirs_exist_ok=True))
    winner = json.loads((kept / "step.json").read_text())["winner"]

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        document["winner"] = data.draw(st.integers(0, 15))
        name = data.draw(st.sampled_from(sorted(tensors)))
        at = data.draw(st.integers(0, tensors[name].numel() - 1))
        high = 16 if name == "levels" else 100
        tensors[name].view(-1)[at] = data.draw(st.integers(-1 if name not in ("levels",) else 0, high))

    try:
        report = check(copy, full=True, change=change)
    except InvalidInputError:
        return
    stated = json.loads((copy / "step.json").read_text())["winner"]
    assert stated == winner or not isinstance(report.verdict, Verified)


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '"x"', "{}", "[" * 100000, '{"schema": "proofkv-verify/decode-step/1"}']
)
def test_text_that_is_no_certificate_is_refused(folder: Path, text: str) -> None:
    (folder / "step.json").write_text(text)
    with pytest.raises(CertificateFormatError):
        check(folder)
    assert is_step(text) is text.startswith('{"schema')


def test_missing_files_are_refused_by_name(folder: Path) -> None:
    (folder / "rows.safetensors").unlink()
    with pytest.raises(InvalidInputError, match=r"rows\.safetensors: expected a readable safetensors file"):
        check(folder, full=True)
    (folder / "step.safetensors").unlink()
    with pytest.raises(InvalidInputError, match=r"step\.safetensors: expected a readable safetensors file"):
        check(folder)
    (folder / "step.json").unlink()
    with pytest.raises(CertificateFormatError, match=r"step\.json"):
        check(folder)


@pytest.mark.parametrize("wrong", [{}, {"keys": (2, 2, 29, 4)}, {"keys": (2, 2, 28, 4), "values": (2, 2, 29, 4)}])
def test_full_rows_of_another_shape_are_refused(folder: Path, wrong: dict[str, tuple[int, ...]]) -> None:
    save_file({name: torch.zeros(size) for name, size in wrong.items()}, folder / "rows.safetensors")
    with pytest.raises(InvalidInputError, match=r"of shape \[2, 2, 29 or more, 4\]"):
        check(folder, full=True)


def test_full_rows_that_are_no_numbers_are_refused(folder: Path) -> None:
    rows = load_file(folder / "rows.safetensors")
    rows["values"][0, 0, 0, 0] = math.nan
    save_file(rows, folder / "rows.safetensors")
    with pytest.raises(InvalidInputError, match="values: expected finite numbers"):
        check(folder, full=True)


def test_full_rows_of_another_prefix_contradict_the_sidecars(folder: Path) -> None:
    rows = load_file(folder / "rows.safetensors")
    rows["values"][1, 0, 3, 2] += 0.5
    save_file(rows, folder / "rows.safetensors")
    report = check(folder, full=True)
    assert isinstance(report.verdict, Refuted)
    assert "row 3 of the values of layer 1, KV head 0" in report.verdict.reason


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"architecture": "gpt2"}, "Llama-style"),
        ({"num_heads": 3}, "Llama-style"),
        ({"head_dim": 4.0}, "Llama-style"),
        ({"rope_theta": "0"}, "Llama-style"),
        ({"rms_norm_eps": "1/0"}, "complete config"),
        ({"vocab_size": None}, "Llama-style"),
        ({"hidden_size": 8}, "tensor embedding"),
        ({"num_layers": 3}, r"tensor layers\.2\.gain_attention"),
    ],
)
def test_a_model_file_that_does_not_fit_is_refused(folder: Path, change: dict[str, object], match: str) -> None:
    path = folder / "model.safetensors"
    config = json.loads(read_tensors(path).metadata["config"]) | change
    save_file(load_file(path), path, {"format": MODEL_FORMAT, "config": json.dumps(config)})
    with pytest.raises(InvalidInputError, match=match):
        read_model(path)


def test_a_model_file_without_its_format_or_with_a_nan_is_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    config = read_tensors(path).metadata["config"]
    tensors = load_file(path)
    save_file(tensors, path)
    with pytest.raises(InvalidInputError, match="metadata format"):
        read_model(path)
    tensors["head"][0, 0] = math.nan
    save_file(tensors, path, {"format": MODEL_FORMAT, "config": config})
    with pytest.raises(InvalidInputError, match="finite numbers"):
        read_model(path)


def test_an_undecided_gap_is_inconclusive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofkv_verify.reference.step_check.BITS", 8)
    assert isinstance(check(folder).verdict, Inconclusive)
