"""Rings of perf_event_open: memory of a CPU that the kernel writes events into, copied after a run and parsed later."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .perf_open import (
    DISABLED,
    DUMMY,
    ENABLE,
    EXCLUDE_HV,
    EXCLUDE_KERNEL,
    SOFTWARE,
    Attr,
    LockedTooMuch,
    perf_event_open,
    set_filter,
    thread,
)
from .sysfs import cpu_numbers

TID, TIME, CHAIN, CPU, PERIOD, RAW, REGISTERS, STACK, IDENTIFIER = (1 << bit for bit in (1, 2, 5, 7, 8, 10, 12, 13, 16))
"""PERF_SAMPLE_*: what is in a record, in the order identifier, tid, time, cpu, period, chain, raw,
registers, stack."""
EXCLUDE_IDLE, MAPS, TASKS, WATERMARK, SAMPLE_ID_ALL, KERNEL_CHAIN, MAPS2, USE_CLOCK, CONTEXT_SWITCH = (
    1 << bit for bit in (7, 8, 13, 14, 18, 22, 23, 25, 26)
)
"""Flags of perf_event_attr. Without WATERMARK every record would raise an interrupt; KERNEL_CHAIN leaves out frames of
the program; CONTEXT_SWITCH adds a record of each change of task, for idle CPUs now and then lack the tracepoint;
TASKS one of each fork and end."""
WRITING_NS, READING_NS = 10, 170
"""For each byte, while a run lasts and when it is read; measured on Linux 6.18 in a guest of 2 CPUs."""
MOST_WRITING, MOST_READING, SHORT_WRITING_NS, SHORT_READING_NS = 0.02, 0.5, 300_000, 20_000_000
"""Of a run, or if that is less: what writing and reading may take."""
NEVER = 1 << 30
"""Bytes after which a reader is woken: more than a ring has."""
SET_OUTPUT, EVENT_ID, DISABLE = 0x2405, 0x80082407, 0x2401
HEAD, TAIL = 1024, 1032
"""Offsets in the first page of a ring."""
PAGE = mmap.PAGESIZE
GUARD = Attr(SOFTWARE, DUMMY, flags=EXCLUDE_KERNEL | EXCLUDE_HV)
"""Beside events that what a thread starts inherits: see `perf_counters`."""


class RingEvent(NamedTuple):
    """An event of each CPU that is written down whenever it happens."""

    name: str
    type: int
    config: int
    sample: int = RAW
    """Beside identifier, tid, time and cpu, which all records have."""
    flags: int = 0
    period: int = 1
    """For a clock, the nanoseconds between two samples."""
    registers: int = 0
    """Mask of the program's registers."""
    stack_bytes: int = 0
    """Of the program's stack, from its top."""
    filter: str = ""
    config1: int = 0
    config2: int = 0

    def packed(self) -> bytes:
        """Lay out perf_event_attr, with times of CLOCK_MONOTONIC."""
        flags = self.flags | DISABLED | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK
        attr = bytearray(Attr(self.type, self.config, self.config1, self.config2, flags=flags).packed())
        sample = IDENTIFIER | TID | TIME | CPU | self.sample
        struct.pack_into("=QQQ", attr, 16, self.period, sample, 0)  # period, sample type, read format
        struct.pack_into("=I", attr, 48, NEVER)
        struct.pack_into("=Q", attr, 80, self.registers)
        struct.pack_into("=Ii", attr, 88, self.stack_bytes, 1)  # CLOCK_MONOTONIC
        return bytes(attr)


