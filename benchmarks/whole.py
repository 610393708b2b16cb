"""The search on all mutants, and the peak memory of an audit of int8 on the embedded trace."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from benchmarks.tables import Table, number
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.power import measure_power

MUTANT_GOAL_S = 120
MEMORY_GOAL_MB = 2048


def whole_table() -> Table:
    """Mutants killed and seconds in one process; peak resident memory of `audit int8`."""
    start = time.process_time()
    rows = measure_power(MUTANTS.values(), ("fuzz", "smt", "attack"), 2.0, 0)
    killed, seconds = sum(row.killed for row in rows), time.process_time() - start
    command = [sys.executable, "-m", "proofkv_verify.cli", "audit", "int8", "--budget", "30"]
    code = subprocess.run(command, check=False, capture_output=True).returncode
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Table(
        title="Search strength and memory",
        note="All engines on all mutants in one process, CPU seconds; peak resident memory of `audit int8 --budget 30` "
        f"(which ended {code}).",
        head=("what", "measured", "goal"),
        rows=(
            ("mutants killed", f"{killed} of {len(rows)}", "all"),
            ("CPU seconds", number(seconds), f"<= {MUTANT_GOAL_S}"),
            ("audit, peak MB", number(memory), f"<= {MEMORY_GOAL_MB}"),
        ),
    )
