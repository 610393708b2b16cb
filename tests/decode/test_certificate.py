"""The stored certificate of a step: an independent checker believes it, an altered one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from proofkv_verify.ball import precision
from proofkv_verify.decode.enclosure import layer_bounds
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import Decider, open_cache, plain_step
from proofkv_verify.decode.maps import all_maps
from proofkv_verify.decode.model import advance, load_model, mlp_output
from proofkv_verify.decode.noise import attention_noise, mlp_noise, row_noise
from proofkv_verify.decode.pages import Scheme
from proofkv_verify.decode.step_certificate import step_certificate
from proofkv_verify.errors import CertificateFormatError, InvalidInputError
from proofkv_verify.reference.enclosure import enclose, head_terms
from proofkv_verify.reference.matrix import column, identity, matrix, root, square_sum
from proofkv_verify.reference.matrix import trace as trace_of
from proofkv_verify.reference.model import Sizes, build, layer_step, rotation
from proofkv_verify.reference.model import advance as ball_advance
from proofkv_verify.reference.step_check import check_step, restore
from proofkv_verify.reference.tensors import read_tensors
from proofkv_verify.verdict import Inconclusive, Refuted, Verified
from tests.decode.stored import IDS, certified, rewrite, write_model


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model.safetensors")


@pytest.mark.parametrize("levels", [(12, 16), (14,), (10, 13, 16)])
def test_the_checker_derives_a_certificate_again(model_path: Path, tmp_path: Path, levels: tuple[int, ...]) -> None:
    certified(model_path, tmp_path / "step.json", levels)
    report = check_step(tmp_path / "step.json", model_path, tmp_path / "rows.safetensors")
    assert isinstance(report.verdict, Verified)
    assert "ellipsoids and radii" in report.derived
    assert report.trusted == ("the rows are those of the prefix",)


def test_without_the_full_rows_the_sidecars_are_named_as_trusted(model_path: Path, tmp_path: Path) -> None:
    certified(model_path, tmp_path / "step.json", (12, 16))
    report = check_step(tmp_path / "step.json", model_path)
    assert isinstance(report.verdict, Verified)
    assert "the sidecars bound the rows behind them" in report.trusted


def test_radii_of_a_larger_model_are_trusted_and_not_verified(model_path: Path, tmp_path: Path) -> None:
    certified(model_path, tmp_path / "step.json")
    report = check_step(tmp_path / "step.json", model_path, largest=1)
    assert isinstance(report.verdict, Inconclusive)
    assert "the radii" in report.trusted


def test_a_changed_byte_is_refused(model_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out)
    text = out.read_text()
    out.write_text(text.replace('"winner": ', '"winner": 1'))
    with pytest.raises(CertificateFormatError, match="digest"):
        check_step(out, model_path)
    out.write_text(text)
    beside = out.with_suffix(".safetensors")
    data = bytearray(beside.read_bytes())
    data[-1] ^= 1
    beside.write_bytes(bytes(data))
    with pytest.raises(CertificateFormatError, match="written with"):
        check_step(out, model_path)


def test_another_winner_is_refuted(model_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out)

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        document["winner"] = (document["winner"] + 1) % 16

    rewrite(out, change)
    assert isinstance(check_step(out, model_path).verdict, Refuted)


def test_a_gap_claimed_too_large_is_refuted(model_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out)

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors["gaps"] = tensors["gaps"] * (1 + 1e-9)

    rewrite(out, change)
    assert isinstance(check_step(out, model_path).verdict, Refuted)


def test_a_sidecar_made_smaller_is_refuted_by_the_full_rows(model_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out, (8, 16))

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors["norms"] = tensors["norms"] * 0.5

    rewrite(out, change)
    verdict = check_step(out, model_path, tmp_path / "rows.safetensors").verdict
    assert isinstance(verdict, Refuted)
    assert "does not bound" in verdict.reason


def test_radii_that_are_too_wide_are_not_believed_whatever_the_certificate_says(
    model_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out, (12, 16))

    def change(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors["norms"] = tensors["norms"] * 1000
        tensors["width_keys"] = tensors["width_keys"] * 1.0
        tensors["radii"] = tensors["radii"] * 0

    rewrite(out, change)
    assert isinstance(check_step(out, model_path).verdict, Inconclusive)


def test_another_model_and_another_format_are_refused(model_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "step.json"
    certified(model_path, out)
    other = write_model(tmp_path / "other.safetensors", seed=2)
    with pytest.raises(InvalidInputError, match="file that was decoded"):
        check_step(out, other)
    out.write_text("{}")
    with pytest.raises(CertificateFormatError, match="schema"):
        check_step(out, model_path)
    out.write_text("no json")
    with pytest.raises(CertificateFormatError, match="JSON"):
        check_step(out, model_path)


def test_an_uncertified_step_has_no_certificate(model_path: Path) -> None:
    model = load_model(model_path)
    opened = open_cache(FullCache.of_prompt(model, IDS[:-1]), Scheme((16,), 8))
    decision = Decider(model).decide(opened, IDS[-1])
    assert decision is not None
    opened.append_uncertain(torch.zeros(2, 2, 2, 4, dtype=torch.float64), torch.ones(2, 2, 2, dtype=torch.float64))
    with pytest.raises(InvalidInputError, match="exact tail"):
        step_certificate(model, opened, IDS[-1], decision)


def test_the_fast_trace_is_within_its_noise_of_the_ball_model_half_by_half(model_path: Path) -> None:
    """Each half runs in balls from the stored float64 residual; the fast half is no farther than the noise."""
    model = load_model(model_path)
    full = FullCache.of_prompt(model, IDS[:-1])
    fast = advance(model, IDS[-1], 29, full.caches)
    config, file = model.config, read_tensors(model_path)
    sizes = Sizes(2, config.num_heads, config.num_kv_heads, config.head_dim, config.rope_theta, config.rms_norm_eps)
    with precision(192):
        balls = build(sizes, {name: found.rows() for name, found in file.tensors.items()})
        for layer, (tr, cache) in enumerate(zip(fast.layers, full.caches, strict=True)):
            rows = [[matrix(g) for g in kind.tolist()] for kind in (cache.keys, cache.values)]
            exact = layer_step(
                sizes, balls.layers[layer], column(tr.x.tolist()), rotation(sizes, 29), (rows[0], rows[1])
            )
            error = root(square_sum(exact.mid - column(tr.mid.tolist())))
            noise = attention_noise(model.layers[layer], tr)
            assert bool(error < noise)
            assert noise < 1e-9
            own = root(square_sum(exact.heads[0].keys - matrix(tr.keys[0].tolist())))
            assert bool(own < row_noise(model.layers[layer], tr))
            after = mlp_output(model.layers[layer], tr)
            allowed = noise * 100 + mlp_noise(model.layers[layer], tr, after)
            assert bool(root(square_sum(exact.after - column(after.tolist()))) < allowed)


def test_the_ball_jacobian_of_a_head_is_the_fast_one(model_path: Path, tmp_path: Path) -> None:
    """The fast one equals automatic differentiation (`test_maps`), so neither copy can carry a slip of its own."""
    model, opened = certified(model_path, tmp_path / "step.json", (12, 16))
    file, stored = read_tensors(model_path), read_tensors(tmp_path / "step.safetensors")
    config = model.config
    sizes = Sizes(2, config.num_heads, config.num_kv_heads, config.head_dim, config.rope_theta, config.rms_norm_eps)
    trace, sets, _ = plain_step(model, opened, IDS[-1])
    with precision(192):
        balls = build(sizes, {name: found.rows() for name, found in file.tensors.items()})
        pages = restore(stored.tensors)
        steps = ball_advance(balls, IDS[-1], 29, pages.keys, pages.values)
        for layer, fast in enumerate(all_maps(model.layers, trace, sets)):
            b = identity(config.hidden_size, 0)
            for head, kv in enumerate(fast.of.tolist()):
                wv = balls.layers[layer].wv[kv]
                jacobian = head_terms(steps[layer], head, pages.known[layer][kv], b, wv).jacobian
                exact = torch.tensor([[float(x.mid()) for x in row] for row in jacobian.tolist()], dtype=torch.float64)
                whole = fast.heads[head] + fast.trace.p[head, -1] * fast.layer.wv[kv]
                assert (exact - whole).abs().max() < 1e-9


def test_the_ball_ellipsoid_is_as_large_as_the_fast_one_within_a_factor(model_path: Path, tmp_path: Path) -> None:
    model, opened = certified(model_path, tmp_path / "step.json", (12, 16))
    file, stored = read_tensors(model_path), read_tensors(tmp_path / "step.safetensors")
    config = model.config
    sizes = Sizes(2, config.num_heads, config.num_kv_heads, config.head_dim, config.rope_theta, config.rms_norm_eps)
    fast_trace = advance(model, IDS[-1], 29, [opened.cache(i) for i in range(2)])
    bounds, _ = layer_bounds(model, fast_trace, [opened.sets(i) for i in range(2)])
    with precision(192):
        balls = build(sizes, {name: found.rows() for name, found in file.tensors.items()})
        pages = restore(stored.tensors)
        steps = ball_advance(balls, IDS[-1], 29, pages.keys, pages.values)
        size = float(root(trace_of(enclose(balls.layers, steps, pages.known)[-1].out)).mid())
    fast = float(bounds[-1].out.trace().sqrt())
    assert fast / 1.1 < size < fast * 2


def test_the_reader_agrees_with_safetensors_on_every_dtype(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 2, 5, generator=generator, dtype=torch.float64)
    made = {
        "d": x,
        "f": x.float(),
        "h": x.half(),
        "b": x.bfloat16(),
        "i": torch.arange(6).reshape(2, 3).int(),
        "v": x[0, 0].clone(),
    }
    save_file(made, tmp_path / "x.safetensors")
    found = read_tensors(tmp_path / "x.safetensors")
    for name, tensor in made.items():
        assert found.tensors[name].nested() == tensor.tolist()
    assert found.tensors["v"].rows() == [x[0, 0].tolist()]


@pytest.mark.parametrize(
    "data", [b"", b"short", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0{}x", b"\x10\0\0\0\0\0\0\0" + b"{" * 16]
)
def test_the_reader_refuses_what_is_no_safetensors_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(data)
    if data.startswith(b"\x02"):
        assert read_tensors(tmp_path / "x.safetensors").tensors == {}
        return
    with pytest.raises(InvalidInputError, match="safetensors"):
        read_tensors(tmp_path / "x.safetensors")
