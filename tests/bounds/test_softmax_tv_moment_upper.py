from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofkv_verify.bounds.softmax_tv_cell_upper import BOUND as CELL
from proofkv_verify.bounds.softmax_tv_moment_upper import BOUND
from proofkv_verify.kinds import Instance
from tests.bounds.tv_cases import GUARDS, assert_tight, changed, few, fractions_of, ratio_case, ratio_cases, value


@pytest.mark.parametrize(("case", "factor"), list(zip(GUARDS, ("11/10", "23/20", "23/20", "23/20"), strict=True)))
def test_softmax_tv_moment_upper_is_tight_on_fixed_cases(case: Instance, factor: str) -> None:
    assert_tight(BOUND, case, Fraction(factor))


@few
@given(ratio_cases(), st.sampled_from(["1/4", "1/2", "1", "3"]))
def test_softmax_tv_moment_upper_is_at_least_the_token_certificate_on_the_same_cells(case: Instance, mu: str) -> None:
    fixed = changed(case, cell_edges=(Fraction(0), Fraction(1, 2), Fraction(1)), cell_mu=(Fraction(mu),) * 2)
    assert (value(BOUND, fixed) >= value(CELL, fixed)).value is True


@few
@given(ratio_cases(), st.sampled_from(["1/4", "1/2", "1", "3"]))
def test_softmax_tv_moment_upper_with_a_bin_for_each_ratio_is_the_token_certificate(case: Instance, mu: str) -> None:
    ratios = sorted({Fraction(1), *fractions_of(case, "ratios")})
    cells = {"cell_edges": (Fraction(0), Fraction(1)), "cell_mu": (Fraction(mu),)}
    fixed = changed(case, bin_edges=tuple(ratios), **cells)
    assert value(BOUND, fixed).exact == value(CELL, fixed).exact


def test_softmax_tv_moment_upper_worked_number() -> None:
    # One bin [1, 3] with mass 1, sum p r = 2, sum p/r = 2/3; mu 1/2, one cell: the chord at s = 0 gives 1/4 and
    # psi(1) = 1/3, so the value is max(1/4, 2/3); the tokens' own sum gives the same end value.
    case = ratio_case([1, 1], [1, 3], bin_edges=[3], cell_edges=[0, 1], cell_mu=["1/2"])
    assert value(BOUND, case).exact == Fraction(2, 3)
