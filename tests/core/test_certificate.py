import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.certificate import (
    Certificate,
    Counterexample,
    Interval,
    digest,
    from_json,
    to_json,
)
from proofkv_verify.errors import CertificateFormatError
from proofkv_verify.kinds import Instance

INSTANCE = Instance(
    "softmax_tv",
    {"weights": (Fraction(1), Fraction(1, 3)), "ratios": (Fraction(5, 8), Fraction(2))},
    {"pages": [[0], [1]], "sum_to_one": False},
)
CERTIFICATE = Certificate("softmax_tv_mean_upper", INSTANCE, Fraction(1, 2), "a test")
COUNTEREXAMPLE = Counterexample(
    claim="wrong",
    instance=INSTANCE,
    claimed=Interval(Fraction(0), Fraction(1, 4)),
    truth=Interval(Fraction(1, 3), None),
    engine="hand",
    seed=7,
    versions={"python": "3.11"},
    note="for the reader",
)


def altered(document: Certificate | Counterexample, **changes: Any) -> str:
    """The document's JSON with top-level fields replaced (or dropped: None) and the digest made right again."""
    body = {**json.loads(to_json(document)), **changes}
    body = {name: value for name, value in body.items() if value is not ...}
    return json.dumps({**body, "digest": digest(body)})


@pytest.mark.parametrize("document", [CERTIFICATE, COUNTEREXAMPLE])
def test_json_round_trip_is_the_identity(document: Certificate | Counterexample) -> None:
    assert from_json(to_json(document)) == document


@pytest.mark.parametrize("special", ["nan", "inf", "-inf"])
def test_special_claimed_values_survive_as_text(special: Any) -> None:
    document = Certificate("b", INSTANCE, special)
    assert from_json(to_json(document)) == document


@given(st.fractions())
def test_every_rational_survives(value: Fraction) -> None:
    document = Certificate("b", INSTANCE, value)
    assert from_json(to_json(document)) == document


def test_a_changed_number_is_noticed_by_the_digest() -> None:
    text = to_json(CERTIFICATE).replace('"1/3"', '"1/4"')
    with pytest.raises(CertificateFormatError, match="digest"):
        from_json(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{", "document"),
        ("[" * 100_000, "document"),
        ("[]", "document"),
        ('{"schema": "other/1"}', "schema"),
        (altered(CERTIFICATE, surprise=1), "surprise"),
        (altered(CERTIFICATE, producer=...), "producer"),
        (altered(CERTIFICATE, claimed=0.5), "claimed"),
        (altered(CERTIFICATE, claimed="0.5"), "claimed"),
        (altered(CERTIFICATE, fields={"weights": ["1", 2]}), "weights"),
        (altered(CERTIFICATE, fields=[]), "fields"),
        (altered(CERTIFICATE, params={"pages": [[0.5]]}), "pages"),
        (altered(CERTIFICATE, bound=3), "bound"),
        (altered(COUNTEREXAMPLE, seed="7"), "seed"),
        (altered(COUNTEREXAMPLE, seed=True), "seed"),
        (altered(COUNTEREXAMPLE, truth={"lower": "1"}), "upper"),
        (altered(COUNTEREXAMPLE, versions={"python": 3}), "python"),
    ],
)
def test_a_malformed_document_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(CertificateFormatError) as raised:
        from_json(text)
    assert raised.value.name == name
