"""The independent checker of a decoding step's certificate: everything again, from the codes, in balls.

It shares no code with the decoder and uses neither torch nor numpy. The certificate's radii are not believed: the
enclosure is derived again from the sidecars. What it cannot see is whether the sidecars tell the truth about the rows
behind them; with the full cache's rows at hand it checks that too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb

from proofkv_verify.ball import precision
from proofkv_verify.errors import CertificateFormatError
from proofkv_verify.reference.enclosure import DivergedError, Radii, enclose
from proofkv_verify.reference.matrix import form, matrix, total
from proofkv_verify.reference.model import LayerStep, Model, Sizes, advance, build, scores
from proofkv_verify.reference.tensors import Array, TensorFile, read_tensors
from proofkv_verify.verdict import Inconclusive, Refuted, Verdict, Verified

SCHEMA = "proofkv-verify/decode-step/1"
BITS = 192
_FULL = 16
_BOX_UP = 1 + 2.0**-30  # the box also holds a code whose quotient rounded up into the next cell
_FIELDS = ("model_digest", "token", "position", "winner", "page_size", "tensors", "digest")
_TENSORS = (
    "codes",
    "levels",
    "zero_keys",
    "zero_values",
    "width_keys",
    "width_values",
    "norms",
    "rows",
    "tail",
    "gaps",
    "radii",
)


@dataclass(frozen=True, slots=True)
class StepReport:
    """The verdict on one step with what was derived here and what was taken on trust."""

    verdict: Verdict
    derived: tuple[str, ...]
    trusted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """Restored rows and radii, `[layer][KV head]` of rows."""

    keys: list[list[Any]]
    values: list[list[Any]]
    known: list[list[Radii]]


def check_step(path: Path, model_path: Path, full: Path | None = None, largest: int = 6) -> StepReport:
    """Checks a certificate against the model file, and against the full cache's rows if a file of them is given.

    Args:
        path: the JSON document; its tensors lie beside it.
        model_path: the model file.
        full: a safetensors file with `keys` and `values` `[L, G, T, D]`, or None.
        largest: models with more layers are run forward only and their radii taken on trust.

    Raises:
        CertificateFormatError: no certificate of this version, a field missing, a digest that does not match.
    """
    document, tensors = _read(path)
    model_file = read_tensors(model_path)
    if model_file.digest != document["model_digest"]:
        return StepReport(Refuted("the certificate is about another model file"), ("digests",), ())
    with precision(BITS):
        return _check(document, tensors, model_file, full, largest)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        document = json.loads(path.read_text())
        body = {k: v for k, v in document.items() if k != "digest"}
    except (OSError, ValueError, AttributeError) as error:
        raise CertificateFormatError(str(path), "a JSON document", repr(error)) from error
    if document.get("schema") != SCHEMA:
        raise CertificateFormatError(str(path), f"schema {SCHEMA}", document.get("schema"))
    if missing := [name for name in _FIELDS if name not in document]:
        raise CertificateFormatError(str(path), f"a field {missing[0]}", "none")
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(text.encode()).hexdigest() != document["digest"]:
        raise CertificateFormatError(str(path), "the digest of its own text", "another")
    file = read_tensors(path.with_suffix(".safetensors"))
    if file.digest != document["tensors"]:
        raise CertificateFormatError(str(path), "the tensors that it was written with", "others")
    if missing := [name for name in _TENSORS if name not in file.tensors]:
        raise CertificateFormatError(str(path), f"a tensor {missing[0]}", "none")
    return document, file.tensors


def _check(
    document: Mapping[str, Any], tensors: Mapping[str, Array], model_file: TensorFile, full: Path | None, largest: int
) -> StepReport:
    config = json.loads(model_file.metadata["config"])
    sizes = Sizes(
        config["num_layers"], config["num_heads"], config["num_kv_heads"], config["head_dim"],
        Fraction(config["rope_theta"]), Fraction(config["rms_norm_eps"]),
    )  # fmt: skip
    model = build(sizes, {name: found.rows() for name, found in model_file.tensors.items()})
    pages = restore(tensors)
    derived = ["digests of document, tensors and model", "rows from codes and scales", "nominal scores"]
    trusted = ["the rows are those of the prefix"]
    if full is None:
        trusted.append("the sidecars bound the rows behind them")
    elif (fault := _contradiction(pages, read_tensors(full))) is not None:
        return StepReport(Refuted(fault), (*derived, "sidecars against the full rows"), tuple(trusted))
    else:
        derived.append("sidecars against the full rows")
    steps = advance(model, document["token"], document["position"], pages.keys, pages.values)
    if (fault := _false_gap(model, steps, tensors["gaps"].values, document["winner"])) is not None:
        return StepReport(Refuted(fault), tuple(derived), tuple(trusted))
    if sizes.layers > largest:
        trusted.append("the radii")
        return StepReport(
            Inconclusive(f"more than {largest} layers: radii not derived"), tuple(derived), tuple(trusted)
        )
    return StepReport(
        _decide(model, steps, pages, document["winner"]), (*derived, "ellipsoids and radii"), tuple(trusted)
    )


def _false_gap(model: Model, steps: list[LayerStep], gaps: list[float], winner: int) -> str | None:
    """A claimed gap that the nominal scores do not have, or a winner that is not theirs."""
    found = scores(model, steps[-1])
    for rival, gap in enumerate(gaps):
        if rival != winner and not bool(found[winner] > found[rival]):
            return f"token {winner} is not shown above token {rival} even at the nominal rows"
        if bool(arb(gap) > found[winner] - found[rival]):
            return f"the gap to token {rival} is claimed larger than it is"
    return None


def _decide(model: Model, steps: list[LayerStep], pages: Pages, winner: int) -> Verdict:
    try:
        p = enclose(model.layers, steps, pages.known)
    except DivergedError as error:
        return Inconclusive(str(error))
    found, rows = scores(model, steps[-1]), model.head.tolist()
    for rival in range(len(rows)):
        if rival == winner:
            continue
        row = matrix([[a - b for a, b in zip(rows[winner], rows[rival], strict=True)]])
        if not bool(found[winner] - found[rival] > form(row, p)):
            return Inconclusive(f"the radius derived here does not separate token {rival}")
    return Verified()


def restore(tensors: Mapping[str, Array]) -> Pages:
    """Rows and radii of all layers from a certificate's codes, scales, levels and norms, exactly."""
    nested = {name: tensors[name].nested() for name in _TENSORS}
    _, layers, groups, _, _, _ = tensors["codes"].shape
    rows = [[[_rows(nested, kind, i, g) for g in range(groups)] for i in range(layers)] for kind in (0, 1)]
    known = [[_radii(nested, i, g) for g in range(groups)] for i in range(layers)]
    return Pages(rows[0], rows[1], known)


