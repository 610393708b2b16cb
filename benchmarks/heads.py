"""One attention head in rigorous arithmetic: the reference and the bulk evaluator against plain ball matrices."""

from __future__ import annotations

import flint
import numpy as np
from flint import arb, arb_mat

from benchmarks.tables import Table, number
from benchmarks.timing import cpu_seconds
from proofkv_verify.reference.head import head_output
from proofkv_verify.search import bulk

QUERIES, KEYS, WIDTH, BITS, SCALE = 64, 64, 32, 100, 0.17677669529663687
SCREENED = 64


def plain_head(queries: list[list[float]], keys: list[list[float]], values: list[list[float]]) -> list[list[arb]]:
    """Scores, softmax and output by `arb_mat` products and nothing else."""
    scores = arb_mat(queries) * arb_mat(keys).transpose() * arb(SCALE)
    weights = arb_mat(len(queries), len(keys), [s.exp() for s in scores.entries()])
    total, summed = weights * arb_mat([[1]] * len(keys)), weights * arb_mat(values)
    return [[summed[i, c] / total[i, 0] for c in range(len(values[0]))] for i in range(len(queries))]


def head_table() -> Table:
    """Reference and bulk evaluator on one head, as multiples of `plain_head`."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, WIDTH)) for n in (QUERIES, KEYS, KEYS))
    lists = [x.tolist() for x in (q, k, v)]
    with flint.ctx.workprec(BITS):
        seconds = cpu_seconds(
            {
                "plain arb_mat": lambda: plain_head(*lists),
                "reference/head.py": lambda: head_output(*lists, SCALE),
                "search/bulk.py": lambda: bulk.attention_output(q, k, v, SCALE),
            }
        )
    low, high = bulk.attention_output(q, k, v, SCALE)
    goals = {"plain arb_mat": "1", "reference/head.py": "<= 1.2", "search/bulk.py": "<= 0.1"}
    rows = [[n, number(s * 1e3), number(s / seconds["plain arb_mat"]), goals[n]] for n, s in seconds.items()]
    note = (
        f"{QUERIES} queries, {KEYS} keys, width {WIDTH}, {BITS} bits; scores, softmax and output. The bulk enclosures "
        f"are at most {number(float((high - low).max()))} wide."
    )
    return Table("One head in rigorous arithmetic", note, ["evaluation", "ms", "ratio", "goal"], rows)


def screening_table() -> Table:
    """Head-sized cases screened per second."""
    rng = np.random.default_rng(1)
    s = rng.standard_normal((SCREENED, QUERIES, KEYS)) * 3
    s_hat = s + rng.standard_normal(s.shape) * 0.01
    v = rng.standard_normal((SCREENED, KEYS, WIDTH))
    v_hat = v + rng.standard_normal(v.shape) * 0.01
    seconds = cpu_seconds(
        {
            "TV of every row": lambda: bulk.total_variation(s, s_hat),
            "L2 output error of every row": lambda: bulk.output_error_l2(s, s_hat, v, v_hat),
            "Linf output error of every row": lambda: bulk.output_error_linf(s, s_hat, v, v_hat),
        }
    )
    rows = [[name, number(SCREENED / t), number(SCREENED * QUERIES / t), ">= 2,000"] for name, t in seconds.items()]
    note = (
        f"A case is one head: {QUERIES} queries x {KEYS} keys (width {WIDTH} for outputs), exact and compressed logits "
        f"given, {SCREENED} cases a call. Rows are single queries."
    )
    head = ["screened quantity", "cases per second and core", "rows per second and core", "goal (cases)"]
    return Table("Screening by the bulk evaluator", note, head, rows)
