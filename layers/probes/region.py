"""The part of a run that its metric measures, found by the time that the program printed, or by its own marks."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from ...knowledge.time_states import TimeState
from .sched_events import BEGIN, CPU_READING, END, LEFT, READING, WRITTEN, SchedTrace
from .timeline import ChargedTime, Timelines

NEAR_NS, NEAR = (5_000, 15_000, 50_000), 0.01
"""How far a pair of readings may be from the time that the program printed, tried in turn; last, if that is more,
this share of it. The sums of a ledger are held to the last ones."""
MARKS_NEAR_NS, MARKS_NEAR = 1_000_000, 0.02
"""The same of marks, which lie around the readings: beyond, they may be around a time on CPUs."""
MOST_BACK = 60
"""Readings before the last one that are tried as the end of the region."""
LEAVING_NS = 200_000
"""On CPUs, from the output to the end of a program that does nothing more after it."""
OTHER_LENGTHS, APART, BY_CHANCE = 8, 2.5, 0.1
"""A pair stands out where, of so many longer and as many shorter times, in steps of 2.5 distances or of 1 %, at most a
tenth have a pair that ends as late: what reads the clock all the time has one for nearly any time. One that is there by
chance passes in at most 5 % of the runs: p (1 - p)^15 (1 + 15 p) is no larger for any p."""


class FoundBy(StrEnum):
    """How the part of a run that its metric measures was found."""

    MARKS = "marks"
    CLOCK = "clock"
    OUTPUT = "write"
    CPU_CLOCK = "CPU clock"
    CPU_MARKS = "CPU time, marks"
    RUN = "run"
    UNREAD = "run: no reading"
    OFTEN = "run: too many readings"
    UNPAIRED = "run: no pair of readings"
    LONGER = "run: shorter than the metric says"


WHOLE = frozenset({FoundBy.RUN, FoundBy.UNREAD, FoundBy.OFTEN, FoundBy.UNPAIRED, FoundBy.LONGER})
"""It is the whole run: the metric measures no part, or it was not found, for a reason."""
BETWEEN_MARKS = frozenset({FoundBy.MARKS, FoundBy.CPU_MARKS})
"""It is as long as the marks are apart, not as the metric says."""
IN_CPU_TIME = frozenset({FoundBy.CPU_CLOCK, FoundBy.CPU_MARKS})
"""Only time on CPUs is split."""


class Region(NamedTuple):
    """Part of a run."""

    start: int
    end: int
    task: int
    """Whose time it is."""
    found_by: FoundBy
    cpu_of: frozenset[int] = frozenset()
    """Tasks whose time on CPUs is split in place of the time by the clock."""


def between_marks(trace: SchedTrace, timelines: Timelines, length_ns: float | None) -> Region | None:
    """From the last mark of a beginning before the last one of an end, to that; in the time of who ended it.

    If the time between them is not about what the program printed, but that of its process or of that task
    on CPUs is, this is what its metric measures. `length_ns` is None where it printed no time.
    """
    marks = [mark for mark in trace.marks if mark.task in timelines.tree]
    ended = next((mark for mark in reversed(marks) if mark.text == END), None)
    begun = next((mark for mark in reversed(marks) if ended and mark.text == BEGIN and mark < ended), None)
    if ended is None or begun is None:
        return None
    region = Region(begun.at, ended.at, ended.task, FoundBy.MARKS)
    if length_ns is None:
        return region
    near = max(MARKS_NEAR_NS, MARKS_NEAR * length_ns)
    if abs(region.end - region.start - length_ns) > near:
        for tasks in _cpu_scopes(timelines, ended.task):
            cpu_ns = cpu_time(timelines, tasks)
            if abs(cpu_ns(region.end) - cpu_ns(region.start) - length_ns) <= near:
                return region._replace(found_by=FoundBy.CPU_MARKS, cpu_of=tasks)
    return region


def between_readings(trace: SchedTrace, timelines: Timelines, length_ns: float) -> Region | None:
    """The last two readings by one task of the program that are as far apart as the time that it printed.

    Those after its last output say nothing of what was printed.
    """
    found, last = [], _last_output(trace, timelines)
    for task, every in readings(trace, timelines, READING).items():
        times = [at for at in every if last is None or at <= last[0]]
        if pair := _standing_out(times, length_ns):
            found.append(Region(times[pair[0]], times[pair[1]], task, FoundBy.CLOCK))
    return max(found, key=lambda region: region.end, default=None)


def between_cpu_readings(trace: SchedTrace, timelines: Timelines, length_ns: float) -> Region | None:
    """The last two readings of CPU time between which tasks were on CPUs as long as was printed.

    A process, else one with its children, else a thread.
    """
    by_task = readings(trace, timelines, CPU_READING)
    scopes = {task: _cpu_scopes(timelines, task) for task in by_task}
    for kind in range(3):
        found = []
        for tasks, task in {each[kind]: task for task, each in scopes.items()}.items():
            readers = scopes[task][0] if kind < 2 else tasks
            times, cpu_ns = sorted(at for one in readers for at in by_task.get(one, ())), cpu_time(timelines, tasks)
            if pair := _standing_out([cpu_ns(at) for at in times], length_ns):
                found.append(Region(times[pair[0]], times[pair[1]], task, FoundBy.CPU_CLOCK, tasks))
        if found:
            return max(found, key=lambda region: region.end)
    return None


def before_output(trace: SchedTrace, timelines: Timelines, length_ns: float, later_ns: float | None) -> Region | None:
    """As long before the last output of the program as it printed; `later_ns` lay between the region and the output.

    Where that is not known it is taken to be none. Not where a process leaves right after its output, which may
    have waited in a buffer until then, nor where CPU time is read, which may be what was printed.
    """
    last = _last_output(trace, timelines)
    if last is None:
        return None
    if later_ns is None:
        tasks = process_of(timelines, last[1])
        cpu_ns = cpu_time(timelines, tasks)
        left = next((at for at, task in reversed(trace.times[LEFT]) if task in tasks), last[0])
        if cpu_ns(left) - cpu_ns(last[0]) < LEAVING_NS or readings(trace, timelines, CPU_READING):
            return None
    end = round(last[0] - (later_ns or 0))
    return Region(round(end - length_ns), end, last[1], FoundBy.OUTPUT)


def _last_output(trace: SchedTrace, timelines: Timelines) -> tuple[int, int] | None:
    """When the program wrote to its output for the last time, and by which task."""
    return next(((at, task) for at, task in reversed(trace.times[WRITTEN]) if task in timelines.tree), None)


def later_by(trace: SchedTrace, timelines: Timelines, region: Region) -> float | None:
    """Nanoseconds from the end of a region to the last output after it."""
    return next(
        (at - region.end for at, task in reversed(trace.times[WRITTEN]) if task in timelines.tree and at >= region.end),
        None,
    )


def process_of(timelines: Timelines, task: int) -> frozenset[int]:
    """All tasks of the process that a task belongs to."""
    number = timelines.processes.get(task, task)
    return frozenset(one for one in timelines.tree if timelines.processes.get(one, one) == number)


def with_children(timelines: Timelines, tasks: frozenset[int]) -> frozenset[int]:
    """Add all that tasks started, and those in turn."""
    found = set(tasks)
    for fork in sorted(timelines.born.values(), key=lambda fork: fork.at):
        if fork.parent in found:
            found.add(fork.child)
    return frozenset(found)


def _cpu_scopes(timelines: Timelines, task: int) -> tuple[frozenset[int], ...]:
    """Whose CPU time a task can read: that of its process, also with its children, and its own."""
    process = process_of(timelines, task)
    return process, with_children(timelines, process), frozenset({task})


def cpu_time(timelines: Timelines, tasks: Iterable[int]) -> Callable[[int], int]:
    """Nanoseconds that tasks have been on CPUs, as a function of the time by the clock."""
    each = []
    for task in tasks:
        ran = [one for one in timelines.tasks.get(task, ()) if one.kind == "cpu"]
        each.append((ran, list(accumulate((one.end - one.start for one in ran), initial=0))))

    def until(at: int) -> int:
        spent = 0
        for ran, before in each:
            place = bisect.bisect_right(ran, at, key=lambda one: one.start) - 1
            spent += before[place] + min(at, ran[place].end) - ran[place].start if place >= 0 else 0
        return spent

    return until


def on_cpus(timelines: Timelines, region: Region) -> list[ChargedTime]:
    """What the tasks of a region in CPU time did there on CPUs, by time."""
    pieces = [
        ChargedTime(max(one.start, region.start), min(one.end, region.end), TimeState.ON_CPU, task, 0, one)
        for task in region.cpu_of
        for one in timelines.tasks.get(task, ())
        if one.kind == "cpu" and one.start < region.end and one.end > region.start
    ]
    return sorted(pieces, key=lambda piece: piece.start)


def readings(trace: SchedTrace, timelines: Timelines, kind: str) -> dict[int, list[int]]:
    """When each task of the program read a clock."""
    by_task: dict[int, list[int]] = defaultdict(list)
    for at, task in trace.times[kind]:
        if task in timelines.tree:
            by_task[task].append(at)
    return by_task


def _standing_out(times: Sequence[int], length_ns: float) -> tuple[int, int] | None:
    """Places of the last two readings that are as far apart; None where that may be by chance."""
    for near in sorted({*NEAR_NS, max(*NEAR_NS, NEAR * length_ns)}):
        if pair := _pair(times, length_ns, near):
            step = max(APART * near, NEAR * length_ns)
            others = [length_ns + place * step for place in range(-OTHER_LENGTHS, OTHER_LENGTHS + 1) if place]
            late = [(one := _pair(times, other, near)) and one[1] >= pair[1] for other in others if other > near]
            return pair if sum(map(bool, late)) <= BY_CHANCE * len(late) else None
    return None


def _pair(times: Sequence[int], length_ns: float, near: float) -> tuple[int, int] | None:
    for last in range(len(times) - 1, max(0, len(times) - 1 - MOST_BACK), -1):
        began = times[last] - length_ns
        place = bisect.bisect_left(times, began, 0, last)
        nearest = min({max(0, place - 1), min(place, last - 1)}, key=lambda one: abs(times[one] - began))
        if abs(times[nearest] - began) <= near:
            return nearest, last
    return None
