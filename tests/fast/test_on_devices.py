"""The batteries on the CPU in bfloat16, and on CUDA in every dtype where there is a GPU."""

import pytest
import torch

from tests.fast.device_battery import DTYPES, batteries, exponentials

NO_CUDA = not torch.cuda.is_available()
cuda = (pytest.mark.gpu, pytest.mark.skipif(NO_CUDA, reason="no CUDA device"))


@pytest.mark.parametrize(
    ("device", "dtype"),
    [
        ("cpu", torch.bfloat16),
        *(pytest.param("cuda", dtype, marks=cuda) for dtype in DTYPES),
    ],
    ids=lambda value: str(value).removeprefix("torch."),
)
def test_no_battery_finds_a_violation(device, dtype):
    for outcome in batteries(device, dtype, random=2):
        assert outcome.cases > 0, outcome
        assert outcome.violations == 0, outcome


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=cuda)])
def test_exponentials_are_as_accurate_as_assumed(device):
    for outcome in exponentials(device):
        assert outcome.violations == 0, outcome
