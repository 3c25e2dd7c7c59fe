"""One benchmark at a time on a host: two workers there never run at the same time, whoever started them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from unittest.mock import Mock

import pytest

from vgo_agent.tools.execution.series import OUTSIDE, Block
from vgo_agent.tools.experiment.conditions import AS_GIVEN
from vgo_agent.tools.fleet.engine import Fleet
from vgo_agent.tools.fleet.host import HostAnswer, Order
from vgo_agent.tools.fleet.host_process import alone
from vgo_agent.tools.fleet.station import Station
from vgo_agent.tools.subject import Subject

LIMIT_S = 60.0
ONE = Block(OUTSIDE, ("baseline",))
RUNS = 15
LOGGED = """#!/bin/sh
echo "begin" $(date +%s%N) >>{log}
sleep 0.01
echo "end" $(date +%s%N) >>{log}
"""


@pytest.fixture
def order(tmp_path: Path) -> Order:
    program = tmp_path / "program.sh"
    program.write_text(LOGGED.format(log=tmp_path / "log"))
    program.chmod(0o755)
    subject = Subject(command=(str(program),), argv=(str(program),), directory=str(tmp_path))
    return Order(act="run", subject=subject, series="c001", blocks=(ONE,) * RUNS, conditions={"baseline": AS_GIVEN})


def answered(station: Station, order: Order) -> HostAnswer:
    return HostAnswer.model_validate_json(station.deliver(order.model_dump_json(), LIMIT_S))


def test_two_workers_on_one_host_never_run_at_the_same_time(order, tmp_path):
    stations, at_once = (Station(), Station()), Barrier(2)

    def worker(station: Station) -> HostAnswer:
        answered(station, order.model_copy(update={"blocks": (ONE,)}))  # its process is there
        at_once.wait(LIMIT_S)
        return answered(station, order)

    try:
        with ThreadPoolExecutor(2) as both:
            answers = list(both.map(worker, stations))
    finally:
        for station in stations:
            station.stop()
    assert [(answer.error, len(answer.rows)) for answer in answers] == [("", RUNS)] * 2
    assert all(answer.spent_s > RUNS * 0.01 for answer in answers)
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert [what for what, _ in lines] == ["begin", "end"] * (2 * RUNS + 2)
    assert all(int(first) < int(second) for (_, first), (_, second) in pairwise(lines))


def test_a_worker_waits_for_its_turn_and_says_so_when_it_does_not_come(order):
    station = Station()
    try:
        with alone(LIMIT_S):
            refused = answered(station, order.model_copy(update={"patience_s": 0.2}))
        assert "Another vgo-agent measures on" in refused.error and not refused.rows
        assert len(answered(station, order).rows) == RUNS
    finally:
        station.stop()


def test_no_message_is_lost_while_its_host_may_still_wait_for_another_benchmark(order):
    fleet = Fleet(Mock(), {}, order)
    assert fleet.limit_s(1) > order.patience_s
