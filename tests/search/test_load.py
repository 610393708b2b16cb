"""`file.py:object` gives the object and the digest of what ran, or one clear error."""

from __future__ import annotations

import hashlib
import sys

import pytest

from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.search.driver import find_counterexample
from proofkv_verify.search.load import load_claim, load_object

SOURCE = '''
from dataclasses import dataclass

import helper
from proofkv_verify.claims import claim


@dataclass
class Config:
    bits: int = helper.BITS


@claim("softmax_tv")
def overlap_backwards(x, m):
    """1 - A/B."""
    a = m.sum(p * r for p, r in zip(x.weights, x.ratios))
    b = m.sum(p / r for p, r in zip(x.weights, x.ratios))
    return 1 - a / b


def scheme(keys):
    return keys
'''


@pytest.fixture
def user_file(tmp_path):
    (tmp_path / "helper.py").write_text("BITS = 8\n")
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_a_claim_is_loaded_named_and_refuted(user_file):
    loaded, source = load_claim(f"{user_file}:overlap_backwards")
    assert isinstance(loaded, Claim)
    assert loaded.name == f"{user_file}:overlap_backwards"
    assert source == "sha256:" + hashlib.sha256(user_file.read_bytes()).hexdigest()
    found = find_counterexample(loaded, "fuzz", budget_s=30, seed=0, source=source).counterexample
    assert found.source == source


def test_any_object_is_loaded_with_its_module_beside_it(user_file):
    assert load_object(f"{user_file}:scheme").value("keys") == "keys"
    assert load_object(f"{user_file}:Config").value().bits == 8


def test_the_import_path_is_left_as_it_was(user_file):
    before = list(sys.path)
    load_object(f"{user_file}:scheme")
    assert sys.path == before


@pytest.mark.parametrize("target", ["mine.py", "mine:thing", "mine.py:", "mine.py:a.b", ":x", "softmax_tv_mean_upper"])
def test_other_forms_are_refused(target):
    with pytest.raises(InvalidInputError, match=r"FILE\.py:OBJECT"):
        load_object(target)


def test_missing_file_and_object_are_named(user_file):
    with pytest.raises(InvalidInputError, match=r"readable Python file.*No such file"):
        load_object(f"{user_file.parent}/absent.py:x")
    with pytest.raises(InvalidInputError, match=r"Config.*scheme.*got typo"):
        load_object(f"{user_file}:typo")


def test_an_object_that_is_no_claim_is_refused(user_file):
    with pytest.raises(InvalidInputError, match=r"@claim.*got function"):
        load_claim(f"{user_file}:scheme")


@pytest.mark.parametrize(
    ("text", "said"),
    [("def f(:\n", "line 1"), ("import no_such_module_here", "no_such_module_here"), ("1/0", "ZeroDivisionError")],
)
def test_a_file_that_does_not_run_is_one_clear_error(tmp_path, text, said):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="a Python file that runs") as caught:
        load_object(f"{path}:x")
    assert said in str(caught.value)
