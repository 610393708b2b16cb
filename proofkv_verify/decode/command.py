"""`proofkv-verify decode`: text as it comes, a line a step on request, and what was read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from proofkv_verify.decode.decoder import CertifiedDecoder, Observer
from proofkv_verify.decode.defaults import DEFAULT_LADDER, DEFAULT_MODEL
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import ContradictionError, Decision
from proofkv_verify.decode.model import Model, load_model
from proofkv_verify.decode.opened import Opened
from proofkv_verify.decode.pages import parse_scheme
from proofkv_verify.decode.plot import margin_plot
from proofkv_verify.decode.policy import parse_policy
from proofkv_verify.decode.record import StepRecord, Summary, confirmed, summarise
from proofkv_verify.decode.step_certificate import save_certificate, save_rows, step_certificate
from proofkv_verify.decode.windows import window
from proofkv_verify.errors import InvalidInputError

REPORT_SCHEMA = "proofkv-verify/decode/1"
_PROMPT_BYTES, _WINDOW = 256, 42
_KEPT_SLACK = 3.0  # the checker's radii are up to three times as wide near the threshold


def run_decode(
    *,
    model: str = DEFAULT_MODEL,
    scheme: str = DEFAULT_LADDER,
    page_size: int = 16,
    policy: str = "exact",
    method: str = "ellipsoid",
    processors: Sequence[str] = (),
    prompt: str | None = None,
    prompt_file: Path | None = None,
    tokens: int = 64,
    keep_levels: bool = False,
    verify: bool = False,
    steps: bool = False,
    json_path: str | None = None,
    plot: Path | None = None,
    certificates: Path | None = None,
) -> int:
    """Decodes and prints.

    Args:
        model: name of a shipped model or a model file.
        scheme: ladder of bit widths such as 4:8:16.
        page_size: tokens of a page.
        policy: exact, joint or radius with an optional period.
        method: which enclosure decides.
        processors: logit processors of the engine, such as temperature:0.7; one that could change a token is refused.
        prompt: text to continue; a held-out window of 256 bytes without it and `prompt_file`.
        prompt_file: file with the text to continue.
        tokens: how many to emit.
        keep_levels: refined units stay refined.
        verify: run the full cache beside and compare every token.
        steps: a line a step.
        json_path: file for the report, "-" for standard output (text goes to standard error then).
        plot: file for an SVG of margin against radius.
        certificates: folder for the certificate of every step that was proved and for the full cache's rows, which its
            checker can do without; needs the `exact` policy.

    Returns:
        0 when every token was proved or read; 1 when the full cache contradicts a token or two enclosures do not meet.

    Raises:
        InvalidInputError: any of these is malformed.
    """
    out = sys.stderr if json_path == "-" else sys.stdout
    loaded = load_model(model)
    ids = _prompt(loaded, prompt, prompt_file)
    if tokens < 1:
        raise InvalidInputError("tokens", "at least 1", tokens)
    if plot is not None and plot.suffix != ".svg":
        raise InvalidInputError("plot", "a file name that ends in .svg, the one format that is written", plot.name)
    decoder = CertifiedDecoder(
        loaded, parse_scheme(scheme, page_size), policy, method=method, keep_levels=keep_levels, processors=processors,
        observe=None if certificates is None else _saver(loaded, certificates, policy),
        slack=1.0 if certificates is None else _KEPT_SLACK,
    )  # fmt: skip
    print(_header(loaded, scheme, page_size, policy, ids), file=out)
    try:
        records = _stream(decoder, ids, tokens, out, steps=steps)
    except ContradictionError as error:
        print(f"\nrefuted: {error}", file=sys.stderr)
        return 1
    mismatches = _compare(loaded, ids, records) if verify else None
    summary = summarise(records)
    _print_summary(summary, confirmed(records), mismatches, out)
    if certificates is not None:
        kept = summary.certified + summary.refined
        print(f"certificates of {kept} of {summary.steps} steps are in {certificates}", file=out)
    facts = {"model": loaded.name, "scheme": scheme, "page_size": page_size, "policy": policy, "method": method}
    if json_path is not None:
        given = [{"name": p.name, "value": p.value, "keeps_the_winner": p.reason} for p in decoder.processors]
        _write_json(json_path, {**facts, "processors": given, "prompt": ids}, records, summary, mismatches)
    if plot is not None:
        plot.write_text(margin_plot(records, f"{loaded.name}, {scheme}, {policy}: margin and radius by step"))
    return 1 if mismatches else 0


def _saver(model: Model, folder: Path, policy: str) -> Observer:
    """Writes each proved step's certificate as step-POSITION.json, and the full cache's rows as rows.safetensors."""
    if parse_policy(policy).kind != "exact":
        raise InvalidInputError("certificates", "the exact policy, whose rows are known", policy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError("certificates", "a folder that can be made", error) from None

    def save(opened: Opened, token: int, decision: Decision) -> None:
        if decision.outcome != "full":
            name = f"step-{opened.num_tokens}.json"
            save_certificate(step_certificate(model, opened, token, decision), folder / name)
            save_rows(opened, folder / "rows.safetensors")

    return save


def _prompt(model: Model, prompt: str | None, prompt_file: Path | None) -> list[int]:
    if prompt is not None and prompt_file is not None:
        raise InvalidInputError("prompt", "text or a file, not both", "both")
    if prompt_file is not None:
        try:
            return list(prompt_file.read_bytes())
        except OSError as error:
            raise InvalidInputError("prompt file", "a readable file", str(error)) from error
    return list(prompt.encode()) if prompt is not None else window(_WINDOW)[:_PROMPT_BYTES]


def _stream(
    decoder: CertifiedDecoder, ids: Sequence[int], tokens: int, out: TextIO, *, steps: bool
) -> list[StepRecord]:
    records = []
    for record in decoder.stream(ids, tokens):
        records.append(record)
        print(_line(record) if steps else _character(record.token), end="\n" if steps else "", file=out, flush=True)
    if not steps:
        print(file=out)
    return records


def _header(model: Model, scheme: str, page_size: int, policy: str, ids: Sequence[int]) -> str:
    end = "".join(map(_character, ids[-40:]))
    prompt = f"prompt of {len(ids)} tokens that ends in {end!r}"
    return f"{model.name}, bits {scheme}, pages of {page_size} tokens, policy {policy}; {prompt}"


def _character(token: int) -> str:
    return chr(token) if token in (9, 10) or 32 <= token < 127 else "\N{REPLACEMENT CHARACTER}"


def _line(r: StepRecord) -> str:
    read = (r.payload_bits + r.sidecar_bits) / max(r.elements, 1)
    return (
        f"{r.position:5d} {_character(r.token)!r:6} {r.outcome:9} margin {r.margin:9.4g} radius {r.radius:9.4g} "
        f"rounds {r.rounds:2d} units opened {r.units_opened:4d} bits/element {r.bits:6.2f} ({read:.2f} with sidecars)"
    )


def _compare(model: Model, ids: Sequence[int], records: Sequence[StepRecord]) -> int:
    """How many tokens differ from a full cache that decodes on its own."""
    full, token, different = FullCache.of_prompt(model, ids[:-1]), ids[-1], 0
    for record in records:
        token = full.step(token).token
        different += token != record.token
    return different


def _print_summary(s: Summary, known: int, mismatches: int | None, out: TextIO) -> None:
    rows = [
        ("tokens", f"{s.steps}"),
        ("certified without a further read", f"{s.certified} ({s.certified / max(s.steps, 1):.0%})"),
        ("certified after reading more", f"{s.refined}"),
        ("decided by reading everything", f"{s.full}"),
        ("decided by a full-cache pass", f"{s.anchored}"),
        ("drafted, then verified by a full-cache pass", f"{s.drafted}"),
        ("bits per page element at the decision, mean", f"{s.mean_bits:.2f}"),
        ("units raised per step, mean", f"{s.units_opened:.1f}"),
        ("bytes read to decide, with sidecars", f"{s.bytes_read:,.0f} of {s.full_bytes:,.0f} ({_share(s):.0%})"),
        ("bytes read by full-cache passes", _passes(s)),
        ("time of a step over a plain forward pass", f"{s.time_ratio:.0f}x"),
    ]
    rows.append(("sequence", _claim(s.steps, known)))
    if mismatches is not None:
        verdict = "equal to the full cache's" if not mismatches else f"{mismatches} tokens differ from the full cache's"
        rows.append(("compared with a full cache that ran beside it", f"{verdict}, {s.steps} compared"))
    width = max(len(name) for name, _ in rows)
    print(*(f"{name:<{width}}  {value}" for name, value in rows if value != "0"), sep="\n", file=out)


def _claim(steps: int, known: int) -> str:
    """What is claimed of the tokens; "exact" only where passes have compared the rows behind every one of them."""
    if known == steps:
        return "exact: every token and every row confirmed by a full-cache pass"
    return f"{known} tokens confirmed by a full-cache pass, the last {steps - known} proved over enclosed rows"


def _passes(s: Summary) -> str:
    return f"{s.anchor_bytes:,.0f} ({s.tokens_per_pass:.1f} tokens a pass)" if s.anchor_bytes else "0"


def _share(s: Summary) -> float:
    return s.bytes_read / s.full_bytes if s.full_bytes else 0.0


def _write_json(
    path: str, facts: dict[str, Any], records: Sequence[StepRecord], summary: Summary, mismatches: int | None
) -> None:
    body = {
        "schema": REPORT_SCHEMA, **facts, "tokens": [r.token for r in records], "steps": [_finite(asdict(r)) for r in
        records],
        "summary": _finite(asdict(summary)), "confirmed": confirmed(records), "mismatches": mismatches,
    }  # fmt: skip
    text = json.dumps(body, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: a radius that was not bounded becomes null."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
