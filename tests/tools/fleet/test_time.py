"""Clocks of hosts and the order of runs: known to half a round trip, and put right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as some

from vgo_agent.tools.execution.expected import NEVER
from vgo_agent.tools.execution.outcomes import ITERATION
from vgo_agent.tools.execution.series import Series
from vgo_agent.tools.row import Row

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from vgo_agent.tools.fleet.asking import read_clock  # noqa: E402 - needs the extra
from vgo_agent.tools.fleet.engine import (  # noqa: E402
    Span,
    busy_s,
    in_order,  # noqa: E402
)
from vgo_agent.tools.fleet.host import First, Host  # noqa: E402

DELAYS = some.floats(0.0001, 2)


def a_host() -> Host:
    first = First(host="n1", boot="", kernel="", python="", versions={}, clock_s=0.0)
    return Host("n1", first, [], error_s=float("inf"))


@given(offset=some.floats(-1e4, 1e4), trips=some.lists(some.tuples(DELAYS, DELAYS), min_size=1, max_size=5))
def test_an_offset_is_known_to_half_of_the_quickest_round_trip(offset, trips):
    host, sent_s = a_host(), 1000.0
    for there_s, back_s in trips:
        read_clock(host, sent_s + there_s + offset, sent_s, sent_s + there_s + back_s)
    assert host.error_s == pytest.approx(min(map(sum, trips)) / 2)
    assert abs(host.offset_s - offset) <= host.error_s + 1e-6


@given(some.lists(some.tuples(some.floats(0, 100), some.integers(1, 3)), max_size=20))
def test_rows_are_put_in_order_of_time_and_samples_stay_with_their_run(runs):
    rows: list[Row] = [
        {"order": 0, "began_s": began_s, ITERATION: place, "run": number}
        for number, (began_s, samples) in enumerate(runs)
        for place in range(samples)
    ]
    log = SimpleNamespace(rows=list(rows), append=None)
    in_order(Series(cast(Any, SimpleNamespace(deadline=NEVER)), "c001", (), cast(Any, log), 0))
    assert [row["order"] for row in log.rows] == list(range(len(rows)))
    assert [row["began_s"] for row in log.rows] == sorted(row["began_s"] for row in rows)
    assert sum(row[ITERATION] == 0 for row in log.rows) == len(runs)
    for before, after in zip(log.rows, log.rows[1:], strict=False):
        assert after[ITERATION] == 0 or (after["run"], after[ITERATION]) == (before["run"], before[ITERATION] + 1)


SPANS = some.lists(some.tuples(some.integers(0, 50), some.integers(0, 9)), max_size=12)


@given(SPANS)
def test_hosts_that_work_at_once_are_busy_for_the_time_in_which_any_of_them_is(drawn):
    spans = [Span(begin, begin + length) for begin, length in drawn]
    seconds = {second for begin, length in drawn for second in range(begin, begin + length)}
    assert busy_s(spans) == len(seconds)
    assert busy_s(spans + spans) == busy_s(spans)
