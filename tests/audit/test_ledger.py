"""The ledger keeps every finished claim, once, through a kill."""

import json

import pytest

from proofkv_verify.audit.ledger import FILE_NAME, SCHEMA, create_ledger, open_ledger
from proofkv_verify.audit.result import ClaimResult
from proofkv_verify.errors import CertificateFormatError, InvalidInputError
from proofkv_verify.verdict import Status

SETTINGS = {"target": "int8", "seed": 0}


def result(bound="finite", status=Status.SURVIVED):
    return ClaimResult(bound, status, "why", 3, 0.5, 0.25)


def test_what_is_recorded_comes_back(tmp_path):
    ledger = create_ledger(tmp_path / "run", SETTINGS)
    ledger.record(result("finite"))
    ledger.record(result("local"))
    again = open_ledger(tmp_path / "run")
    assert again.settings == SETTINGS
    assert again.results == {"finite": result("finite"), "local": result("local")}


def test_a_line_cut_by_a_kill_is_dropped_and_the_rest_kept(tmp_path):
    ledger = create_ledger(tmp_path, SETTINGS)
    ledger.record(result("finite"))
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + b'{"bound": "local", "sta')
    again = open_ledger(tmp_path)
    assert list(again.results) == ["finite"]
    assert ledger.path.read_bytes() == whole
    again.record(result("local"))
    assert list(open_ledger(tmp_path).results) == ["finite", "local"]


def test_a_claim_is_recorded_once(tmp_path):
    ledger = create_ledger(tmp_path, SETTINGS)
    ledger.record(result())
    with pytest.raises(InvalidInputError, match="not in the ledger"):
        ledger.record(result())
    ledger.path.write_text(ledger.path.read_text() + ledger.path.read_text().splitlines()[1] + "\n")
    with pytest.raises(CertificateFormatError, match="each claim once"):
        open_ledger(tmp_path)


def test_a_new_run_does_not_write_over_a_ledger(tmp_path):
    create_ledger(tmp_path, SETTINGS)
    with pytest.raises(InvalidInputError, match="without a ledger"):
        create_ledger(tmp_path, SETTINGS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"schema": "proofkv-verify/ledger/9"}\n',
        f'{{"schema": "{SCHEMA}"}}\nnot json\n',
        f'{{"schema": "{SCHEMA}"}}\n[1]\n',
        f'{{"schema": "{SCHEMA}"}}\n{{"bound": "finite"}}\n',
    ],
)
def test_a_damaged_ledger_is_refused(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(CertificateFormatError):
        open_ledger(tmp_path)


def test_an_unknown_status_is_refused(tmp_path):
    ledger = create_ledger(tmp_path, SETTINGS)
    ledger.record(result())
    lines = ledger.path.read_text().splitlines()
    row = {**json.loads(lines[1]), "status": "sound"}
    ledger.path.write_text(lines[0] + "\n" + json.dumps(row) + "\n")
    with pytest.raises(CertificateFormatError, match="status"):
        open_ledger(tmp_path)


def test_no_ledger_is_one_clear_error(tmp_path):
    with pytest.raises(InvalidInputError, match="ledger"):
        open_ledger(tmp_path)


def test_a_directory_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="can be written"):
        create_ledger(tmp_path / "file" / "run", SETTINGS)
