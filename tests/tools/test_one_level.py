"""Hosts are brought to one level by the conditions that tell it best."""

import numpy as np
import pytest

from vgo_agent.tools.hosts import host_levels, on_one_level
from vgo_agent.tools.row import Row


def rows_of(scatter, factors, runs=6, added=0.0) -> list[Row]:
    chance = np.random.default_rng(4)
    rows: list[Row] = []
    for condition, sd in scatter.items():
        for host, factor in factors.items():
            for _ in range(runs):
                outcome = factor * float(chance.normal(100, sd)) + added
                rows.append({"condition": condition, "outcome": outcome, "ok": 1, "host": host, "slot": 0})
    return rows


def test_a_condition_that_hardly_scatters_tells_the_level():
    rows = rows_of({"a": 30.0, "b": 0.1, "c": 30.0}, {"m1": 1.0, "m2": 3.0})
    levels = host_levels(rows)
    assert levels["m1"].factor / levels["m2"].factor == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("runs", [1, 6])
def test_equal_runs_and_single_ones_have_a_level(runs):
    levels = host_levels(rows_of({"a": 0.0, "b": 0.0}, {"m1": 1.0, "m2": 3.0}, runs))
    assert levels["m1"].factor / levels["m2"].factor == pytest.approx(3.0)


def test_outcomes_below_zero_are_moved_by_an_amount():
    rows = rows_of({"a": 1.0, "b": 5.0}, {"m1": 1.0}, added=-200.0) + [
        {**row, "host": "m2", "outcome": row["outcome"] - 50}
        for row in rows_of({"a": 1.0, "b": 5.0}, {"m1": 1.0}, added=-200.0)
    ]
    moved = on_one_level(rows)
    middles = {
        host: np.median([row["outcome"] for row in moved if row["host"] == host and row["condition"] == "a"])
        for host in ("m1", "m2")
    }
    assert middles["m1"] == pytest.approx(middles["m2"])


def test_runs_of_this_machine_stay_as_they_are():
    rows: list[Row] = [{"condition": "a", "outcome": 1.0, "ok": 1}, {"condition": "b", "outcome": 2.0, "ok": 1}]
    assert host_levels(rows) == {} and on_one_level(rows) == rows
