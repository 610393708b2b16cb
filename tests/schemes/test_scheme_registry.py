"""Names, options and their errors; entry points; what schemes declare."""

from types import SimpleNamespace

import pytest
import torch

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes import registry
from proofkv_verify.schemes.base import HasSidecar, Scheme, Steps, Streams
from proofkv_verify.schemes.int8 import int8_token
from proofkv_verify.schemes.kivi import kivi
from proofkv_verify.schemes.registry import SCHEMES, resolve_scheme, scheme_named, scheme_names
from tests.schemes.scheme_inputs import normal, scheme_texts


def test_the_built_in_names_are_these():
    expected = ["identity", "int8", "int8_channel", "int8_block", "int4_kivi", "int2_kivi", "fp8_e4m3fn", "fp8_e5m2"]
    assert list(SCHEMES) == expected
    assert scheme_names()[: len(expected)] == tuple(expected)


@pytest.mark.parametrize("text", list(scheme_texts()))
def test_every_option_text_builds_a_scheme_that_keeps_its_text_as_name(text):
    scheme = scheme_named(text)
    assert scheme.name == text
    assert isinstance(scheme, Scheme)
    assert isinstance(scheme, HasSidecar)
    assert isinstance(scheme, Streams)
    assert isinstance(scheme, Steps)
    assert scheme.declaration.radii == "declared"


def test_option_examples_are_accepted():
    for name, builtin in SCHEMES.items():
        for key, option in builtin.options.items():
            assert scheme_named(f"{name}:{key}={option.example}").name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int9", "scheme: expected one of identity, int8, int8_channel, .*, or file.py:object, got 'int9'"),
        ("int9:scale=fp16", "scheme: expected one of identity"),
        ("", "scheme: expected one of identity"),
        ("int8:scale=fp64", "int8:scale: expected fp32|fp16|bf16, got 'fp64'"),
        (
            "int8:scala=fp16",
            "option of int8: expected some of scale=fp32|fp16|bf16, .*symmetric=yes|no.*, got 'scala=fp16'",
        ),
        ("int8:scale", "option of int8: .*, got 'scale'"),
        ("int8:scale=fp16,scale=fp32", "int8:scale: expected one value, got 'scale=fp16,scale=fp32'"),
        ("int8:symmetric=maybe", "int8:symmetric: expected yes|no, got 'maybe'"),
        ("int8:overflow=nan", "int8:overflow: expected saturate|error, got 'nan'"),
        ("int8:group=0", "int8:group: expected POSITIVE INTEGER, got '0'"),
        ("int8:group=x", "int8:group: expected POSITIVE INTEGER, got 'x'"),
        ("identity:scale=fp16", "option of identity: expected no options, got 'scale=fp16'"),
        ("fp8_e4m3fn:key_scale=a/b", "fp8_e4m3fn:key_scale: expected NUMBER"),
        ("fp8_e4m3fn:key_scale=-1", "key_scale: expected a positive number, got -1.0"),
        ("fp8_e4m3fn:key_scale=nan", "key_scale: expected a positive number, got nan"),
        ("fp8_e4m3fn:key_scale=0.1,scale=fp16", "key_scale: expected a finite number of fp16, got 0.1"),
        ("int4_kivi:group=32,residual=40", "residual: expected a positive multiple of group=32, got 40"),
        ("int4_kivi:group=32,residual=16", "residual: expected a positive multiple of group=32, got 16"),
    ],
)
def test_wrong_names_and_options_have_one_clear_error(text, message):
    with pytest.raises(InvalidInputError, match=message.replace("|", r"\|")):
        scheme_named(text)


def test_options_reach_the_scheme():
    scheme = scheme_named("int8_block:scale=bf16,symmetric=no,tokens=4,group=2,scale_rounding=nearest,restored=fp32")
    spec = scheme.keys.spec
    assert (spec.tokens, spec.channels, spec.symmetric, spec.scale_up) == (4, 2, False, False)
    assert spec.scale_dtype == torch.bfloat16
    assert (scheme.declaration.scale_dtype, scheme.declaration.restored_dtype) == ("bf16", "fp32")
    keys = normal(torch.float16)
    assert scheme.restore(scheme.compress(keys, keys))[0].dtype == torch.float32


