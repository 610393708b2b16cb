"""The other commands: refute, replay, check, mutants, list, trace."""

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.certificate import Certificate, Counterexample, Interval, to_json
from proofkv_verify.cli import app
from proofkv_verify.kinds import Instance
from proofkv_verify.mutants.registry import MUTANTS

RUNNER = CliRunner()
COMMANDS = ("audit", "refute", "replay", "check", "mutants", "list", "status", "trace record", "trace info")
WEIGHTS = {"weights": (Fraction(1), Fraction(1)), "ratios": (Fraction(2), Fraction(2))}
MUTANT = "tv_mean_without_condition"


def invoke(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


def certificate(claimed, **fields):
    return to_json(Certificate("softmax_tv_mean_upper", Instance("softmax_tv", {**WEIGHTS, **fields}), claimed))


def counterexample(claim, claimed, tilts=(Fraction(2), Fraction(1, 2))):
    ends = Interval(Fraction(claimed), Fraction(claimed))
    instance = Instance("softmax_tv", {**WEIGHTS, "tilts": tilts})
    return to_json(Counterexample(claim, instance, ends, Interval(Fraction(3, 10), Fraction(3, 10)), "fuzz", 0))


@pytest.fixture
def write(tmp_path):
    def put(text):
        path = tmp_path / "case.json"
        path.write_text(text)
        return path

    return put


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(command):
    done = invoke(*command.split(), "--help")
    assert done.exit_code == 0
    assert f"proofkv-verify {command}" in " ".join(done.stdout.split())


def test_no_command_prints_help_and_is_a_usage_error():
    done = invoke()
    assert done.exit_code == 2
    assert "audit" in done.output


@pytest.mark.parametrize(
    ("claimed", "tilts", "code", "word"),
    [
        ("1/4", (Fraction(2), Fraction(1, 2)), 1, "the counterexample stands"),
        ("1/2", (Fraction(2), Fraction(1, 2)), 0, "the claim holds on these numbers"),
        ("1/4", (Fraction(9), Fraction(1, 2)), 3, "the premise does not hold: tilts[0] <= ratios[0]"),
    ],
)
def test_replay_evaluates_exactly(write, claimed, tilts, code, word):
    done = invoke("replay", write(counterexample("audit:int8:softmax_tv_mean_upper", claimed, tilts)))
    assert done.exit_code == code
    assert word in done.stdout
    assert "weights = [1, 1]" in done.stdout


def test_replay_takes_the_function_of_a_known_claim(write):
    # claimed 1/4 is not what the bound says of these numbers, so its function decides, not the recorded number.
    done = invoke("replay", write(counterexample("softmax_tv_mean_upper", "1/4")), "--json", "-")
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)["cases"]
    assert row["verdict"] == "Verified"
    assert "evaluated again with the claim's function" in done.stderr


def test_replay_falls_back_to_the_recorded_number_when_the_file_is_gone(write):
    done = invoke("replay", write(counterexample("gone.py:bound", "1/4")))
    assert done.exit_code == 1
    assert "the claimed number is the recorded one" in done.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "proofkv-verify/audit/9"}', certificate(Fraction(1))])
def test_replay_refuses_other_documents(write, text):
    done = invoke("replay", write(text))
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")


def test_a_report_without_counterexamples_has_nothing_to_replay(write):
    report = {"schema": "proofkv-verify/audit/1", "claims": [{"counterexample": None}]}
    done = invoke("replay", write(json.dumps(report)))
    assert done.exit_code == 0
    assert "nothing was refuted" in done.stdout


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (certificate(Fraction(1, 2)), 0, "Verified"),
        (certificate(Fraction(1, 4)), 3, "Inconclusive"),
        (certificate(Fraction(1, 4), tilts=(Fraction(2), Fraction(1, 2))), 1, "Refuted"),
        (certificate("nan"), 1, "Refuted"),
        (certificate("inf"), 0, "vacuous"),
    ],
)
def test_check_judges_a_certificate(write, text, code, word):
    done = invoke("check", write(text))
    assert done.exit_code == code
    assert word in done.stdout


def test_check_asks_mpmath_on_request(write):
    done = invoke("check", write(certificate(Fraction(1, 2))), "--second-opinion", "--json", "-")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["second_opinion"]["agrees"] is True


def test_check_refuses_a_counterexample(write):
    done = invoke("check", write(counterexample("x", "1/4")))
    assert done.exit_code == 2
    assert "replay" in done.stderr


