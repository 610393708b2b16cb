"""The README's code runs: python blocks as they stand, console blocks with the exit code that they state.

A console block is run when its lines start with `$ proofkv-verify`; a comment `<!-- exit: N -->` on the line before the
fence states the exit code, 0 without. All blocks run in order in one directory, in which `examples` is at hand.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(
    r"(?:<!-- exit: (?P<code>\d+) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


def console_commands():
    for block in BLOCK.finditer(README):
        if block["kind"] == "console":
            for line in block["body"].splitlines():
                if line.startswith("$ proofkv-verify "):
                    yield line.removeprefix("$ "), int(block["code"] or 0)


def python_blocks():
    return [block["body"] for block in BLOCK.finditer(README) if block["kind"] == "python"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("readme")
    (directory / "examples").symlink_to(ROOT / "examples")
    return directory


def run(arguments, place):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_STATE_HOME": str(place)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_the_readme_has_code():
    assert python_blocks()
    assert list(console_commands())


@pytest.mark.parametrize("body", python_blocks(), ids=range(len(python_blocks())))
def test_python_block_runs(place, body):
    done = run(["-c", body], place)
    assert done.returncode == 0, done.stderr


def test_console_lines_end_with_the_stated_exit_codes(place):
    for line, code in console_commands():  # in order: a later line reads what an earlier one wrote
        done = run(["-m", "proofkv_verify.cli", *shlex.split(line)[1:]], place)
        assert done.returncode == code, line + done.stdout + done.stderr
