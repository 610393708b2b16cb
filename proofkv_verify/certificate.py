"""Certificates and counterexamples as data: frozen dataclasses, versioned JSON, exact numbers as strings, a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from proofkv_verify.errors import CertificateFormatError, InvalidInputError
from proofkv_verify.kinds import Exact, Instance
from proofkv_verify.numerals import format_exact, parse_exact

CERTIFICATE_SCHEMA = "proofkv-verify/certificate/1"
COUNTEREXAMPLE_SCHEMA = "proofkv-verify/counterexample/1"
Special: TypeAlias = Literal["nan", "inf", "-inf"]
Claimed: TypeAlias = "Fraction | Special"
_SPECIALS = ("nan", "inf", "-inf")


@dataclass(frozen=True, slots=True)
class Interval:
    """Exact ends of an enclosure; an end that could not be bounded is absent."""

    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claimed number for one instance.

    With hidden fields present the claim is about this exact data; without them it is about every exact data that the
    known fields allow, and rests on the theorem named by `bound`.
    """

    bound: str
    instance: Instance
    claimed: Claimed
    producer: str = ""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Exact data on which a claim fails.

    Attributes:
        claim: name of the claim, or `file.py:object`.
        instance: known and hidden fields.
        claimed: enclosure of the claimed number as the finder evaluated it.
        truth: enclosure of the true quantity.
        engine: which engine found it; seed: with which seed.
        versions: package versions that took part.
        source: digest of the user file that holds the claim, or "".
        note: one sentence for the reader.
    """

    claim: str
    instance: Instance
    claimed: Interval
    truth: Interval
    engine: str
    seed: int
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    note: str = ""


def to_json(document: Certificate | Counterexample) -> str:
    """Canonical JSON text with a digest over everything else in it."""
    body = _certificate_body(document) if isinstance(document, Certificate) else _counterexample_body(document)
    return json.dumps({**body, "digest": digest(body)}, indent=1, sort_keys=True)


def digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of `body` without its digest."""
    text = json.dumps({k: v for k, v in body.items() if k != "digest"}, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def from_json(text: str) -> Certificate | Counterexample:
    """Reads a document of a known schema; refuses unknown or missing fields and a wrong digest.

    Raises:
        CertificateFormatError: not such a document; the message names the field.
    """
    body = _load(text)
    schema = body.get("schema")
    if schema not in (CERTIFICATE_SCHEMA, COUNTEREXAMPLE_SCHEMA):
        raise CertificateFormatError("schema", f"{CERTIFICATE_SCHEMA} or {COUNTEREXAMPLE_SCHEMA}", schema)
    if body.get("digest") != digest(body):
        raise CertificateFormatError("digest", digest(body), body.get("digest"))
    return _read_certificate(body) if schema == CERTIFICATE_SCHEMA else _read_counterexample(body)


def _load(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CertificateFormatError("document", "JSON", error) from None
    if not isinstance(body, dict):
        raise CertificateFormatError("document", "a JSON object", type(body).__name__)
    return body


def _certificate_body(document: Certificate) -> dict[str, Any]:
    claimed = document.claimed
    return {
        "schema": CERTIFICATE_SCHEMA,
        "bound": document.bound,
        **_instance_body(document.instance),
        "claimed": claimed if isinstance(claimed, str) else format_exact(claimed),
        "producer": document.producer,
    }


def _counterexample_body(document: Counterexample) -> dict[str, Any]:
    return {
        "schema": COUNTEREXAMPLE_SCHEMA,
        "claim": document.claim,
        **_instance_body(document.instance),
        "claimed": _interval_body(document.claimed),
        "truth": _interval_body(document.truth),
        "engine": document.engine,
        "seed": document.seed,
        "versions": dict(document.versions),
        "source": document.source,
        "note": document.note,
    }


def _instance_body(instance: Instance) -> dict[str, Any]:
    return {
        "kind": instance.kind,
        "fields": {name: _write_exact(value) for name, value in instance.fields.items()},
        "params": dict(instance.params),
    }


def _interval_body(interval: Interval) -> dict[str, str | None]:
    ends = {"lower": interval.lower, "upper": interval.upper}
    return {name: None if end is None else format_exact(end) for name, end in ends.items()}


def _write_exact(value: Exact) -> Any:
    return [_write_exact(entry) for entry in value] if isinstance(value, tuple) else format_exact(value)


def _read_certificate(body: dict[str, Any]) -> Certificate:
    _expect(body, {"schema", "bound", "kind", "fields", "params", "claimed", "producer", "digest"})
    claimed = body["claimed"]
    return Certificate(
        bound=_text(body, "bound"),
        instance=_read_instance(body),
        claimed=claimed if claimed in _SPECIALS else _number("claimed", claimed),
        producer=_text(body, "producer"),
    )


def _read_counterexample(body: dict[str, Any]) -> Counterexample:
    names = {"schema", "claim", "kind", "fields", "params", "claimed", "truth", "engine", "seed", "versions"}
    _expect(body, names | {"source", "note", "digest"})
    if type(body["seed"]) is not int:
        raise CertificateFormatError("seed", "an integer", body["seed"])
    versions = _mapping(body, "versions")
    return Counterexample(
        claim=_text(body, "claim"),
        instance=_read_instance(body),
        claimed=_read_interval(body, "claimed"),
        truth=_read_interval(body, "truth"),
        engine=_text(body, "engine"),
        seed=body["seed"],
        versions={name: _text(versions, name) for name in versions},
        source=_text(body, "source"),
        note=_text(body, "note"),
    )


def _expect(body: Mapping[str, Any], names: set[str]) -> None:
    for name in sorted(names ^ set(body)):
        expected, got = ("present", "nothing") if name in names else ("no such field", "an unknown field")
        raise CertificateFormatError(name, expected, got)


def _read_instance(body: dict[str, Any]) -> Instance:
    fields = {name: _read_exact(name, value) for name, value in _mapping(body, "fields").items()}
    params = _mapping(body, "params")
    for name, value in params.items():
        _check_param(name, value)
    return Instance(_text(body, "kind"), fields, params)


def _read_interval(body: dict[str, Any], name: str) -> Interval:
    ends = _mapping(body, name)
    _expect(ends, {"lower", "upper"})
    lower, upper = (None if ends[end] is None else _number(f"{name}.{end}", ends[end]) for end in ("lower", "upper"))
    return Interval(lower, upper)


def _read_exact(name: str, value: Any) -> Exact:
    if isinstance(value, list):
        return tuple(_read_exact(name, entry) for entry in value)
    return _number(name, value)


def _number(name: str, value: Any) -> Fraction:
    if not isinstance(value, str):
        raise CertificateFormatError(name, "an exact number as text", value)
    try:
        return parse_exact(value)
    except InvalidInputError as error:
        raise CertificateFormatError(name, error.expected, error.got) from None


def _check_param(name: str, value: Any) -> None:
    if isinstance(value, list):
        for entry in value:
            _check_param(name, entry)
    elif not isinstance(value, int | str):
        raise CertificateFormatError(name, "integers, booleans, text or lists of them", value)


def _mapping(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(body[name], dict):
        raise CertificateFormatError(name, "an object", body[name])
    return body[name]  # type: ignore[no-any-return]


def _text(body: Mapping[str, Any], name: str) -> str:
    if not isinstance(body[name], str):
        raise CertificateFormatError(name, "text", body[name])
    return body[name]  # type: ignore[no-any-return]
