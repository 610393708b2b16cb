"""What `--long`, HYPOTHESIS_PROFILE and the summary do, seen from a run of pytest in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest
from hypothesis import settings
from tests.profiles import budget

@pytest.mark.slow
def test_slow():
    pass

def test_absent():
    pytest.skip("no device")

def test_examples():
    print("examples", settings.default.max_examples, budget(30).max_examples, settings.default.derandomize)
"""


def run(folder: Path, *options: str, profile: str | None = None) -> str:
    """Standard output and error of one run."""
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
    chosen = {} if profile is None else {"HYPOTHESIS_PROFILE": profile}
    env = {k: v for k, v in os.environ.items() if k not in {"HYPOTHESIS_PROFILE", "PYTEST_ADDOPTS"}} | chosen
    flags = ["-q", "-s", "-p", "tests.conftest", "-p", "no:cacheprovider", *options, str(folder)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(folder / "pytest.ini"), *flags],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_without_long_slow_tests_are_skipped_and_counted_by_reason(tmp_path: Path) -> None:
    output = run(tmp_path)
    assert "1 passed, 2 skipped" in output
    assert "2 skipped, by reason: 1 slow, runs with --long; 1 no device" in output
    assert "examples 100 30 True" in output


def test_with_long_slow_tests_run_and_new_examples_are_ten_times_as_many(tmp_path: Path) -> None:
    output = run(tmp_path, "--long")
    assert "2 passed, 1 skipped" in output
    assert "1 skipped, by reason: 1 no device" in output
    assert "examples 1000 300 False" in output


@pytest.mark.parametrize(
    ("options", "profile", "examples"),
    [
        ((), "nightly", "examples 1000 300 False"),
        (("--long",), "ci", "examples 100 30 True"),
        (("--hypothesis-profile=nightly",), "ci", "examples 1000 300 False"),
    ],
)
def test_a_named_profile_wins_over_the_option(
    tmp_path: Path, options: tuple[str, ...], profile: str, examples: str
) -> None:
    assert examples in run(tmp_path, *options, profile=profile)


def test_an_unknown_profile_stops_the_run(tmp_path: Path) -> None:
    output = run(tmp_path, profile="weekly")
    assert "HYPOTHESIS_PROFILE: expected ci or nightly, got 'weekly'" in output
    assert "passed" not in output
