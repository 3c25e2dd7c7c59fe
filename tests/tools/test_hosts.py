"""Hosts held against each other: the slow one is named with what only it shows, and chance names none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from vgo_agent.layers.loader import find_layer
from vgo_agent.tools.hosts import hosts_of
from vgo_agent.tools.row import Row

from .conftest import Draws
from .levels import most

LAYERS = {"cgroup": find_layer("cgroup")}


def rows_of(seed: int, slow: float = 1.0, hosts: int = 4, runs: int = 20, throttled: bool = True) -> list[Row]:
    chance = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(hosts):
        for _ in range(runs):
            wall_s = float(chance.gamma(40, 0.001)) * (slow if number == 0 else 1)
            cells = {"cgroup.throttled": 3.0 if number == 0 and slow > 1 and throttled else 0.0}
            made = {"outcome": wall_s, "wall_s": wall_s, "ok": 1, "host": f"h{number}", "slot": 0}
            rows.append({**made, "began_s": float(len(rows)), **cells})
    return rows


def found_in(rows: Sequence[Row], lower: bool = True):
    return hosts_of(rows, LAYERS, lower_is_better=lower, alpha=0.05)


def test_the_slow_host_is_named_with_what_only_it_shows():
    found = found_in(rows_of(1, slow=2.0))
    (slow,) = found.slow
    assert slow.host == "h0" and slow.ratio == pytest.approx(2.0, rel=0.1)
    assert [one.column for one in slow.telling] == ["cgroup.throttled"]
    assert "h0 is slow" in found.sentences[0] and "cgroup.throttled" in found.sentences[0]


def test_a_column_that_only_the_slow_host_counts_is_told_as_such():
    rows = [
        {name: cell for name, cell in row.items() if row["host"] == "h0" or not name.startswith("cgroup")}
        for row in rows_of(1, slow=2.0)
    ]
    (slow,) = found_in(rows).slow
    assert slow.telling[0].elsewhere is None
    assert "not counted elsewhere" in found_in(rows).sentences[0]


def test_equal_hosts_are_named_no_more_often_than_chance_allows(draws: Draws):
    count = draws(20, 100)
    assert sum(bool(found_in(rows_of(seed)).slow) for seed in range(count)) <= most(count, 0.05)


def test_a_host_among_few_that_is_not_far_from_how_they_differ_is_not_named():
    chance = np.random.default_rng(5)
    rows: list[Row] = []
    for host, level in (("a", 1.0), ("b", 1.08), ("c", 1.19)):
        walls = level * chance.normal(1, 0.01, 40)
        rows += [{"outcome": wall_s, "wall_s": wall_s, "ok": 1, "host": host, "slot": 0} for wall_s in walls.tolist()]
    found = found_in(rows)
    assert not found.slow and not found.drain  # all runs of c are slower, and hosts differ by nearly as much anyway
    assert found.shares.between > 0.8


def test_what_draining_the_slow_host_would_do_is_told_with_an_interval():
    found = found_in(rows_of(1, slow=2.0))
    (slow,) = found.slow
    assert slow.interval.low < 2.0 < slow.interval.high
    assert found.drained.sd_interval.high < 0.8 and found.drained.runs_left == 60
    assert (
        found.drain[0].startswith("Drain h0: without it the SD of all runs is 0.") and found.drain[0] in found.sentences
    )


@settings(deadline=None)
@given(seed=some.integers(0, 1000), factor=some.floats(0.01, 100), slow=some.sampled_from([1.0, 1.5, 3.0]))
def test_neither_the_unit_nor_the_order_of_runs_matters(seed, factor, slow):
    rows = rows_of(seed, slow)
    other = [{**row, "outcome": row["outcome"] * factor} for row in reversed(rows)]
    first, second = found_in(rows), found_in(other)
    assert [one.host for one in first.slow] == [one.host for one in second.slow]
    assert [one.telling for one in first.slow] == [one.telling for one in second.slow]


def test_where_higher_is_better_the_slow_host_has_less():
    rows = [{**row, "outcome": 1 / row["outcome"]} for row in rows_of(3, slow=2.0)]
    assert [one.host for one in found_in(rows, lower=False).slow] == ["h0"]
    assert not [one for one in found_in(rows_of(3, slow=2.0), lower=False).slow if one.host == "h0"]


def test_runs_of_this_machine_have_no_hosts():
    assert found_in([{"outcome": 1.0, "wall_s": 1.0, "ok": 1, "order": 0}]) is None
