"""The search has the power that it reports: mutants die, and the table says by whom."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.mutants.registry import MUTANTS
from proofkv_verify.search.driver import ENGINES
from proofkv_verify.search.power import measure_power, to_json


def test_every_mutant_is_killed_within_its_budget():
    seen = []
    # The budget is wide for a loaded machine; a kill takes a fraction of a second.
    rows = measure_power(MUTANTS.values(), ("fuzz",), 10.0, 0, lambda row, done, total: seen.append((done, total)))
    assert [row.name for row in rows if not row.killed] == []
    assert [row.name for row in rows] == list(MUTANTS)
    assert seen == [(k, len(MUTANTS)) for k in range(1, len(MUTANTS) + 1)]


def test_the_table_has_its_documented_layout():
    rows = measure_power([MUTANTS["tv_mean_without_condition"]], ENGINES, 10.0, 0)
    table = json.loads(json.dumps(to_json(rows, 1.5)))
    assert table["schema"] == "proofkv-verify/mutants/1"
    assert (table["killed"], table["total"], table["seconds"]) == (1, 1, 1.5)
    (row,) = table["mutants"]
    assert (row["name"], row["bound"], row["killed"]) == ("tv_mean_without_condition", "softmax_tv_mean_upper", True)
    assert set(row["engines"]) == set(ENGINES)
    for entry in row["engines"].values():
        assert entry["killed"] is True
        assert entry["seconds"] >= 0


def test_a_sound_bound_among_the_mutants_is_reported_alive():
    survivor = replace(BOUNDS["softmax_tv_odds_upper"], mutates="softmax_tv_odds_upper")
    (row,) = measure_power([survivor], ("fuzz",), 0.2, 0)
    assert not row.killed
    assert row.smallest is None
    assert to_json([row], 0.2)["killed"] == 0


def test_workers_give_the_rows_in_order():
    names = ["step_quarter", "argmax_not_strict", "tv_mean_of_tanh"]
    rows = measure_power([MUTANTS[name] for name in names], ("fuzz",), 5.0, 0, workers=2)
    assert [row.name for row in rows] == names
    assert all(row.killed for row in rows)


def test_unknown_engines_and_unregistered_mutants_in_workers_are_refused():
    with pytest.raises(InvalidInputError, match="engine"):
        measure_power([], ("magic",))
    with pytest.raises(InvalidInputError, match="registered"):
        measure_power([BOUNDS["softmax_tv_odds_upper"]], ("fuzz",), workers=2)
