"""An audit as a table on the terminal, and as one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from proofkv_verify.audit.result import ClaimResult, exit_code, summary, to_row
from proofkv_verify.verdict import Status

STYLES: Mapping[Status, str] = {
    Status.PROVED: "bold green",
    Status.REFUTED: "bold red",
    Status.SURVIVED: "cyan",
    Status.UNDECIDED: "bold yellow",
}
_SENTENCES = {
    0: "Nothing was refuted and nothing stayed undecided. Survived means searched without success: no proof.",
    1: "At least one claim is false. Its counterexample holds exact numbers and replays without this scheme.",
    3: "Nothing was refuted, but at least one claim stayed undecided.",
}


def table(target: str, results: Sequence[ClaimResult]) -> RenderableType:
    """The audit for a terminal: a row a claim, then on what each status rests, the counts and what they mean."""
    made = Table(title=f"Audit of {target}", title_justify="left", box=None, pad_edge=False)
    made.add_column("claim", no_wrap=True)
    made.add_column("status", no_wrap=True)
    for column in ("tightness", "cases", "seconds"):
        made.add_column(column, justify="right", no_wrap=True)
    for result in results:
        made.add_row(
            result.bound,
            Text(str(result.status), STYLES[result.status]),
            tightness_text(result.tightness),
            f"{result.cases:,}",
            f"{result.seconds:.1f}",
        )
    return Group(made, Text(), *_bases(results), Text(), counts_line(results), Text(_SENTENCES[exit_code(results)]))


def _bases(results: Sequence[ClaimResult]) -> list[Text]:
    """One line a basis, with the claims that share it; survivors last."""
    shared: dict[tuple[Status, str], list[str]] = {}
    for result in sorted(results, key=lambda r: r.status is Status.SURVIVED):
        shared.setdefault((result.status, result.basis), []).append(result.bound)
    lines = []
    for (status, basis), bounds in shared.items():
        line = Text(f"{status}: ", STYLES[status])
        line.append(f"{basis}: {', '.join(bounds)}" if len(bounds) > 1 else f"{bounds[0]}: {basis}", "default not bold")
        lines.append(line)
    return lines


def counts_line(results: Sequence[ClaimResult]) -> Text:
    """`2 proved, 1 refuted, 20 survived, 0 undecided`, coloured."""
    parts = [(f"{count} {status}", STYLES[Status(status)]) for status, count in summary(results).items()]
    line = Text()
    for i, (text, style) in enumerate(parts):
        line.append(", " if i else "").append(text, style)
    return line


def tightness_text(value: float | None) -> str:
    """Largest known true value over claimed value, in three digits; a dash where nothing was claimed."""
    return "-" if value is None else f"{value:.3g}"


def html(target: str, versions: Mapping[str, str], results: Sequence[ClaimResult], facts: Mapping[str, Any]) -> str:
    """The audit as one HTML page without scripts or outside files.

    Args:
        target: the scheme as it was asked for.
        versions: package versions.
        results: in the order of the plan.
        facts: settings worth printing (seed, trace, budget), by name.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((files("proofkv_verify.audit") / "report.html.j2").read_text("utf-8"))
    return template.render(
        target=target,
        versions=versions,
        facts=facts,
        summary=summary(results),
        sentence=_SENTENCES[exit_code(results)],
        rows=[_html_row(result) for result in results],
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _html_row(result: ClaimResult) -> dict[str, Any]:
    row = to_row(result)
    case = row["counterexample"]
    return {
        **row,
        "tightness_text": tightness_text(result.tightness),
        "bar": None if result.tightness is None else round(100 * min(1.0, result.tightness), 1),
        "case": None if case is None else json.dumps(case, indent=1, sort_keys=True),
    }
