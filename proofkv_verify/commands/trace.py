"""`trace record` and `trace info`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from proofkv_verify.adapters.record import record_trace
from proofkv_verify.adapters.trace import default_trace_path, trace_info
from proofkv_verify.commands.console import OK, errors, human, read_text, write_json


def record_command(
    output: Path,
    model: str,
    text: Path | None,
    layers: Sequence[int] | None,
    tokens: int,
    queries: int,
    dtype: str,
    seed: int | None,
) -> int:
    """Records a trace with a progress bar over layers."""
    words = None if text is None else read_text(text)
    source = "" if text is None else text.name
    columns = (TextColumn("recording"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors(), transient=True) as progress:
        task = progress.add_task("layers", total=None)
        record_trace(
            model,
            output,
            words,
            layers=layers,
            tokens=tokens,
            queries=queries,
            dtype=dtype,
            seed=seed,
            source=source,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    human(None).print(f"wrote {output}", markup=False, highlight=False, soft_wrap=True)
    return OK


def info_command(trace: str, json_path: str | None) -> int:
    """Prints what a trace holds."""
    facts = trace_info(trace or default_trace_path())
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        table.add_row(name, Text(str(value)))
    human(json_path).print(table)
    write_json(json_path, facts)
    return OK
