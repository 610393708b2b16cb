import pytest

import proofkv_verify
from proofkv_verify.search.driver import refute


def test_refute_is_loaded_when_it_is_asked_for() -> None:
    assert proofkv_verify.refute is refute


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="surprise"):
        _ = proofkv_verify.surprise


def test_every_public_name_is_there() -> None:
    assert all(getattr(proofkv_verify, name) is not None for name in proofkv_verify.__all__)
