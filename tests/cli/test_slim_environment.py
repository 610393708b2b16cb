"""`check` and `replay` run where only python-flint and the command-line library are installed."""

import subprocess
import sys

import pytest

from tests.cli.test_commands import certificate, counterexample

BLOCKED = ("torch", "numpy", "z3", "hypothesis", "mpmath", "ival", "jinja2", "safetensors", "gguf", "sympy")
BLOCKER = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked)", name=name)

sys.meta_path.insert(0, Blocker())
from proofkv_verify.cli import main
main()
"""


def run(*arguments):
    command = [sys.executable, "-c", BLOCKER, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case.json"
    path.write_text(counterexample("audit:int8:softmax_tv_mean_upper", "1/4"))
    return path


def test_a_command_that_needs_more_says_what():
    for command in (("list", "schemes"), ("audit", "int8")):
        done = run(*command)
        assert done.returncode == 2
        assert "error: this command needs a package that is not installed: torch" in done.stderr


def test_replay_needs_no_numerical_library(case):
    done = run("replay", case)
    assert done.returncode == 1, done.stderr
    assert "the counterexample stands" in done.stdout


@pytest.mark.parametrize("claim", ["softmax_tv_mean_upper", "tv_mean_without_condition"])
def test_replay_of_a_named_claim_needs_none_either(tmp_path, claim):
    path = tmp_path / "case.json"
    path.write_text(counterexample(claim, "1/4"))
    done = run("replay", path)
    assert done.returncode == 0, done.stderr
    assert "the claim's function" in done.stdout


def test_check_needs_no_numerical_library(tmp_path):
    path = tmp_path / "cert.json"
    path.write_text(certificate("inf"))
    done = run("check", path)
    assert done.returncode == 0, done.stderr


def test_a_second_opinion_without_mpmath_is_one_clear_error(tmp_path):
    path = tmp_path / "cert.json"
    path.write_text(certificate("inf"))
    done = run("check", path, "--second-opinion")
    assert done.returncode == 2
    assert "needs mpmath" in done.stderr


def test_help_and_bounds_need_none(case):
    assert run("--help").returncode == 0
    assert run("list", "bounds").returncode == 0
    assert run("list", "mutants").returncode == 0
