"""`audit` and `replay` from the command line: exit codes, files, errors in one line."""

import json

import pytest
from typer.testing import CliRunner

from proofkv_verify.cli import app
from tests.audit.test_run import EXAMPLES, EXPECTED

RUNNER = CliRunner()
QUICK = ["--engine", "random", "--claim", "finite", "--claim", "key_box_upper"]


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def invoke(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


def test_an_audit_that_refutes_nothing_ends_with_0(tmp_path):
    done = invoke("audit", "int8", *QUICK, "--html", tmp_path / "a.html", "--json", tmp_path / "a.json")
    assert done.exit_code == 0, done.output
    assert "0 proved, 0 refuted, 2 survived, 0 undecided" in done.stdout
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["target"] == "int8"
    assert [row["bound"] for row in document["claims"]] == ["finite", "key_box_upper"]
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")


def test_no_target_audits_int8():
    done = invoke("audit", *QUICK)
    assert done.exit_code == 0
    assert "Audit of int8" in done.stdout


def test_json_on_standard_output_is_nothing_but_json():
    done = invoke("audit", "identity", *QUICK, "--json", "-")
    assert json.loads(done.stdout)["summary"]["survived"] == 2
    assert "Audit of identity" in done.stderr


@pytest.mark.parametrize(("name", "claim"), EXPECTED.items())
def test_each_unsound_example_is_refuted_and_its_counterexample_replays(tmp_path, name, claim):
    target = f"{EXAMPLES / 'unsound' / name}.py:scheme"
    report = tmp_path / "audit.json"
    done = invoke("audit", target, "--claim", claim, "--json", report)
    assert done.exit_code == 1, done.output
    (row,) = json.loads(report.read_text())["claims"]
    assert row["status"] == "refuted"
    again = invoke("replay", report)
    assert again.exit_code == 1, again.output
    assert "the counterexample stands" in again.stdout
    case = tmp_path / "case.json"
    case.write_text(json.dumps(row["counterexample"]))
    assert invoke("replay", case).exit_code == 1


@pytest.mark.parametrize(
    "target", ["int8_per_token.py:scheme", "int4_per_channel.py:scheme", "measured.py:fp8_keys", "measured.py:low_rank"]
)
def test_each_sound_example_passes(target):
    done = invoke("audit", EXAMPLES / "sound" / target, "--engine", "random", "--budget", "2")
    assert done.exit_code == 0, done.output


def test_a_finished_run_leaves_no_ledger_behind_unless_asked(tmp_path):
    invoke("audit", "identity", *QUICK)
    assert not list((tmp_path / "state").glob("**/ledger.jsonl"))
    invoke("audit", "identity", *QUICK, "--ledger", tmp_path / "kept")
    assert (tmp_path / "kept" / "ledger.jsonl").is_file()


def test_resume_of_a_finished_run_prints_it_again(tmp_path):
    first = invoke("audit", "identity", *QUICK, "--ledger", tmp_path / "run", "--json", tmp_path / "1.json")
    again = invoke("audit", "--resume", tmp_path / "run", "--json", tmp_path / "2.json")
    assert first.exit_code == again.exit_code == 0
    assert (tmp_path / "1.json").read_text() == (tmp_path / "2.json").read_text()


def test_an_interrupt_says_how_to_resume(tmp_path, monkeypatch):
    def interrupted(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("proofkv_verify.commands.audit.run_audit", interrupted)
    done = invoke("audit", "identity", "--ledger", tmp_path / "run")
    assert done.exit_code == 130
    assert f"--resume {tmp_path / 'run'}" in done.stderr
    assert (tmp_path / "run" / "ledger.jsonl").is_file()


def bad_calls(tmp_path):
    missing = tmp_path / "none"
    (tmp_path / "bad.py").write_text("scheme = 3\n")
    (tmp_path / "trace.safetensors").write_bytes(b"not a trace")
    invoke("audit", "identity", *QUICK, "--ledger", tmp_path / "run")
    return {
        "scheme": ["audit", "int9"],
        "target": ["audit", f"{missing}.py:scheme"],
        f"{tmp_path}/bad.py:scheme": ["audit", f"{tmp_path}/bad.py:scheme"],
        "engine": ["audit", "int8", "--engine", "guess"],
        "device": ["audit", "int8", "--device", "tpu"],
        "claim": ["audit", "int8", "--claim", "soundness"],
        "output": ["audit", "int8", "--json", f"{missing}/a.json"],
        "resume": ["audit", "--resume", missing],
        "ledger": ["audit", "int8", "--ledger", tmp_path / "run"],
        "target: expected identity": ["audit", "int8", "--resume", tmp_path / "run"],
        "trace": ["audit", "int8", "--trace", tmp_path / "trace.safetensors"],
        "model": ["audit", "int8", "--model", "gpt9"],
        "option of int8": ["audit", "int8:colour=red"],
    }


def test_bad_input_is_one_line_on_standard_error_and_exit_code_2(tmp_path):
    for name, call in bad_calls(tmp_path).items():
        done = invoke(*call)
        assert done.exit_code == 2, (call, done.output)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, done.stderr
        assert name in lines[0]
        assert "expected" in lines[0]
        assert "got" in lines[0]


def test_a_fault_of_the_package_does_not_read_as_refuted(monkeypatch):
    def broken(*_arguments, **_named):
        raise RuntimeError("a fault")

    monkeypatch.setattr("proofkv_verify.commands.audit.run_audit", broken)
    assert invoke("audit", "identity").exit_code == 70
