"""When a program reads the clock through the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path

from .elf_symbols import functions
from .gate import Gate
from .kernel_stack import KernelStacks
from .part_events import READING
from .perf_ring import REGISTERS, PerfRings, RingEvent
from .sched_events import Sampled
from .sched_trace import ARGUMENT, SAMPLING_NS

CLOCKS = ("clock_gettime", "gettimeofday")
"""Functions of the C library that read the clock."""
BREAKPOINT = frozenset({"asm_exc_int3", "asm_exc_debug", "do_el0_softstep", "do_el0_brk64"})
"""Functions of the kernel that a reading of the clock ends in where it is written down."""
DEVICES = "sys/bus/event_source/devices/uprobe/type"


class ClockReadings:
    """Writes down when one task reads the clock through the C library; raises OSError where uprobes cannot be had."""

    def __init__(self, root: Path) -> None:
        self._type = int((root / DEVICES).read_text())
        self._following = ExitStack()
        self.gate = Gate()

    @cached_property
    def _library(self) -> tuple[ctypes.Array[ctypes.c_char], list[int]]:
        maps = Path("/proc/self/maps").read_text().splitlines()
        path = next((line.split(maxsplit=5)[5] for line in maps if "/libc.so" in line), "")
        places = [function.start for function in functions(path) if function.name in CLOCKS]
        return ctypes.create_string_buffer(path.encode()), sorted(set(places))

    def follow(self, rings: PerfRings, task: int, watch: bool) -> int:
        """Begin to `watch` a task that waits at the gate, and let it go on, whatever stands between.

        Return when, on CLOCK_MONOTONIC. Not with what the task starts: an inherited uprobe would make each of its forks
        fail.
        """
        path, places = self._library
        try:
            for place in places if watch else ():
                event = RingEvent(
                    *(READING, self._type, 0, REGISTERS if ARGUMENT else 0),
                    registers=ARGUMENT,  # says which clock
                    config1=ctypes.addressof(path),
                    config2=place,
                )
                with suppress(OSError):  # it has ended
                    rings.follow(event, task, self._following)
        finally:
            opened_ns = self.gate.open()
        return opened_ns

    def end(self) -> None:
        """Write no more; take back what let nobody go on."""
        self._following.close()
        self.gate.end()

    def close(self) -> None:
        """Remove the gate."""
        self.gate.close()


def spent_looking(samples: Iterable[Sampled], stacks: KernelStacks, start: float, end: float) -> int:
    """Nanoseconds between two times that the program's tasks were stopped where readings are written down.

    Those of a child that was forked meanwhile too: it has the breakpoints, though nobody looks at it.
    """
    within = (one for one in samples if start < one.at < end)
    return SAMPLING_NS * sum(not BREAKPOINT.isdisjoint(stacks.names(one.stack)) for one in within)
