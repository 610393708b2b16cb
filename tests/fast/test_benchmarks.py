"""The benchmark scripts run on small sizes; the GPU check says so where there is no GPU."""

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.attention import certificate_table
from benchmarks.tables import Table
from benchmarks.timing import cpu_seconds


def test_gpu_check_without_a_gpu_exits_with_two_and_one_line(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert gpu_check.main() == 2
    assert capsys.readouterr().err == "no CUDA device: nothing was checked\n"


def test_certificate_table_has_a_row_for_each_length_and_query_count():
    def once(tasks):
        return {name: 1.0 if task() is not None else 0.0 for name, task in tasks.items()}

    table = certificate_table((64, 96), timer=once)
    assert [row[:2] for row in table.rows] == [["16", "64"], ["16", "96"], ["64", "64"], ["64", "96"]]
    assert {row[4] for row in table.rows} == {"1"}


def test_cpu_seconds_orders_a_long_task_after_a_short_one():
    x = torch.randn(200, 200)
    found = cpu_seconds({"short": lambda: x + x, "long": lambda: [x @ x for _ in range(40)]}, rounds=2, least=0.002)
    assert 0 < found["short"] < found["long"]


def test_tables_are_markdown():
    assert Table("T", "n", ["a", "b"], [["1", "22"]]).markdown() == "## T\n\nn\n\n| a | b  |\n| - | -- |\n| 1 | 22 |\n"
