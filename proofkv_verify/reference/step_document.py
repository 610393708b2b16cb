"""A stored certificate of a decoding step as it is read: fields, tensors and sizes, each checked before it is used.

Digests show that a file is the one that was written, not that it is true: whoever alters a certificate can compute them
again. So every number is held to its form here, and what it says is derived again by `step_check`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofkv_verify.errors import CertificateFormatError, InvalidInputError
from proofkv_verify.reference.tensors import Array, read_tensors

SCHEMA = "proofkv-verify/decode-step/1"
FULL = 16
_COUNTS = {"token": 0, "position": 0, "winner": 0, "page_size": 1}
_DIGESTS = ("model_digest", "tensors", "digest")
_NOT_NEGATIVE = ("width_keys", "width_values", "norms", "radii")


@dataclass(frozen=True, slots=True)
class StepDocument:
    """What a certificate says.

    Attributes:
        model_digest: SHA-256 of the model file that it is about.
        token: id that was fed; position: of it, the number of rows before it; winner: id that is claimed to follow.
        sizes: layers, KV heads, pages, rows of a page and channels.
        tensors: codes, levels, scales, norms, rows, tail, gaps and radii by name.
    """

    model_digest: str
    token: int
    position: int
    winner: int
    sizes: tuple[int, int, int, int, int]
    tensors: Mapping[str, Array]


def is_step(text: str) -> bool:
    """Whether a text is a document of this schema, in whatever state."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def read_step(path: Path) -> StepDocument:
    """Reads a certificate and the tensors beside it.

    Raises:
        CertificateFormatError: no certificate of this version, one that was altered, or numbers that are none.
        InvalidInputError: the tensors beside it are missing or no safetensors file.
    """
    document = _document(path)
    file = read_tensors(path.with_suffix(".safetensors"))
    if file.digest != document["tensors"]:
        raise CertificateFormatError(str(path), "the tensors that it was written with", "others")
    for name, least in _COUNTS.items():
        if type(document[name]) is not int or document[name] < least:
            raise CertificateFormatError(f"field {name}", f"an integer of at least {least}", repr(document[name]))
    sizes = _check_shapes(file.tensors, document)
    _check_numbers(file.tensors)
    token, position, winner = (document[name] for name in ("token", "position", "winner"))
    return StepDocument(str(document["model_digest"]), token, position, winner, sizes, file.tensors)


def _document(path: Path) -> dict[str, Any]:
    try:
        document: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CertificateFormatError(str(path), "a JSON document", repr(error)) from error
    found = document.get("schema") if isinstance(document, dict) else type(document).__name__
    if found != SCHEMA:
        raise CertificateFormatError(str(path), f"schema {SCHEMA}", found)
    if missing := [name for name in (*_COUNTS, *_DIGESTS) if name not in document]:
        raise CertificateFormatError(str(path), f"a field {missing[0]}", "none")
    body = {k: v for k, v in document.items() if k != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(text.encode()).hexdigest() != document["digest"]:
        raise CertificateFormatError(str(path), "the digest of its own text", "another")
    return dict(document)


def _check_shapes(tensors: Mapping[str, Array], document: Mapping[str, Any]) -> tuple[int, int, int, int, int]:
    """All tensors are there and fit each other and the position."""
    codes, gaps = _shape(tensors, "codes", 6), _shape(tensors, "gaps", 1)
    _, layers, heads, pages, size, channels = codes
    page = (layers, heads, pages)
    wanted = {
        "codes": (2, *page, document["page_size"], channels), "rows": codes, "levels": (2, *page),
        "zero_keys": (*page, 1, channels), "width_keys": (*page, 1, channels),
        "zero_values": (*page, size, 1), "width_values": (*page, size, 1),
        "norms": (2, *page, size), "tail": (2, layers, heads, document["position"] - pages * size, channels),
        "radii": gaps,
    }  # fmt: skip
    for name, shape in wanted.items():
        if _shape(tensors, name, len(shape)) != shape:
            raise CertificateFormatError(f"tensor {name}", f"shape {list(shape)}", list(tensors[name].shape))
    return layers, heads, pages, size, channels


def _shape(tensors: Mapping[str, Array], name: str, rank: int) -> tuple[int, ...]:
    if name not in tensors:
        raise CertificateFormatError("tensors", f"a tensor {name}", "none")
    if len(tensors[name].shape) != rank:
        raise CertificateFormatError(f"tensor {name}", f"{rank} dimensions", len(tensors[name].shape))
    return tensors[name].shape


def _check_numbers(tensors: Mapping[str, Array]) -> None:
    """No NaN; no infinity but in the radii, which are not used; radii and widths not negative; levels 1 to 16.

    A negative norm would shrink the set, and its square would still bound the square of an error.
    """
    for name, found in tensors.items():
        if name != "radii" and not all(map(math.isfinite, found.values)):
            raise CertificateFormatError(f"tensor {name}", "finite numbers", "a NaN or an infinity")
        if name in _NOT_NEGATIVE and not all(value >= 0 for value in found.values):
            raise CertificateFormatError(f"tensor {name}", "numbers of at least 0", "a negative one or a NaN")
    if not all(value == int(value) and 1 <= value <= FULL for value in tensors["levels"].values):
        raise CertificateFormatError("tensor levels", f"integers from 1 to {FULL}", "another")


def check_fits(found: StepDocument, layers: int, heads: int, channels: int, vocabulary: int) -> None:
    """The certificate has the sizes of the model.

    Raises:
        CertificateFormatError: it has others, or an id outside the vocabulary.
    """
    if (found.sizes[0], found.sizes[1], found.sizes[4]) != (layers, heads, channels):
        expected = f"{layers} layers, {heads} KV heads, {channels} channels, as the model has"
        raise CertificateFormatError("tensor codes", expected, list(found.tensors["codes"].shape))
    if not max(found.token, found.winner) < vocabulary or found.tensors["gaps"].shape != (vocabulary,):
        got = (found.token, found.winner, found.tensors["gaps"].shape[0])
        raise CertificateFormatError("token, winner and number of gaps", f"those of {vocabulary} ids", got)


def read_full_rows(path: Path, found: StepDocument) -> dict[str, Any]:
    """Keys and values of the full cache, the rows before the position `[layer][KV head][row][channel]`.

    Raises:
        InvalidInputError: a tensor is missing, has another shape or too few rows.
    """
    file = read_tensors(path)
    layers, heads, _, _, channels = found.sizes
    rows = {}
    for name in ("keys", "values"):
        shape = file.tensors[name].shape if name in file.tensors else ()
        if len(shape) != 4 or shape[:2] != (layers, heads) or shape[2] < found.position or shape[3] != channels:
            wanted = f"{name} of shape [{layers}, {heads}, {found.position} or more, {channels}]"
            raise InvalidInputError(str(path), wanted, list(shape) or "none")
        if not all(map(math.isfinite, file.tensors[name].values)):
            raise InvalidInputError(f"{path}: {name}", "finite numbers", "a NaN or an infinity")
        rows[name] = [[head[: found.position] for head in layer] for layer in file.tensors[name].nested()]
    return rows
