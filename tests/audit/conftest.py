import pytest
import torch

from proofkv_verify.audit.claim import Setting, run_claim
from proofkv_verify.audit.data import adversarial_cases, random_cases, shape_for
from proofkv_verify.audit.plan import make_plan


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def judge(one_thread):
    """Runs one claim of a scheme's plan on few cases."""

    def run(scheme, bound, cases=None, budget=60.0):
        setting = Setting(scheme, "toy", "cpu", 0)
        shape = shape_for(scheme.declaration.residual_window, 16)
        plan = {claim.bound: claim for claim in make_plan(setting, shape)}
        chosen = random_cases(shape, 1, 3) if cases is None else cases
        return run_claim(plan[bound], setting, chosen, budget)

    return run


@pytest.fixture
def few_adversarial():
    return list(adversarial_cases(shape_for(0, 16)))
