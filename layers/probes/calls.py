"""The probe `calls`: how often the first thread of a run enters one function."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..schema import Layer, Value
from .base import Missing, Probe, SpawnCommand
from .clock_readings import DEVICES
from .elf_symbols import functions
from .gate import Gate
from .perf_open import DISABLED, Attr, enable, perf_event_open, refusal
from .running import threads
from .sampler import SamplingProbe
from .symbol_names import source_name

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
        """Let the program wait until it is followed."""
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
        """Take the last count, and the breakpoints out."""
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