def _rows(nested: Mapping[str, Any], kind: int, layer: int, group: int) -> list[list[arb]]:
    """zero + (code + 1/2) width / 2^level, or the row itself at level 16; then the exact rows after the pages."""
    found = []
    scale = ("keys", "values")[kind]
    for page, level in enumerate(nested["levels"][kind][layer][group]):
        zero, width = (nested[f"{name}_{scale}"][layer][group][page] for name in ("zero", "width"))
        for t, codes in enumerate(nested["codes"][kind][layer][group][page]):
            if level == _FULL:
                found.append([arb(x) for x in nested["rows"][kind][layer][group][page][t]])
                continue
            z, w = (zero[0], width[0]) if kind == 0 else (zero[t] * len(codes), width[t] * len(codes))
            found.append(
                [arb(a) + (arb(c) + arb(0.5)) * arb(b) / 2 ** int(level) for a, b, c in zip(z, w, codes, strict=True)]
            )
    return found + [[arb(x) for x in row] for row in nested["tail"][kind][layer][group]]


def _radii(nested: Mapping[str, Any], layer: int, group: int) -> Radii:
    key_norm: list[float] = []
    key_box: list[list[float]] = []
    value_norm: list[float] = []
    size = len(nested["tail"][0][layer][group])
    for page, level in enumerate(nested["levels"][0][layer][group]):
        norms = nested["norms"][0][layer][group][page]
        width = nested["width_keys"][layer][group][page][0]
        key_norm += norms
        key_box += [[0.0 if level == _FULL else w * 2.0 ** -(int(level) + 1) * _BOX_UP for w in width]] * len(norms)
        value_norm += nested["norms"][1][layer][group][page]
    channels = len(nested["tail"][0][layer][group][0]) if size else len(key_box[0])
    return Radii(key_norm + [0.0] * size, key_box + [[0.0] * channels] * size, value_norm + [0.0] * size)


def _contradiction(pages: Pages, full: TensorFile) -> str | None:
    """A row of the full cache that its sidecar does not allow."""
    for kind, rows in (("keys", pages.keys), ("values", pages.values)):
        truth = full.tensors[kind].nested()
        for i, layer in enumerate(rows):
            for g, group in enumerate(layer):
                radii = pages.known[i][g]
                norms = radii.key_norm if kind == "keys" else radii.value_norm
                for t, (row, exact) in enumerate(zip(group, truth[i][g], strict=True)):
                    error = [abs(a - arb(b)) for a, b in zip(row, exact, strict=True)]
                    boxed = kind == "values" or all(
                        bool(e <= arb(r)) for e, r in zip(error, radii.key_box[t], strict=True)
                    )
                    if not boxed or not bool(total([e * e for e in error]) <= arb(norms[t]) ** 2):
                        return (
                            f"the sidecar of row {t} of the {kind} of layer {i}, KV head {g} does not bound its error"
                        )
    return None