def test_a_missing_file_is_one_line(tmp_path):
    done = invoke("replay", tmp_path / "none.json")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_refute_finds_a_mutant_and_the_case_replays(tmp_path):
    case, report = tmp_path / "case.json", tmp_path / "refute.json"
    done = invoke("refute", MUTANT, "--budget", "30", "--output", case, "--json", report)
    assert done.exit_code == 1, done.output
    assert "the counterexample stands" in done.stdout
    assert json.loads(report.read_text())["status"] == "refuted"
    assert invoke("replay", case).exit_code == invoke("replay", report).exit_code == 1


def test_refute_of_a_right_bound_survives_and_is_not_called_sound():
    done = invoke("refute", "softmax_tv_overlap_upper", "--engine", "fuzz", "--budget", "1")
    assert done.exit_code == 0
    assert "which is no proof" in done.stdout


def test_refute_attacks_a_claim_in_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from proofkv_verify import claim\n\n@claim('softmax_tv')\ndef zero(x, m):\n"
        "    '''TV <= 0.'''\n    return m.const(0)\n"
    )
    case = tmp_path / "case.json"
    done = invoke("refute", f"{tmp_path / 'mine.py'}:zero", "--engine", "fuzz", "--budget", "20", "--output", case)
    assert done.exit_code == 1, done.output
    again = invoke("replay", case, "--claim", f"{tmp_path / 'mine.py'}:zero")
    assert again.exit_code == 1
    assert "evaluated again with" in again.stdout
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "\n")
    changed = invoke("replay", case, "--claim", f"{tmp_path / 'mine.py'}:zero")
    assert "not the file that the counterexample was found on" in changed.stdout


def test_replay_runs_no_file_that_only_the_document_names(tmp_path, write):
    ran = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    done = invoke("replay", write(counterexample(f"{tmp_path / 'mine.py'}:zero", "1/4")))
    assert done.exit_code == 1
    assert "recorded one" in done.stdout
    assert not ran.exists()


@pytest.mark.parametrize("call", [("refute", "no_such_bound"), ("refute", MUTANT, "--engine", "guess")])
def test_refute_refuses_bad_input(call):
    done = invoke(*call)
    assert done.exit_code == 2
    assert "expected" in done.stderr


def test_mutants_prints_the_documented_layout(monkeypatch):
    chosen = {name: MUTANTS[name] for name in (MUTANT, "tv_mean_radius_in_tanh") if name in MUTANTS}
    monkeypatch.setattr("proofkv_verify.commands.search.MUTANTS", chosen)
    monkeypatch.setattr("proofkv_verify.commands.search.os.cpu_count", lambda: 1)
    done = invoke("mutants", "--engine", "fuzz", "--budget", "20", "--json", "-")
    document = json.loads(done.stdout)
    assert document["schema"] == "proofkv-verify/mutants/1"
    assert document["total"] == len(chosen)
    (row, *_) = document["mutants"]
    assert row["name"] == MUTANT
    assert row["bound"] == "softmax_tv_mean_upper"
    assert row["killed"] is True
    assert row["engines"]["fuzz"]["killed"] is True
    assert done.exit_code == (0 if document["killed"] == document["total"] else 3)
    assert MUTANT in done.stderr


@pytest.mark.parametrize(
    ("what", "names"),
    [
        (
            "schemes",
            ["identity", "int8", "int8_channel", "int8_block", "int4_kivi", "int2_kivi", "fp8_e4m3fn", "fp8_e5m2"],
        ),
        ("evictors", []),
        ("bounds", list(BOUNDS)),
        ("mutants", list(MUTANTS)),
        ("models", ["smollm2"]),
    ],
)
def test_list(what, names):
    done = invoke("list", what, "--json", "-")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)[what]
    assert set(names) <= {row["name"] for row in rows}
    assert all(name in done.stderr for name in names)


def test_list_says_that_there_are_no_evictors_yet():
    assert "no evictor is built in yet" in invoke("list", "evictors").stdout


def test_list_refuses_another_word():
    assert invoke("list", "colours").exit_code == 2


def test_trace_info_describes_the_embedded_trace():
    done = invoke("trace", "info", "--json", "-")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["num_kv_heads"] == 3
    assert "SmolLM2-135M" in done.stderr


def test_trace_info_refuses_another_file(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"")
    assert invoke("trace", "info", tmp_path / "x.safetensors").exit_code == 2


def test_trace_record_refuses_an_unknown_model(tmp_path):
    done = invoke("trace", "record", tmp_path / "x.safetensors", "--model", "gpt9")
    assert done.exit_code == 2
    assert "smollm2" in done.stderr
