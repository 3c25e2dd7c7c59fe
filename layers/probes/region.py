"""The part of a run that its metric measures, found by the time that the program printed."""

from __future__ import annotations

import bisect
import ctypes
import os
from collections import defaultdict
from collections.abc import Container, Iterable
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .elf_symbols import functions
from .kernel_stack import KernelStacks
from .perf_ring import PerfRings, RingEvent
from .sched_trace import READING, SAMPLING_NS, WRITTEN, Sampled, SchedTrace

CLOCKS = ("clock_gettime", "gettimeofday")
"""Functions of the C library that read the clock."""
NEAREST_NS, NEAR_NS = 15_000, 40_000
"""How far two readings may be from the time that the program printed; the first is tried first."""
MOST_BACK = 60
"""Readings before the last one that are tried as the end of the region."""
BREAKPOINT = frozenset({"asm_exc_int3", "asm_exc_debug", "do_el0_softstep", "do_el0_brk64"})
"""Functions of the kernel that a reading of the clock ends in where it is written down."""
DEVICES = "sys/bus/event_source/devices/uprobe/type"


class Region(NamedTuple):
    """Part of a run."""

    start: int
    end: int
    task: int
    """Whose time it is."""
    found_by: str
    """`clock`: two readings of the clock; `write`: the last output; `run`: it is the whole run."""


class ClockReadings:
    """Writes down when one task reads the clock through the C library; raises OSError where uprobes cannot be had."""

    def __init__(self, root: Path) -> None:
        self._type = int((root / DEVICES).read_text())
        self._following, self._undo = ExitStack(), ExitStack()
        self._gate = Path(self._undo.enter_context(TemporaryDirectory(prefix="vgo-gate-"))) / "gate"
        os.mkfifo(self._gate, 0o666)
        # Open at both ends: nobody waits for the other to open it, and who waits when we have died reads its end.
        self._opened = os.open(self._gate, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._undo.callback(os.close, self._opened)

    @cached_property
    def _library(self) -> tuple[ctypes.Array[ctypes.c_char], list[int]]:
        maps = Path("/proc/self/maps").read_text().splitlines()
        path = next((line.split(maxsplit=5)[5] for line in maps if "/libc.so" in line), "")
        places = [function.start for function in functions(path) if function.name in CLOCKS]
        return ctypes.create_string_buffer(path.encode()), sorted(set(places))

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Let a program wait before its first instruction, until `follow` lets it go on.

        Where it is started on another machine or in a container the gate is not there, and it does not wait.
        """
        return ("/bin/sh", "-c", '[ -p "$0" ] && read -r _ < "$0"; exec "$@"', str(self._gate), *argv)

    def follow(self, rings: PerfRings, task: int, watch: bool) -> None:
        """Begin to `watch` a task that was started as `wrap` says, and let it go on, whatever stands between.

        Not with what the task starts: an inherited uprobe would make each of its forks fail.
        """
        path, places = self._library
        try:
            for place in places if watch else ():
                event = RingEvent(READING, self._type, 0, sample=0, config1=ctypes.addressof(path), config2=place)
                with suppress(OSError):  # it has ended
                    rings.follow(event, task, self._following)
        finally:
            os.write(self._opened, b"\n")

    def end(self) -> None:
        """Write no more; take back what let nobody go on."""
        self._following.close()
        with suppress(BlockingIOError):
            os.read(self._opened, 1)

    def close(self) -> None:
        """Remove the gate."""
        self._undo.close()


def between_readings(trace: SchedTrace, tree: Container[int], length_ns: float) -> Region | None:
    """The last two readings by one task of the program that are as far apart as the time that it printed."""
    by_task = defaultdict(list)
    for at, task in trace.times[READING]:
        if task in tree:
            by_task[task].append(at)
    for near in (NEAREST_NS, NEAR_NS):
        found = [one for task, times in by_task.items() if (one := _pair(task, times, length_ns, near))]
        if found:
            return max(found, key=lambda region: region.end)
    return None


def _pair(task: int, times: list[int], length_ns: float, near: int) -> Region | None:
    for end in times[: -MOST_BACK - 1 : -1]:
        first = bisect.bisect_left(times, end - length_ns - near)
        nearest = min(times[first : first + MOST_BACK], key=lambda start: abs(end - start - length_ns), default=end)
        if abs(end - nearest - length_ns) <= near and nearest < end:
            return Region(nearest, end, task, "clock")
    return None


def before_output(trace: SchedTrace, tree: Container[int], length_ns: float, later_ns: float) -> Region | None:
    """As long before the last output of the program as it printed; `later_ns` lay between the region and the output."""
    last = next(((at, task) for at, task in reversed(trace.times[WRITTEN]) if task in tree), None)
    if last is None:
        return None
    end = round(last[0] - later_ns)
    return Region(round(end - length_ns), end, last[1], "write")


def later_by(trace: SchedTrace, tree: Container[int], region: Region) -> float | None:
    """Nanoseconds from the end of a region to the last output after it."""
    return next(
        (at - region.end for at, task in reversed(trace.times[WRITTEN]) if task in tree and at >= region.end), None
    )


def spent_looking(samples: Iterable[Sampled], stacks: KernelStacks, region: Region) -> int:
    """Nanoseconds of a region that the program's tasks were stopped at the places where readings are written down.

    Those of a child that was forked meanwhile too: it has the breakpoints, though nobody looks at it.
    """
    within = (one for one in samples if region.start < one.at < region.end)
    return SAMPLING_NS * sum(not BREAKPOINT.isdisjoint(stacks.names(one.stack)) for one in within)
