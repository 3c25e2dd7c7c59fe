"""The pictures of a ledger hold whatever the runs are, and their bars are as long as the time that they show."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vgo_agent.agent.report.ledger import ledger_text, section
from vgo_agent.agent.report.ledger_bars import HEIGHT, WIDTH, ledger_bars
from vgo_agent.agent.report.ledger_figures import flame_picture, ledger_picture, timeline_picture
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.lanes import LanePiece, RunLanes, ThreadLane
from vgo_agent.layers.probes.opened import CpuSamples, OpenedPart, OpenedRun
from vgo_agent.layers.probes.region import FoundBy
from vgo_agent.tools.document import Command
from vgo_agent.tools.ledger.exports import (
    THREADS,
    TypicalRun,
    flame_frames,
    flame_stacks,
    folded,
    in_cells,
    trace_file,
    typical_runs,
)
from vgo_agent.tools.ledger.ledger import ledger_of_split
from vgo_agent.tools.ledger.shares import shares, slow_runs
from vgo_agent.tools.ledger.split import SplitRuns
from vgo_agent.tools.subject import Subject

from ...examples import examples


@settings(deadline=None, max_examples=examples(0.2))
@given(st.integers(0, 2**32), st.integers(10, 40), st.integers(1, 9))
def test_bars_are_as_long_as_the_time(seed, runs, states):
    chance = np.random.default_rng(seed)
    split = {name.value: chance.lognormal(0, 1, runs) for name in list(TimeState)[:states]}
    time = np.sum(list(split.values()), axis=0)
    split_of = SplitRuns(time, split, (), found_by=FoundBy.RUN, fits=True, left_out=0)
    divided = shares(time, split, seed=1)
    assume(divided is not None)
    assert divided is not None
    fast, slow = (line.split()[1] for line in ledger_text(split_of, divided).splitlines()[:2])
    rows, _ = slow_runs(time)
    assert abs(len(slow) - WIDTH) <= 1
    assert abs(len(fast) - WIDTH * time[~rows].mean() / time[rows].mean()) <= 1
    assert ledger_picture(split_of, divided).startswith("<svg role")


@settings(deadline=None, max_examples=examples(0.2))
@given(st.integers(0, 2**32), st.integers(2, 150), st.integers(1, 9))
def test_a_column_stands_for_each_run_or_for_as_many_neighbours(seed, runs, states):
    chance = np.random.default_rng(seed)
    parts = {f"state {place}": chance.lognormal(0, 1, runs) for place in range(min(states, 7))}
    times = np.sum(list(parts.values()), axis=0)
    lines = ledger_bars(parts, times > np.median(times)).splitlines()
    first = lines.index("") + 2
    strip = [line[6:].ljust(min(runs, WIDTH)) for line in lines[first : first + HEIGHT]]
    groups = np.array_split(times, min(runs, WIDTH))
    means = np.array([group.mean() for group in groups])
    heights = [sum(row[column] != " " for row in strip) for column in range(len(groups))]
    assert np.abs(heights - HEIGHT * means / means.max()).max() <= 0.5 + 1e-9
    assert len(lines) == first + HEIGHT + len(parts)


PIECES = st.lists(st.tuples(st.integers(1, 400), st.sampled_from(list(TimeState)), st.integers(-1, 3)), max_size=30)


@st.composite
def runs_with_lanes(draw):
    """Any pieces, one after the other, in any states."""
    number, lanes = draw(st.integers(1, 9)), []
    for _ in range(number + 1):
        at, pieces = 0, []
        for length, state, lane in draw(PIECES):
            pieces.append(LanePiece(at, at + length, state, "", min(lane, number - 1), 1))
            at += length
        lanes.append(tuple(pieces))
    ns = max((pieces[-1].end_ns for pieces in lanes if pieces), default=1)
    threads = tuple(ThreadLane(f"thread {place}", True, pieces) for place, pieces in enumerate(lanes[1:]))
    return TypicalRun("slow run 3", ns / 1e6, RunLanes(ns, lanes[0], threads))


@settings(deadline=None, max_examples=examples(0.2))
@given(runs_with_lanes(), runs_with_lanes(), st.integers(1, 50))
def test_a_timeline_is_drawn_of_any_two_runs_and_a_trace_of_them_loses_no_time(one, other, cells):
    assert RunLanes.read(one.lanes.text()) == one.lanes
    assert timeline_picture((one, other), {}).startswith("<svg role")
    events = json.loads(trace_file((one, other)))["traceEvents"]
    path = sum(event["dur"] for event in events if event["ph"] == "X" and event["tid"] == THREADS)
    assert abs(path - sum(piece.end_ns - piece.start_ns for piece in one.lanes.path) / 1e3) <= 1
    for piece in filter(None, in_cells(one.lanes.path, 0, one.lanes.ns, cells)):
        assert piece in one.lanes.path


def test_the_typical_run_of_a_class_is_nearest_to_its_median():
    time = np.array([10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 30.0, 31.0, 33.0, 39.0])
    lanes = tuple(RunLanes(round(1e6 * ms), (), (ThreadLane("a 1", True, ()),)).text() for ms in time.tolist())
    split = SplitRuns(
        time, {"user": time}, (), found_by=FoundBy.RUN, fits=True, left_out=0, lanes=lanes, order=tuple(range(11))
    )
    rows, _ = slow_runs(time)
    for one, name, times in zip(typical_runs(split), ("slow", "fast"), (time[rows], time[~rows]), strict=True):
        assert one.name == f"{name} run {time.tolist().index(one.ms)}" and one.lanes.ns == round(1e6 * one.ms)
        assert abs(one.ms - np.median(times)) == np.abs(times - np.median(times)).min()
    assert not typical_runs(replace(split, lanes=())) and not flame_picture(flame_stacks(split))


def test_a_flame_graph_is_as_wide_as_the_slow_run():
    def run(ms):
        parts = (
            OpenedPart(TimeState.SLEEP, TimeState.SOCKET, "b: nanosleep", "a waits in recvfrom; for b", ms - 4, 1, ()),
            OpenedPart(TimeState.ON_CPU, TimeState.ON_CPU, "a", "", 4.0, 1, ()),
        )
        return OpenedRun(
            parts, (CpuSamples("a", "", "user", "f", 3), CpuSamples("a", "", "system", "read", 1)), {}, 0, 0
        )

    time = np.array([5.0] * 8 + [9.0] * 8)
    split = SplitRuns(
        time, {"sleep": time}, tuple(map(run, time.tolist())), found_by=FoundBy.RUN, fits=True, left_out=0
    )
    stacks = flame_stacks(split)
    assert [frame.slow_ms for frame in flame_frames(stacks) if not frame.depth] == [5.0, 3.0, 1.0]
    lines = folded(stacks).splitlines()
    assert "on a CPU, in the program;a;f 3.000 3.000" in lines
    assert "waiting for a socket;a waits in recvfrom, for b;asleep by a timer;b: nanosleep 1.000 5.000" in lines
    assert "+4" in flame_picture(stacks)


@pytest.mark.parametrize(
    ("function", "library"), [("work", "/opt/prog"), ("_PyEval_Vector", "/lib/libpython3.11.so.1")]
)
def test_the_line_that_counts_calls_of_a_function_is_given_but_of_an_interpreter(function, library):
    time = np.array([60.0] * 8 + [95.0] * 8) + np.arange(16) / 10
    samples = [(CpuSamples("a", "", "user", f"{function} in {Path(library).name}", int(ms)),) for ms in time]
    opened = tuple(
        OpenedRun(
            (OpenedPart(TimeState.ON_CPU, TimeState.ON_CPU, "a", "", ms, 1, ()),), one, {}, 0, 0, files=(library,)
        )
        for ms, one in zip(time.tolist(), samples, strict=True)
    )
    split = SplitRuns(time, {"user": time}, opened, found_by=FoundBy.RUN, fits=True, left_out=0)
    subject = Subject(command=("./a", "x y"), argv=("/a",), directory="/", metric="t: (.*)", unit="ms")
    (shown,) = section(ledger_of_split("stacks", split, 1), subject=subject)
    lines = [block.text for block in shown.blocks if isinstance(block, Command)]
    counts = f"--layer calls:function={function},binary={library} --metric 't: (.*)' --unit ms -- ./a 'x y'"
    assert lines == ([] if "libpython" in library else [f"vgo-agent measure --ledger {counts}"])
