"""The inputs of an audit lie where they say they do."""

import pytest
import torch

from proofkv_verify.adapters.trace import default_trace_path, open_trace
from proofkv_verify.audit.data import DTYPES, PATTERNS, cases, seed_for, shape_for, trace_cases
from proofkv_verify.errors import InvalidInputError

SHAPE = shape_for(0, 16)


def test_every_input_is_finite_after_its_cast_and_has_live_queries():
    for case in cases(("adversarial", "random"), SHAPE, None, 0, 6):
        assert case.keys.dtype in DTYPES
        for tensor in (case.keys, case.values, case.queries):
            assert bool(tensor.isfinite().all()), case.name
        assert bool(case.mask.any(-1).all())
        assert case.queries.shape[1] > case.keys.shape[1] > 1


def test_trace_layers_come_between_adversarial_cases():
    trace = open_trace(default_trace_path())
    engines = [case.engine for case in cases(("adversarial", "trace", "random"), SHAPE, trace, 0, 2)]
    assert engines[:11] == ["adversarial", "trace", *["adversarial"] * 8, "trace"]
    assert engines[-2:] == ["random", "random"]
    assert engines.count("trace") == 6
    assert engines.count("adversarial") == len(PATTERNS) * len(DTYPES)


def test_every_pattern_comes_in_every_dtype():
    names = [case.name for case in cases(("adversarial",), SHAPE, None, 0, 0)]
    assert len(names) == len(set(names)) == len(PATTERNS) * len(DTYPES)


def test_the_patterns_reach_the_corners_they_name():
    shape = SHAPE
    for dtype in DTYPES:
        assert (
            float(PATTERNS["largest numbers"](shape, dtype).to(dtype).abs().max()) > 0.99e30 or dtype is torch.float16
        )
        tiny = PATTERNS["subnormal numbers"](shape, dtype).to(dtype)
        assert bool((tiny != 0).any())
        assert float(tiny.abs().max()) < torch.finfo(dtype).tiny
        assert len(PATTERNS["constant 100 but one"](shape, dtype).to(dtype).unique()) == 2


def test_equal_seeds_make_equal_inputs_and_other_seeds_others():
    first, second, other = ([c.keys for c in cases(("random",), SHAPE, None, s, 2)] for s in (3, 3, 4))
    assert all(bool((a == b).all()) for a, b in zip(first, second, strict=True))
    assert not bool((first[0] == other[0]).all())


def test_claims_have_their_own_seeds():
    assert seed_for(0, "finite") == seed_for(0, "finite")
    assert len({seed_for(s, n) for s in (0, 1) for n in ("finite", "local")}) == 4


def test_the_trace_gives_a_case_a_layer_with_a_causal_mask():
    trace = open_trace(default_trace_path())
    found = list(trace_cases(trace))
    assert len(found) == len(trace.meta.layer_ids)
    assert found[0].keys.shape == (1, 3, 512, 64)
    assert int(found[0].mask[0].sum()) == int(trace.query_positions[0]) + 1


def test_an_unknown_engine_is_refused():
    for engines in (("guess",), ()):
        with pytest.raises(InvalidInputError, match="engine"):
            next(cases(engines, SHAPE, None, 0, 1))


def test_a_residual_window_makes_longer_inputs():
    assert shape_for(128, 16).seq_len > 2 * 128
