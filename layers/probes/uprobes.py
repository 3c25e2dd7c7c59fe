"""Breakpoints in functions of a program or a library (uprobes): when it reads the clock, how often it calls one.

The probe `calls` counts how often the first thread of a run enters one function.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path

from ..schema import Layer, Value
from ..wrapper import own_folder
from .base import Missing, Probe, SpawnCommand
from .elf_symbols import functions, source_name
from .kernel_stack import KernelStacks
from .perf_open import DISABLED, Attr, enable, perf_event_open, refusal
from .perf_ring import REGISTERS, PerfRings, RingEvent
from .process import threads
from .sampler import SamplingProbe
from .sched_events import READING, Sampled
from .sched_trace import ARGUMENT, SAMPLING_NS


class Gate:
    """Lets a program wait before it begins; of a program that is started elsewhere it is not there."""

    def __init__(self) -> None:
        """Make it."""
        self._undo = ExitStack()
        self._path = Path(self._undo.enter_context(own_folder("gate"))) / "gate"
        os.mkfifo(self._path, 0o666)
        # Open at both ends: nobody waits for the other to open it, and who waits when we have died reads its end.
        self._opened = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._undo.callback(os.close, self._opened)

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Let a program wait before its first instruction, until `open`.

        Where it is started on another machine or in a container the gate is not there, and it does not wait.
        """
        return ("/bin/sh", "-c", '[ -p "$0" ] && read -r _ < "$0"; exec "$@"', str(self._path), *argv)

    def open(self) -> int:
        """Let one program go on; return when, on CLOCK_MONOTONIC."""
        os.write(self._opened, b"\n")
        return time.monotonic_ns()

    def end(self) -> None:
        """Take back what let nobody go on."""
        with suppress(BlockingIOError):
            os.read(self._opened, 1)

    def close(self) -> None:
        self._undo.close()


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
        self.gate.close()


def spent_looking(samples: Iterable[Sampled], stacks: KernelStacks, start: float, end: float) -> int:
    """Nanoseconds between two times that the program's tasks were stopped where readings are written down.

    Those of a child that was forked meanwhile too: it has the breakpoints, though nobody looks at it.
    """
    within = (one for one in samples if start < one.at < end)
    return SAMPLING_NS * sum(not BREAKPOINT.isdisjoint(stacks.names(one.stack)) for one in within)


EVERY_S = 0.005
"""Between two looks at the count, in which a function is entered at most 250 times: each takes 21 us."""
MOST = 1000
"""Calls of a run that are worth 21 ms."""
UNASKED = "no function is named: --layer calls:function=NAME,binary=PATH, with the program or library that has it"
UNNAMED = "{} has no function {} among its symbols: name one that nm or nm -D shows, of a file that is not stripped"
TOO_OFTEN = "a run called it more than {} times, 21 us each, so it is not counted any more: count another function"
THREADS = "the program has several threads, and only calls of its first one are counted: leave the layer out"
UNSEEN = "the first thread of the process that was started has not called it in any run; no other one is counted"


def open_calls(layer: Layer, root: Path) -> Probe:
    """Open the probe; where the function or uprobes cannot be had, one that says so."""
    columns = [column.name for column in layer.columns]
    given = layer.parameters
    name, path = str(given.get("function", "")), os.path.realpath(str(given.get("binary", "")))
    if not name:
        return Missing(columns, UNASKED)
    places = sorted({one.start for one in functions(path) if name in (one.name, source_name(one.name))})
    if not places:
        return Missing(columns, UNNAMED.format(path, name))
    try:
        counter = FunctionCounter(int((root / DEVICES).read_text()), path, places)
        counter.follow(os.getpid())  # refused now rather than in the first run
    except OSError as error:
        return Missing(columns, refusal(error))
    counter.end()
    return CallsProbe(columns, name, counter, int(given.get("most", MOST)))


class FunctionCounter:
    """Counts by uprobes of one task, not of what it starts: an inherited uprobe would make each of its forks fail."""

    def __init__(self, kind: int, path: str, places: list[int]) -> None:
        """`kind`: the number of the PMU; `places`: offsets in the file."""
        self._kind, self._places = kind, places
        self._path = ctypes.create_string_buffer(os.fsencode(path))
        self._files: list[int] = []
        self._lock = threading.Lock()

    def follow(self, task: int) -> None:
        """Begin to count; raises OSError where the kernel refuses, or the task has ended."""
        with self._lock:
            for place in self._places:
                attr = Attr(self._kind, 0, ctypes.addressof(self._path), place)
                self._files.append(perf_event_open(attr.packed(DISABLED, read_format=0), task))
                enable(self._files[-1])

    def count(self) -> int | None:
        """Calls so far; None where nothing is counted."""
        with self._lock:
            return sum(int.from_bytes(os.read(file, 8), "little") for file in self._files) if self._files else None

    def end(self) -> None:
        """Take the breakpoints out."""
        with self._lock:
            while self._files:
                os.close(self._files.pop())


class CallsProbe(SamplingProbe[int]):
    """Counts the calls of each run; for good no more once a run has too many, or a second thread."""

    def __init__(self, columns: list[str], name: str, counter: FunctionCounter, most: int) -> None:
        """`most`: calls of a run above which they cost too much."""
        super().__init__(EVERY_S)
        self._columns, self._name, self._counter, self._most = columns, name, counter, most
        self._gate = self._keep(Gate())
        self._called = self._stopped = False

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        return SpawnCommand(self._gate.wrap(command.argv), command.environment)

    def started(self, pid: int) -> None:
        """Follow it, and let it go on, whatever stands between."""
        try:
            with suppress(OSError):  # it has ended
                if not self._stopped:
                    self._counter.follow(pid)
        finally:
            self.held_until_ns = self._gate.open()
        super().started(pid)

    def read(self, pid: int) -> int | None:
        """Look at the count, and whether to go on."""
        count = self._counter.count() if pid else None
        if count is not None and count > self._most:
            self._stop(TOO_OFTEN.format(self._most))
        elif count is not None and len(threads(pid)) > 1:
            self._stop(THREADS)
        return count

    def after(self) -> None:
        super().after()
        self._counter.end()
        self._gate.end()

    def values(self) -> Mapping[str, Value]:
        """Calls of the run, once any run had some: else nobody knows whether another task calls it."""
        counts = [count for _, count in self.samples()]
        if self._stopped or not counts:
            return {}
        self._called = self._called or counts[-1] > 0
        self._absent = {} if self._called else dict.fromkeys(self._columns, UNSEEN)
        return {f"calls.{self._name}": counts[-1]} if self._called else {}

    def _stop(self, why: str) -> None:
        self._stopped = True
        self._absent = dict.fromkeys(self._columns, why)
        self._counter.end()