class Ring:
    """The memory that the kernel writes records of one CPU to."""

    def __init__(self, file: int, size: int) -> None:
        """Map it: `size` bytes, or the next larger number that the kernel takes; raises LockedTooMuch."""
        self.size = PAGE << max(0, (size - 1) // PAGE).bit_length()
        try:
            self._memory = mmap.mmap(file, PAGE + self.size)
        except PermissionError as error:
            raise LockedTooMuch(*error.args) from error
        self._tail = 0

    def take(self) -> bytes:
        """Copy what has come since the last time, and give the room back."""
        (head,) = struct.unpack_from("=Q", self._memory, HEAD)
        at, length = self._tail % self.size, head - self._tail
        first = min(length, self.size - at)
        taken = self._memory[PAGE + at : PAGE + at + first] + self._memory[PAGE : PAGE + length - first]
        self._tail = head
        struct.pack_into("=Q", self._memory, TAIL, head)
        return taken

    def drop(self) -> None:
        """Give the room back."""
        (self._tail,) = struct.unpack_from("=Q", self._memory, HEAD)
        struct.pack_into("=Q", self._memory, TAIL, self._tail)

    def close(self) -> None:
        self._memory.close()


class PerfRings:
    """A ring for each CPU of this machine, which all of the events write to."""

    def __init__(self, root: Path, events: Sequence[RingEvent], size: int, own: bool = False) -> None:
        """Open the events, switched off; raises OSError where the kernel refuses.

        With `own`, of what this thread starts alone; the events themselves say when they begin.
        """
        self._own = own
        self.names: dict[int, str] = {}
        """Of events, by the identifier in their records."""
        self._files: dict[int, str] = {}
        self._rings: dict[int, Ring] = {}
        self._first: dict[int, int] = {}
        with ExitStack() as undo:
            undo.callback(self._close_files)
            if own:
                thread()
                self._files[perf_event_open(GUARD.packed(DISABLED))] = ""
            for cpu in sorted(cpu_numbers((root / "sys/devices/system/cpu/online").read_text())):
                for event in events:
                    self._open(event, cpu, size, undo)
            self._undo = undo.pop_all()

    def add(self, *events: RingEvent) -> None:
        """Open further events, switched off."""
        for cpu in self._rings:
            for event in events:
                self._open(event, cpu, 0, self._undo)

    def remove(self, name: str) -> None:
        """Close the events of a name, none of which was opened first."""
        for file in [file for file, of in self._files.items() if of == name]:
            del self._files[file]
            os.close(file)

    def on(self) -> None:
        """Drop what is left of before, and let the kernel write."""
        for ring in self._rings.values():
            ring.drop()
        self._switch(ENABLE)

    def off(self) -> list[bytes]:
        """Let the kernel write no more; return what it has written, by CPU."""
        self._switch(DISABLE)
        return [ring.take() for ring in self._rings.values()]

    def full(self, written: Sequence[bytes], record: int) -> bool:
        """Tell whether a record of so many bytes might not have fitted any more.

        The kernel says what it has left out with the next record that fits, which comes only after this one.
        """
        return any(len(one) > ring.size - record for one, ring in zip(written, self._rings.values(), strict=True))

    @property
    def size(self) -> int:
        """Bytes of each."""
        return min(ring.size for ring in self._rings.values())

    def close(self) -> None:
        self._undo.close()

    def follow(self, event: RingEvent, task: int, undo: ExitStack) -> None:
        """Let an event of one task, not of what it starts, write into the rings too, until `undo` ends."""
        for cpu, first in self._first.items():
            file = perf_event_open(event.packed(), task, cpu)
            undo.callback(os.close, file)
            self._name(file, event.name)
            fcntl.ioctl(file, SET_OUTPUT, first)
            fcntl.ioctl(file, ENABLE, 0)

    def _switch(self, request: int) -> None:
        for file in () if self._own else self._files:
            fcntl.ioctl(file, request, 0)

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)

    def _name(self, file: int, name: str) -> None:
        number = bytearray(8)
        fcntl.ioctl(file, EVENT_ID, number)
        self.names[int.from_bytes(number, "little")] = name

    def _open(self, event: RingEvent, cpu: int, size: int, undo: ExitStack) -> None:
        file = perf_event_open(event.packed(), 0 if self._own else -1, cpu)
        self._files[file] = event.name
        self._name(file, event.name)
        if event.filter:
            set_filter(file, event.filter)
        if cpu in self._first:
            fcntl.ioctl(file, SET_OUTPUT, self._first[cpu])
        else:
            self._first[cpu] = file
            self._rings[cpu] = ring = Ring(file, size)
            undo.callback(ring.close)


def largest_rings(root: Path, events: Sequence[RingEvent], size: int) -> PerfRings:
    """Open rings of `size` bytes for each CPU, or of as much as this user may lock; raises as `PerfRings` does."""
    try:
        return PerfRings(root, events, size)
    except LockedTooMuch:
        if size <= PAGE:
            raise
        return largest_rings(root, events, size // 2)


@dataclass
class RingLoad:
    """What it takes to write and to read rings, over the runs so far: one that others disturb does not count alone."""

    _runs: int = 0
    _wall_ns: int = 0
    _writing_ns: int = 0
    _reading_ns: int = 0

    def too_much(self, written: Sequence[bytes], wall_ns: int) -> str:
        """Count a run in, by what was written on each CPU; say why they cost too much, empty where they do not."""
        self._runs += 1
        self._wall_ns += wall_ns
        self._writing_ns += WRITING_NS * max(map(len, written))
        self._reading_ns += READING_NS * sum(map(len, written))
        if self._writing_ns <= max(MOST_WRITING * self._wall_ns, SHORT_WRITING_NS * self._runs) and (
            self._reading_ns <= max(MOST_READING * self._wall_ns, SHORT_READING_NS * self._runs)
        ):
            return ""
        return (
            f"tasks change so often that to write it down takes {self._writing_ns / self._wall_ns:.1%} of a run"
            f" and to read it {self._reading_ns / self._runs / 1e6:.0f} ms more"
        )
