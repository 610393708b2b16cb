"""The independent checker of a decoding step's certificate: everything again, from the codes, in balls.

It shares no code with the decoder and uses neither torch nor numpy. The certificate's radii are not believed: the
enclosure is derived again from the sidecars. What it cannot see is whether the sidecars tell the truth about the rows
behind them; with the full cache's rows at hand it checks that too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flint import arb

from proofkv_verify.ball import precision
from proofkv_verify.reference.adjoint import radius
from proofkv_verify.reference.ellipsoid import DivergedError
from proofkv_verify.reference.enclosure import Radii, enclose
from proofkv_verify.reference.matrix import form, matrix, total
from proofkv_verify.reference.model import LayerStep, Model, advance, scores
from proofkv_verify.reference.model_file import read_model
from proofkv_verify.reference.step_document import FULL, StepDocument, check_fits, read_full_rows, read_step
from proofkv_verify.reference.tensors import Array
from proofkv_verify.verdict import Inconclusive, Refuted, Verdict, Verified

BITS = 192
LARGEST = 6
_BOX_UP = 1 + 2.0**-30  # the box also holds a code whose quotient rounded up into the next cell
_PAGES = (
    "codes", "levels", "zero_keys", "zero_values", "width_keys", "width_values", "norms", "rows", "tail",
)  # fmt: skip


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


def check_step(path: Path, model_path: Path, full: Path | None = None, largest: int = LARGEST) -> StepReport:
    """Checks a certificate against the model file, and against the full cache's rows if a file of them is given.

    Args:
        path: the JSON document; its tensors lie beside it.
        model_path: the model file.
        full: a safetensors file with the full cache's `keys` and `values` `[L, G, T, D]`, or None; rows from the
            certificate's position on are not used.
        largest: models with more layers are run forward only and their radii taken on trust.

    Returns:
        Verified when the winner is shown above every other token for all rows that the sidecars allow; Refuted when
        something that the certificate states is false; Inconclusive otherwise.

    Raises:
        CertificateFormatError: no certificate of this version, one that was altered, or one that does not fit the
            model.
        InvalidInputError: a file is missing or not what it should be, or it is not the model of the certificate.
    """
    document = read_step(path)
    rows = None if full is None else read_full_rows(full, document)
    with precision(BITS):
        model = read_model(model_path, document.model_digest)
        sizes = model.sizes
        check_fits(document, sizes.layers, sizes.kv_heads, sizes.head_dim, model.head.nrows())
        return _check(document, model, rows, largest)


def _check(document: StepDocument, model: Model, full: Mapping[str, Any] | None, largest: int) -> StepReport:
    pages, winner = restore(document.tensors), document.winner
    derived: tuple[str, ...] = ("digests of document, tensors and model", "rows from codes and scales")
    trusted: tuple[str, ...] = ("the rows are those of the prefix",)
    if full is None:
        trusted = (*trusted, "the sidecars bound the rows behind them")
    else:
        derived = (*derived, "sidecars against the full rows")
        if not isinstance(found := _sidecars(pages, full), Verified):
            return StepReport(found, derived, trusted)
    steps = advance(model, document.token, document.position, pages.keys, pages.values)
    derived = (*derived, "nominal scores")
    if not isinstance(stated := _gaps(model, steps, document.tensors["gaps"].values, winner), Verified):
        return StepReport(stated, derived, trusted)
    if model.sizes.layers > largest:
        reason = f"more than {largest} layers: the radii were not derived"
        return StepReport(Inconclusive(reason), derived, (*trusted, "the radii"))
    return StepReport(_decide(model, steps, pages, winner), (*derived, "ellipsoids and radii"), trusted)


def _gaps(model: Model, steps: list[LayerStep], gaps: list[float], winner: int) -> Verdict:
    """The winner is the first of the nominal scores and no gap is stated larger than it is."""
    found = scores(model, steps[-1])
    for rival, gap in enumerate(gaps):
        true = found[winner] - found[rival]
        if rival == winner:
            continue
        if bool(true <= 0):
            return Refuted(f"token {winner} is not above token {rival} even at the nominal rows")
        if bool(arb(gap) > true):
            return Refuted(f"the gap to token {rival} is stated larger than it is")
        if not (bool(true > 0) and bool(arb(gap) <= true)):
            return Inconclusive(f"the gap to token {rival} cannot be decided at {BITS} bits")
    return Verified()


def _decide(model: Model, steps: list[LayerStep], pages: Pages, winner: int) -> Verdict:
    """Every rival is separated by the last ellipsoid or, where that is not enough, by its own pulled-back radius."""
    try:
        halves = enclose(model.layers, steps, pages.known)
    except DivergedError as error:
        return Inconclusive(str(error))
    found, rows = scores(model, steps[-1]), model.head.tolist()
    for rival in range(len(rows)):
        row = matrix([[a - b for a, b in zip(rows[winner], rows[rival], strict=True)]])
        gap = found[winner] - found[rival]
        if rival == winner or bool(gap > form(row, halves[-1].out)):
            continue
        if not bool(gap > radius(halves, row)):
            return Inconclusive(f"the radius derived here does not separate token {rival}")
    return Verified()


def restore(tensors: Mapping[str, Array]) -> Pages:
    """Rows and radii of all layers from a certificate's codes, scales, levels and norms, exactly."""
    nested = {name: tensors[name].nested() for name in _PAGES}
    _, layers, groups = tensors["codes"].shape[:3]
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
            if level == FULL:
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
        key_box += [[0.0 if level == FULL else w * 2.0 ** -(int(level) + 1) * _BOX_UP for w in width]] * len(norms)
        value_norm += nested["norms"][1][layer][group][page]
    exact = [[0.0] * len(row) for row in nested["tail"][0][layer][group]]
    return Radii(key_norm + [0.0] * size, key_box + exact, value_norm + [0.0] * size)


def _sidecars(pages: Pages, full: Mapping[str, Any]) -> Verdict:
    """Every row of the full cache lies in the set that its sidecar leaves."""
    for kind, rows in (("keys", pages.keys), ("values", pages.values)):
        for i, layer in enumerate(rows):
            for g, group in enumerate(layer):
                for t, (row, exact) in enumerate(zip(group, full[kind][i][g], strict=True)):
                    held = _held(pages.known[i][g], kind, t, [abs(a - arb(b)) for a, b in zip(row, exact, strict=True)])
                    name = f"row {t} of the {kind} of layer {i}, KV head {g}"
                    if any(bool(error > radius) for error, radius in held):
                        return Refuted(f"the sidecar of {name} does not bound its error")
                    if not all(bool(error <= radius) for error, radius in held):
                        return Inconclusive(f"the error of {name} cannot be compared with its sidecar at {BITS} bits")
    return Verified()


def _held(radii: Radii, kind: str, t: int, error: list[arb]) -> list[tuple[arb, arb]]:
    """Squared length and, for keys, each channel's size, with what the sidecar allows."""
    norm = (radii.key_norm if kind == "keys" else radii.value_norm)[t]
    length = (total([e * e for e in error]), arb(norm) ** 2)
    boxes = zip(error, map(arb, radii.key_box[t]), strict=True) if kind == "keys" else ()
    return [length, *boxes]