def test_declarations_state_windows_and_groups():
    assert scheme_named("int8").declaration.residual_window == 0
    assert scheme_named("int8_channel").declaration.group_tokens == 64
    assert scheme_named("int8_channel").declaration.residual_window == 63
    declaration = kivi(4, group=16, residual=64).declaration
    assert (declaration.bits, declaration.residual_window, declaration.group_tokens) == (4, 64, 16)


def test_defaults_of_builders_and_registry_agree():
    assert scheme_named("int8") == int8_token()
    assert scheme_named("int4_kivi") == kivi(4)


def test_fixed_scales_must_fit_the_heads():
    keys = normal(torch.float16, (1, 2, 4, 8))
    with pytest.raises(InvalidInputError, match=r"scales: expected 1 or 2 \(one a KV head\), got 3"):
        scheme_named("fp8_e5m2:key_scale=1/2/4").compress(keys, keys)


def test_fixed_scales_are_used_per_head():
    keys = torch.ones(1, 3, 2, 4)
    scheme = scheme_named("fp8_e4m3fn:key_scale=0.5/1/4096,value_scale=2")
    restored = scheme.restore(scheme.compress(keys, keys))
    # 1 / 4096 lies below half the least e4m3 number 2^-9.
    assert restored[0][0, :, 0, 0].tolist() == [1.0, 1.0, 0.0]
    assert bool((restored[1] == 1.0).all())


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        (torch.zeros(2, 3, 4), torch.zeros(2, 3, 4), r"keys: expected 4 dimensions \[B, H, T, D\], got 3"),
        (torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 4, 4), "values: expected the first three sizes of keys"),
        (torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4).half(), "values: expected the dtype of keys"),
        (torch.zeros(1, 2, 3, 4).double(), torch.zeros(1, 2, 3, 4).double(), "keys: expected dtype fp16, bf16 or fp32"),
    ],
)
@pytest.mark.parametrize("text", ["identity", "int8"])
def test_compress_refuses_malformed_tensors(text, keys, values, message):
    with pytest.raises(InvalidInputError, match=message):
        scheme_named(text).compress(keys, values)


def test_keys_and_values_may_have_different_head_dims():
    keys, values = normal(torch.float16, (1, 2, 40, 8)), normal(torch.float16, (1, 2, 40, 6))
    for text in SCHEMES:
        scheme = scheme_named(text)
        pages = scheme.compress(keys, values)
        assert scheme.restore(pages)[1].shape == values.shape
        assert scheme.sidecar(pages).value_box.shape == values.shape


def test_an_entry_point_is_found_wrapped_and_listed(monkeypatch):
    point = SimpleNamespace(name="halves", load=lambda: lambda keys: keys / 2)
    other = SimpleNamespace(name="aside", load=lambda: None)
    found = {registry.ENTRY_POINTS: [other, point]}
    monkeypatch.setattr(registry, "entry_points", lambda group: found.get(group, []))
    assert scheme_names()[-2:] == ("aside", "halves")
    scheme = scheme_named("halves")
    assert scheme.name == "halves"
    keys = normal(torch.float32)
    assert torch.equal(scheme.restore(scheme.compress(keys, keys))[0], keys / 2)
    with pytest.raises(InvalidInputError, match="scheme: expected one of"):
        scheme_named("halves:scale=fp16")


def test_resolve_scheme_takes_names_and_files(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def third(keys):\n    return keys / 3\n")
    assert resolve_scheme("int8:scale=fp16").name == "int8:scale=fp16"
    assert resolve_scheme(f"{file}:third").name == f"{file}:third"
    with pytest.raises(InvalidInputError, match=r"FILE\.py:OBJECT"):
        resolve_scheme(str(file))
