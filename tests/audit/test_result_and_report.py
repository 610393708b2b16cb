"""Exit codes, the JSON layout, the terminal table and the HTML page of an audit."""

from fractions import Fraction

import pytest
from rich.console import Console

from proofkv_verify.audit.claim import Setting
from proofkv_verify.audit.report import html, table
from proofkv_verify.audit.result import ClaimResult, exit_code, from_row, report_json, summary, to_row
from proofkv_verify.audit.witness import counterexample
from proofkv_verify.errors import CertificateFormatError
from proofkv_verify.verdict import Status
from tests.audit import toys


def refuted():
    setting = Setting(toys.good, "toy", "cpu", 0)
    fields = {"left": (Fraction(1),), "right": (Fraction(1, 2),)}
    found = counterexample(setting, "key_box_upper", "element_error", fields, Fraction(1, 4), "random", "1.0 < came")
    return ClaimResult("key_box_upper", Status.REFUTED, found.note, 1, 0.1, 2.0, found)


PROVED = ClaimResult("quantizer_step_upper", Status.PROVED, "exhausted", 10, 0.1)
SURVIVED = ClaimResult("finite", Status.SURVIVED, "no violation", 10, 0.1, 0.5)
UNDECIDED = ClaimResult("local", Status.UNDECIDED, "no case applies", 0, 0.1)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([PROVED, SURVIVED], 0),
        ([SURVIVED, UNDECIDED], 3),
        ([UNDECIDED, refuted()], 1),
        ([], 3),
    ],
)
def test_exit_codes(results, code):
    assert exit_code(results) == code


def test_the_json_layout_is_the_documented_one():
    document = report_json("int8", {"torch": "2"}, [PROVED, refuted(), SURVIVED])
    assert list(document) == ["schema", "target", "versions", "claims", "summary"]
    assert document["schema"] == "proofkv-verify/audit/1"
    names = ["bound", "status", "basis", "cases", "seconds", "tightness", "counterexample"]
    assert all(list(row) == names for row in document["claims"])
    assert document["summary"] == {"proved": 1, "refuted": 1, "survived": 1, "undecided": 0}
    assert document["claims"][1]["counterexample"]["schema"] == "proofkv-verify/counterexample/1"


@pytest.mark.parametrize("result", [PROVED, SURVIVED, UNDECIDED, refuted()])
def test_a_row_reads_back_as_it_was(result):
    assert from_row(to_row(result)) == result


def test_a_row_with_another_document_as_counterexample_is_refused():
    row = {**to_row(refuted()), "counterexample": {"schema": "proofkv-verify/audit/1"}}
    with pytest.raises(CertificateFormatError):
        from_row(row)


def test_the_table_names_every_claim_and_groups_equal_bases():
    other = ClaimResult("deterministic", Status.SURVIVED, "no violation", 10, 0.1)
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 (a sink)
    console.print(table("int8", [PROVED, SURVIVED, other, UNDECIDED, refuted()]))
    text = console.export_text()
    for bound in ("quantizer_step_upper", "finite", "deterministic", "local", "key_box_upper"):
        assert bound in text
    assert "survived: no violation: finite, deterministic" in text
    assert "1 proved, 1 refuted, 2 survived, 1 undecided" in text
    console.file.close()


def test_the_page_is_self_contained_and_escapes_what_it_shows():
    page = html("a<b>.py:scheme", {"torch": "2"}, [PROVED, refuted(), SURVIVED], {"seed": 0})
    assert "a&lt;b&gt;.py:scheme" in page
    assert "1.0 &lt; came" in page
    assert "<svg" in page
    assert "&#34;truth&#34;" in page
    for outside in ("<script", "http://", "https://", "<link", "@import"):
        assert outside not in page


def test_counts_are_zero_where_nothing_happened():
    assert summary([]) == {"proved": 0, "refuted": 0, "survived": 0, "undecided": 0}
