"""A trace survives its file, and each way to break one is one clear error."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from proofkv_verify.adapters import _trace_io
from proofkv_verify.adapters.trace import (
    SCHEMA,
    Trace,
    TraceMeta,
    load_trace,
    open_trace,
    save_trace,
    trace_info,
)
from proofkv_verify.errors import InvalidInputError, ShapeError

Tensors = dict[str, torch.Tensor]


@pytest.fixture
def saved(trace: Trace, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.safetensors"
    save_trace(trace, path)
    return path


def rewrite(path: Path, change: Callable[[Tensors, dict[str, str]], object]) -> None:
    tensors = load_file(path)
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    change(tensors, metadata)
    save_file(tensors, path, metadata)


def rewrite_meta(path: Path, **fields: Any) -> None:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        metadata["trace"] = json.dumps(json.loads(metadata["trace"]) | fields)

    rewrite(path, change)


def refusal(path: Path) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        load_trace(path)
    return caught.value


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def test_saved_trace_loads_as_the_same_trace(trace: Trace, saved: Path) -> None:
    loaded = load_trace(saved)
    assert loaded.meta == trace.meta
    assert loaded.meta.softmax_scale == Fraction(8**-0.5) != Fraction(1, 3)
    for name in ("query_positions", "key_positions", "token_ids"):
        assert same(getattr(loaded, name), getattr(trace, name))
    for got, wanted in zip(loaded.iter_layers(), trace.iter_layers(), strict=True):
        assert got.layer_id == wanted.layer_id
        for part in ("queries", "keys", "values"):
            assert same(getattr(got, part), getattr(wanted, part))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_every_dtype_survives_its_file(trace: Trace, tmp_path: Path, name: Any) -> None:
    dtype = getattr(torch, name)
    layers = tuple(
        replace(x, queries=x.queries.to(dtype), keys=x.keys.to(dtype), values=x.values.to(dtype)) for x in trace.layers
    )
    path = tmp_path / "t.safetensors"
    save_trace(replace(trace, meta=replace(trace.meta, dtype=name), layers=layers), path)
    assert same(load_trace(path).layers[1].keys, layers[1].keys)


def test_strided_views_are_saved_by_value(trace: Trace, tmp_path: Path) -> None:
    both = torch.randn(2, 2, 5, 8).half()
    layers = tuple(replace(x, keys=both[0], values=both.transpose(0, 1)[0]) for x in trace.layers)
    path = tmp_path / "t.safetensors"
    save_trace(replace(trace, layers=layers), path)
    assert same(load_trace(path).layers[0].values, both[:, 0])


def test_saving_leaves_one_file_that_others_may_read_too(trace: Trace, saved: Path) -> None:
    plain = saved.with_name("plain")
    plain.touch()
    assert saved.stat().st_mode == plain.stat().st_mode
    assert {p.name for p in saved.parent.iterdir()} == {saved.name, plain.name}


@pytest.mark.parametrize("name", ["t.pt", "t.bin", "T.PTH", "t.pkl", "no/such/folder/t.safetensors"])
def test_saving_refuses_pickle_names_and_missing_folders(trace: Trace, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^output: expected"):
        save_trace(trace, tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_trace_info_is_json_and_exact(saved: Path) -> None:
    info = json.loads(json.dumps(trace_info(saved)))
    assert info["schema"] == SCHEMA
    assert Fraction(info["softmax_scale"]) == Fraction(8**-0.5)
    assert (info["seq_len"], info["num_queries"], info["layer_ids"]) == (5, 3, [1, 4])
    assert info["num_bytes"] == saved.stat().st_size


def test_open_trace_reads_one_layer_at_a_time(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = _trace_io.read_tensors

    def spy(path: Path, names: tuple[str, ...]) -> Tensors:
        read.extend(names)
        return original(path, names)

    monkeypatch.setattr("proofkv_verify.adapters.trace.read_tensors", spy)
    layers = open_trace(saved).iter_layers()
    assert not [name for name in read if name.startswith("layers.")]
    assert next(layers).layer_id == 1
    assert [name for name in read if name.startswith("layers.")] == [
        "layers.1.queries",
        "layers.1.keys",
        "layers.1.values",
    ]
    assert [layer.layer_id for layer in layers] == [4]


def test_a_layer_that_was_read_does_not_follow_the_file(trace: Trace, saved: Path) -> None:
    layer = next(open_trace(saved).iter_layers())
    with saved.open("r+b") as file:
        (header,) = struct.unpack("<Q", file.read(8))
        file.seek(8 + header)
        file.write(bytes(saved.stat().st_size - 8 - header))
    assert load_file(saved)["layers.1.keys"].count_nonzero() == 0
    assert same(layer.keys, trace.layers[0].keys)


@pytest.mark.parametrize("name", ["layers.1.keys", "layers.4.queries", "query_positions", "key_positions", "token_ids"])
def test_missing_tensor_is_refused_by_name(saved: Path, name: str) -> None:
    rewrite(saved, lambda tensors, _: tensors.pop(name))
    assert str(refusal(saved)) == f"{name}: expected a tensor, got nothing"


def test_extra_tensor_is_refused_by_name(saved: Path) -> None:
    rewrite(saved, lambda tensors, _: tensors.update({"layers.2.keys": torch.zeros(1)}))
    assert refusal(saved).name == "layers.2.keys"


@pytest.mark.parametrize(
    ("name", "tensor", "text"),
    [
        ("layers.1.keys", torch.zeros(1, 2, 5, 8).half(), "expected 3 dimensions"),
        ("layers.1.keys", torch.zeros(3, 5, 8).half(), "num_kv_heads = 2"),
        ("layers.1.values", torch.zeros(2, 4, 8).half(), "seq_len = 5"),
        ("layers.4.queries", torch.zeros(6, 3, 7).half(), "head_dim = 8"),
        ("layers.4.queries", torch.zeros(6, 2, 8).half(), "num_queries = 3"),
        ("token_ids", torch.zeros(4).long(), "seq_len = 5"),
        ("key_positions", torch.zeros(5, 1).long(), "expected 1 dimensions"),
    ],
)
def test_wrong_rank_or_size_is_refused(saved: Path, name: str, tensor: torch.Tensor, text: str) -> None:
    rewrite(saved, lambda tensors, _: tensors.update({name: tensor}))
    error = refusal(saved)
    assert isinstance(error, ShapeError)
    assert error.name == name
    assert text in str(error)


@pytest.mark.parametrize(
    ("name", "dtype", "got"),
    [
        ("layers.1.keys", torch.float32, "float32"),
        ("layers.1.queries", torch.int8, "I8"),
        ("layers.4.values", torch.float8_e4m3fn, "F8_E4M3"),
        ("token_ids", torch.int32, "I32"),
        ("query_positions", torch.float32, "float32"),
    ],
)
def test_wrong_dtype_is_refused(saved: Path, name: str, dtype: torch.dtype, got: str) -> None:
    rewrite(saved, lambda tensors, _: tensors.update({name: tensors[name].to(dtype)}))
    error = refusal(saved)
    assert error.name == name
    assert error.got == got


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["layers.1.queries", "layers.4.keys", "layers.4.values"])
def test_numbers_that_are_not_finite_are_refused_with_their_place(saved: Path, name: str, value: float) -> None:
    def poison(tensors: Tensors, _: dict[str, str]) -> None:
        tensors[name][1, 2, 3] = value

    rewrite(saved, poison)
    error = refusal(saved)
    assert (error.name, error.expected) == (name, "finite numbers")
    assert error.got == f"{value} at [1, 2, 3] (1 not finite)"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("query_positions", [5, 5, 9]),
        ("query_positions", [6, 5, 9]),
        ("key_positions", [-1, 1, 4, 6, 9]),
        ("key_positions", [0, 4, 1, 6, 9]),
        ("token_ids", [3, 1, 4, -1, 5]),
    ],
)
def test_disordered_positions_and_negative_ids_are_refused(saved: Path, name: str, values: list[int]) -> None:
    rewrite(saved, lambda tensors, _: tensors.update({name: torch.tensor(values)}))
    assert refusal(saved).name == name


@pytest.mark.parametrize("queries", [[5, 6, 13], [5, 6, 99]])
def test_a_query_without_a_visible_key_is_refused(saved: Path, queries: list[int]) -> None:
    rewrite(saved, lambda tensors, _: tensors.update({"query_positions": torch.tensor(queries)}))
    error = refusal(saved)
    assert error.name == "query_positions"
    assert error.got == f"none at {queries[-1]}"
    rewrite_meta(saved, window=None)
    assert load_trace(saved).query_positions.tolist() == queries


def test_a_query_before_all_keys_is_refused(saved: Path) -> None:
    rewrite(saved, lambda t, _: t.update({"key_positions": torch.tensor([6, 7, 8, 9, 10])}))
    assert refusal(saved).got == "none at 5"


def test_empty_sequence_is_refused(saved: Path) -> None:
    def empty(tensors: Tensors, _: dict[str, str]) -> None:
        for name, tensor in tensors.items():
            short = tensor[:, :0] if name.startswith("layers") else tensor[:0]
            tensors[name] = short.contiguous()

    rewrite(saved, empty)
    assert refusal(saved).name == "query_positions"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_heads", 5),
        ("num_heads", 0),
        ("num_heads", True),
        ("num_kv_heads", -2),
        ("num_kv_heads", 2.0),
        ("head_dim", "8"),
        ("layer_ids", []),
        ("layer_ids", [4, 1]),
        ("layer_ids", [1, 1]),
        ("layer_ids", ["1"]),
        ("layer_ids", {"1": 4}),
        ("softmax_scale", 0.125),
        ("softmax_scale", "0.125"),
        ("softmax_scale", "0"),
        ("softmax_scale", "1/0"),
        ("softmax_scale", "nan"),
        ("softmax_scale", "1e3"),
        ("softmax_scale", "-1/8"),
        ("softmax_scale", "1" * 5000),
        ("rope_kind", "spiral"),
        ("rope_kind", ["half_split"]),
        ("rope_theta", None),
        ("rope_theta", "0"),
        ("rope_factor", "0"),
        ("rotary_dim", 7),
        ("rotary_dim", 10),
        ("rotary_dim", 0),
        ("stage", "pre_rope"),
        ("soft_cap", "0"),
        ("window", 0),
        ("dtype", "float64"),
        ("model", None),
        ("source", 3),
        ("licence", ["MIT"]),
        ("surprise", 1),
    ],
)
def test_bad_metadata_is_refused_by_field(saved: Path, field: str, value: object) -> None:
    rewrite_meta(saved, **{field: value})
    assert refusal(saved).name == f"metadata.{field}"


@pytest.mark.parametrize(("field", "value"), [("rotary_dim", 8), ("rope_theta", "10000"), ("rope_factor", "2")])
def test_rope_constants_without_rope_are_refused(saved: Path, field: str, value: object) -> None:
    bare = {"rope_kind": "none", "rope_theta": None, "rope_factor": "1", "rotary_dim": 0}
    rewrite_meta(saved, **bare)
    assert load_trace(saved).meta.rope_kind == "none"
    rewrite_meta(saved, **{field: value})
    assert refusal(saved).name == f"metadata.{field}"


def test_heads_that_do_not_divide_are_named(saved: Path) -> None:
    rewrite_meta(saved, num_heads=5)
    wanted = "metadata.num_heads: expected a multiple of num_kv_heads = 2, got 5"
    assert str(refusal(saved)) == wanted


def test_missing_metadata_field_is_refused(saved: Path) -> None:
    def drop(_: Tensors, metadata: dict[str, str]) -> None:
        fields = json.loads(metadata["trace"])
        del fields["window"]
        metadata["trace"] = json.dumps(fields)

    rewrite(saved, drop)
    assert str(refusal(saved)) == "metadata.window: expected a value, got nothing"


@pytest.mark.parametrize("text", ["", "[1]", "null", "{", "[" * 100_000, '{"model": "a"}'])
def test_metadata_that_is_no_object_is_refused(saved: Path, text: str) -> None:
    rewrite(saved, lambda _, metadata: metadata.update({"trace": text}))
    assert refusal(saved).name.startswith("metadata")


@pytest.mark.parametrize("version", ["proofkv-verify/trace/2", "", "1"])
def test_unknown_version_is_refused(saved: Path, version: str) -> None:
    rewrite(saved, lambda _, metadata: metadata.update({"schema": version}))
    error = refusal(saved)
    assert error.name == "schema"
    assert SCHEMA in error.expected


def test_safetensors_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({"w": torch.zeros(2)}, path)
    assert refusal(path).name == "schema"
    save_file({"w": torch.zeros(2)}, path, {"schema": SCHEMA})
    assert refusal(path).name == "metadata"


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 9, 200, -1])
def test_truncated_file_is_refused(saved: Path, kept: int) -> None:
    saved.write_bytes(saved.read_bytes()[:kept])
    error = refusal(saved)
    assert error.expected == "a complete safetensors file"
    assert "truncated" in error.got


def test_file_with_a_tail_is_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"\0")
    assert "damaged" in refusal(saved).got


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "absent.safetensors").got == "no such file"
    assert refusal(tmp_path).got == "a folder"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["t.pt", "t.bin", "t.safetensors", "t"])
def test_pickle_is_refused_and_never_loaded(tmp_path: Path, name: str, protocol: int) -> None:
    path, mark = tmp_path / name, tmp_path / "exploded"
    path.write_bytes(pickle.dumps(Bomb(mark), protocol=protocol))
    error = refusal(path)
    assert error.name == str(path)
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_torch_save_under_another_name_is_called_a_pickle(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "t.safetensors"
    torch.save({"keys": torch.zeros(2)}, path, _use_new_zipfile_serialization=zipped)
    assert "pickle" in refusal(path).got


@pytest.mark.parametrize("suffix", [".pt", ".bin"])
def test_pickle_suffix_is_refused_whatever_is_inside(saved: Path, suffix: str) -> None:
    renamed = saved.rename(saved.with_suffix(suffix))
    assert "never loaded" in refusal(renamed).got


def test_header_length_that_looks_like_a_pickle_is_no_pickle(saved: Path) -> None:
    length = 0x0580
    content = saved.read_bytes()
    (old,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + old].rstrip().ljust(length)
    assert len(header) == length
    saved.write_bytes(struct.pack("<Q", length) + header + content[8 + old :])
    assert saved.read_bytes()[:2] == pickle.dumps(0, protocol=5)[:2]
    assert load_trace(saved).seq_len == 5


def test_trace_in_memory_is_checked_like_a_file(trace: Trace, meta: TraceMeta) -> None:
    bad = trace.layers[0].keys.clone()
    bad[0, 0, 0] = float("nan")
    with pytest.raises(InvalidInputError, match=r"^layers\.1\.keys: expected finite"):
        replace(trace, layers=(replace(trace.layers[0], keys=bad), trace.layers[1]))
    with pytest.raises(InvalidInputError, match=r"^layers: expected the layer ids \[1, 4\]"):
        replace(trace, layers=trace.layers[::-1])
    with pytest.raises(InvalidInputError, match=r"^layers\.1\.queries: expected dtype bfloat16"):
        replace(trace, meta=replace(meta, dtype="bfloat16"))
