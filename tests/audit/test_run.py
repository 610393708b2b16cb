"""Whole audits: plans, determinism, resuming, and the examples that are shipped."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from proofkv_verify.audit.ledger import FILE_NAME, create_ledger, open_ledger
from proofkv_verify.audit.run import Request, check_same, request_of, run_audit, settings_of
from proofkv_verify.audit.trial import SchemeError
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.registry import resolve_scheme
from proofkv_verify.verdict import Status
from tests.audit import toys

QUICK = Request("toy", engines=("random",), claims=("finite", "key_box_upper", "local"))


def run(directory, request=QUICK, scheme=toys.good):
    return run_audit(scheme, request, create_ledger(directory, settings_of(request, "")))


def without_time(results):
    return [replace(result, seconds=0.0) for result in results]


def test_equal_requests_give_equal_results(tmp_path, one_thread):
    first, second = (run(tmp_path / name) for name in ("a", "b"))
    assert without_time(first) == without_time(second)
    assert [r.bound for r in first] == ["finite", "local", "key_box_upper"]


def test_another_seed_gives_other_inputs(tmp_path, one_thread):
    lying = replace(QUICK, claims=("key_box_upper",))
    notes = [run(tmp_path / str(s), replace(lying, seed=s), toys.ZeroRadii())[0].basis for s in (0, 1)]
    assert notes[0] != notes[1]


def test_a_finished_claim_is_not_run_again(tmp_path, one_thread):
    class Counting(toys.Int8):
        calls = 0

        def restore(self, pages):
            Counting.calls += 1
            return super().restore(pages)

    first = run(tmp_path, scheme=Counting())
    before = Counting.calls
    again = run_audit(Counting(), QUICK, open_ledger(tmp_path))
    assert Counting.calls == before + 1  # the probe from which the plan is made
    assert without_time(again) == without_time(first)


def test_a_scheme_that_never_works_is_one_clear_error(tmp_path, one_thread):
    for scheme, text in ((toys.Raising(), "restore raised KeyError"), (toys.Misshapen(), "keys_hat: expected shape")):
        with pytest.raises(SchemeError, match=text):
            run(tmp_path / scheme.__class__.__name__, scheme=scheme)


def test_a_request_survives_its_ledger(tmp_path):
    ledger = create_ledger(tmp_path, settings_of(QUICK, "sha256:0"))
    again = open_ledger(tmp_path)
    assert request_of(dict(again.settings)) == QUICK
    check_same(ledger, QUICK, "sha256:0")
    with pytest.raises(InvalidInputError, match="resume: source"):
        check_same(again, QUICK, "sha256:1")


def test_an_unknown_claim_is_refused(tmp_path, one_thread):
    with pytest.raises(InvalidInputError, match="one of finite"):
        run(tmp_path, replace(QUICK, claims=("finit",)))


def test_an_elementwise_scheme_is_proved_by_exhaustion(tmp_path, one_thread):
    request = Request("int8", engines=("random",), claims=("quantizer_step_upper",))
    (result,) = run(tmp_path, request, resolve_scheme("int8"))
    assert result.status is Status.PROVED
    assert result.basis.startswith("exhausted all 63,488 fp16 and all 65,280 bf16 inputs")


# The last one takes seconds, so that the kill comes before the end.
FOR_A_KILL = ("finite", "local", "key_box_upper", "key_norm_upper", "value_box_upper", "softmax_tv_moment_upper")


def test_a_kill_loses_and_repeats_nothing(tmp_path):
    directory = tmp_path / "run"
    command = [sys.executable, "-m", "proofkv_verify.cli", "audit"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    chosen = [part for claim in FOR_A_KILL for part in ("--claim", claim)]
    start = [*command, "int8", "--ledger", str(directory), "--engine", "random", *chosen]
    process = subprocess.Popen(start, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path, deadline = directory / FILE_NAME, time.monotonic() + 120
    while time.monotonic() < deadline and not (path.exists() and path.read_bytes().count(b"\n") >= 4):
        assert process.poll() is None, "the audit ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = path.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    resume = [*command, "--resume", str(directory), "--json", "-"]
    done = subprocess.run(resume, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().startswith(kept)
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    bounds = [row["bound"] for row in rows]
    assert len(bounds) == len(set(bounds))
    assert sorted(bounds) == sorted(row["bound"] for row in json.loads(done.stdout)["claims"])
    assert json.loads(done.stdout)["claims"] == rows


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_every_unsound_example_is_in_the_table_of_expected_refutations():
    assert {path.stem for path in (EXAMPLES / "unsound").glob("*.py")} == set(EXPECTED)


EXPECTED = {
    "batch_scale": "batch_independent",
    "in_place": "inputs_unchanged",
    "nondeterministic": "deterministic",
    "one_token_flush": "chunk_independent",
    "saturation_ignored": "key_box_upper",
    "tiled_heads": "gqa_heads",
    "truncation": "key_box_upper",
    "unrounded_scale": "key_box_upper",
    "wrong_axis": "key_box_upper",
    "wrong_dtype": "key_box_upper",
}
