"""Users' functions and objects as schemes: measured witnesses, declared radii, and the errors of malformed ones."""

from pathlib import Path

import pytest
import torch

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.base import Declaration, HasSidecar, Scheme, Sidecar, Steps, Streams
from proofkv_verify.schemes.compare import first_violation
from proofkv_verify.schemes.registry import scheme_named
from proofkv_verify.schemes.user import load_scheme, wrap
from tests.schemes.scheme_inputs import normal

EXAMPLES = Path(__file__).parents[2] / "examples"
SOUND = ["int8_per_token.py:scheme", "int4_per_channel.py:scheme", "measured.py:fp8_keys", "measured.py:low_rank"]


class Halver:
    def compress(self, keys, values):
        return keys / 2, values / 2

    def restore(self, pages):
        return pages


class Streaming(Halver):
    def append(self, pages, keys, values):
        return tuple(torch.cat([old, new / 2], 2) for old, new in zip(pages, (keys, values), strict=True))


class Declaring(Streaming):
    @property
    def declaration(self):
        return {"bits": 15, "notes": "halves"}

    def sidecar(self, pages):
        return {"key_box": pages[0].float().abs(), "value_norm": None}

    def step(self, values, scale):
        return values, values / 2, values.double().abs()


def test_a_function_of_keys_keeps_values_and_measures_its_witness():
    scheme = wrap(lambda keys: keys / 3, "third")
    keys, values = normal(torch.float16, seed=1), normal(torch.float16, seed=2)
    pages = scheme.compress(keys, values)
    keys_hat, values_hat = scheme.restore(pages)
    assert torch.equal(keys_hat, keys / 3)
    assert torch.equal(values_hat, values)
    sidecar = scheme.sidecar(pages)
    assert first_violation(keys, keys_hat, sidecar.key_box) is None
    assert float(sidecar.value_norm.max()) == 0
    assert (pages.num_bytes, pages.seq_len) == (None, keys.shape[2])
    assert scheme.declaration.radii == "measured"


def test_a_function_of_both_is_called_with_both():
    scheme = wrap(lambda keys, values: (keys * 0, values / 2), "both")
    keys, values = normal(torch.float32, seed=1), normal(torch.float32, seed=2)
    assert torch.equal(scheme.restore(scheme.compress(keys, values))[1], values / 2)


def test_optional_arguments_do_not_count():
    def scaled(keys, factor=0.5):
        return keys * factor

    keys = normal(torch.float32)
    assert torch.equal(wrap(scaled, "scaled").restore(wrap(scaled, "scaled").compress(keys, keys))[0], keys / 2)


def test_a_witness_is_measured_against_the_originals_even_when_the_code_overwrites_them():
    def in_place(keys):
        return keys.mul_(0.5)

    keys = normal(torch.float32)
    original = keys.clone()
    scheme = wrap(in_place, "in_place")
    pages = scheme.compress(keys, keys.clone())
    assert first_violation(original, scheme.restore(pages)[0], scheme.sidecar(pages).key_box) is None
    assert torch.equal(keys, original / 2)  # not hidden: the caller's tensor has changed


def test_optional_methods_exist_only_where_the_user_wrote_them():
    plain, streaming, declaring = (wrap(cls(), cls.__name__) for cls in (Halver, Streaming, Declaring))
    for scheme, streams, steps in ((plain, False, False), (streaming, True, False), (declaring, True, True)):
        assert isinstance(scheme, Scheme)
        assert isinstance(scheme, HasSidecar)
        assert isinstance(scheme, Streams) == streams
        assert isinstance(scheme, Steps) == steps
    assert (plain.declaration.radii, declaring.declaration.radii) == ("measured", "declared")
    assert declaring.declaration.bits == 15


def test_a_class_is_instantiated():
    assert wrap(Halver, "halver").name == "halver"


def test_a_complete_scheme_is_returned_as_it_is():
    scheme = scheme_named("int8")
    assert wrap(scheme, "other") is scheme


