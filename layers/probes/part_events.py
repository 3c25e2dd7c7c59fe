"""Events that tell which part of a run a metric measures: its output, its readings of CPU clocks, marks put in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .perf_open import TRACEPOINT
from .perf_ring import RAW, RingEvent

WRITTEN, LEFT = "syscalls/sys_enter_write", "syscalls/sys_enter_exit_group"
READING, CPU_READING = "reading of a clock", "reading of a CPU clock"
MARKED, MARK, BEGIN, END = "task/task_rename", "vgo:", "vgo:begin", "vgo:end"
"""A program marks a part of its run by calling itself so, which any language can: it is one write to a file."""
CPU_CLOCKS = {
    "syscalls/sys_enter_clock_gettime": "which_clock == 2 || which_clock == 3",  # of the process, of the thread
    "syscalls/sys_enter_getrusage": "",
    "syscalls/sys_enter_times": "",
}
"""Calls that tell CPU time, with filters: the C library makes a real one each time."""
PART = (WRITTEN, LEFT, MARKED, *CPU_CLOCKS)
TIMES = (WRITTEN, LEFT, READING, CPU_READING)
"""Of these the time and the task are kept."""


class Mark(NamedTuple):
    """A task called itself, or another one of its process, BEGIN or END."""

    at: int
    task: int
    text: str


def part_events(numbers: Mapping[str, int]) -> tuple[RingEvent, ...]:
    """The events, by the numbers of the tracepoints in PART."""
    written, left, marked, *cpu_clocks = (RingEvent(name, TRACEPOINT, numbers[name], sample=0) for name in PART)
    return (
        written._replace(filter="fd == 1 || fd == 2"),
        left,
        marked._replace(sample=RAW, filter=f'newcomm ~ "{MARK}*"'),
        *(one._replace(name=CPU_READING, filter=CPU_CLOCKS[one.name]) for one in cpu_clocks),
    )