def test_appended_tokens_are_measured_again_from_all_originals():
    scheme = wrap(Streaming(), "streaming")
    keys = normal(torch.float32)
    pages = scheme.compress(keys[:, :, :10], keys[:, :, :10])
    pages = scheme.append(pages, keys[:, :, 10:], keys[:, :, 10:])
    assert pages.seq_len == keys.shape[2]
    assert first_violation(keys, scheme.restore(pages)[0], scheme.sidecar(pages).key_box) is None
    with pytest.raises(InvalidInputError, match=r"keys, values: expected torch\.float32 and the sizes of the pages"):
        scheme.append(pages, keys.half(), keys.half())


def test_declared_radii_pass_through_exactly_as_float64():
    scheme = wrap(Declaring(), "declaring")
    keys = normal(torch.float16)
    sidecar = scheme.sidecar(scheme.compress(keys, keys))
    assert torch.equal(sidecar.key_box, (keys / 2).double().abs())
    assert sidecar.value_norm is None


def test_a_sidecar_object_is_taken_too():
    class WithSidecar(Halver):
        def sidecar(self, pages):
            return Sidecar(key_norm=torch.ones(pages[0].shape[:3], dtype=torch.float64))

    scheme = wrap(WithSidecar(), "with")
    keys = normal(torch.float16)
    assert float(scheme.sidecar(scheme.compress(keys, keys)).key_norm.min()) == 1


def test_a_declaration_object_is_taken_too_and_its_radii_say_what_was_written():
    class Stated(Halver):
        @property
        def declaration(self):
            return Declaration(bits=3, radii="declared")

    declaration = wrap(Stated(), "stated").declaration
    assert (declaration.bits, declaration.radii) == (3, "measured")


def method(name, result):
    return type("Broken", (Declaring,), {name: lambda self, *args: result})


KEYS = normal(torch.float16)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (3, "x: expected a function of keys, or of keys and values, or an object with compress"),
        (lambda: None, "got a function of 0 arguments"),
        (lambda a, b, c: None, "got a function of 3 arguments"),
        (lambda *args: None, "got a function of 0 arguments"),
        (
            type("Needs", (Halver,), {"__init__": lambda self, bits: None}),
            "x: expected a class that needs no arguments",
        ),
        (type("Odd", (Halver,), {"declaration": {"bit": 4}}), "x: declaration: expected a mapping with some of bits"),
        (type("Odd", (Halver,), {"declaration": 4}), "x: declaration: expected a mapping"),
        (lambda keys: keys[..., :1], r"keys_hat: expected \(2, 2, 40, 8\), got \(2, 2, 40, 1\)"),
        (lambda keys: keys.int(), "keys_hat: expected a floating tensor, got torch.int32"),
        (lambda keys: None, "keys_hat: expected a floating tensor, got NoneType"),
        (lambda keys, values: keys, r"result: expected a tuple \(keys_hat, values_hat\), got Tensor"),
        (method("restore", KEYS), r"restore: expected a tuple \(keys_hat, values_hat\), got Tensor"),
        (method("sidecar", KEYS), "sidecar: expected a mapping with some of key_box"),
        (method("sidecar", {"key_bax": KEYS}), "sidecar: expected fields among key_box.*, got 'key_bax'"),
    ],
)
def test_malformed_user_code_has_one_clear_error(found, message):
    with pytest.raises(InvalidInputError, match=message):
        use(wrap(found, "x"))


def use(scheme):
    pages = scheme.compress(KEYS.clone(), KEYS.clone())
    return scheme.restore(pages), scheme.sidecar(pages)


def test_a_callable_without_a_signature_is_refused():
    class Odd:
        __signature__ = "none"

        def __call__(self, keys):
            return keys

    with pytest.raises(InvalidInputError, match="a callable without a signature"):
        wrap(Odd(), "x")


@pytest.mark.parametrize("target", SOUND)
def test_sound_examples_hold_on_random_keys_and_say_where_they_come_from(target):
    scheme, source = load_scheme(str(EXAMPLES / "sound" / target))
    assert source.startswith("sha256:")
    assert isinstance(scheme.declaration, Declaration)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        keys, values = normal(dtype, (2, 3, 70, 16), 1, 3.0), normal(dtype, (2, 3, 70, 16), 2, 50.0)
        pages = scheme.compress(keys.clone(), values.clone())
        sidecar = scheme.sidecar(pages)
        for original, restored, box in zip(
            (keys, values), scheme.restore(pages), (sidecar.key_box, sidecar.value_box), strict=True
        ):
            assert first_violation(original, restored, box) is None
