"""What the scheduler did on all CPUs, from perf_event_open: kept raw by the kernel, copied and read after a run."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .perf_open import DISABLED, ENABLE, TRACEPOINT, Attr, libc, perf_event_open
from .sysfs import cpu_numbers

IDENTIFIER, TID, TIME, CPU, RAW = 1 << 16, 1 << 1, 1 << 2, 1 << 7, 1 << 10
"""PERF_SAMPLE_*: what is in a record, in this order."""
WATERMARK, SAMPLE_ID_ALL, USE_CLOCK, CONTEXT_SWITCH = 1 << 14, 1 << 18, 1 << 25, 1 << 26
"""Flags of perf_event_attr. Without WATERMARK every record would raise an interrupt."""
NEVER = 1 << 30
"""Bytes after which a reader is woken: more than a ring has."""
SET_OUTPUT, EVENT_ID, DISABLE = 0x2405, 0x80082407, 0x2401
LOST, SAMPLE, SWITCH_CPU_WIDE = 2, 9, 15
"""PERF_RECORD_*."""
SWITCHED_OUT = 0x2000
HARD_INTERRUPT, SOFT_INTERRUPT = 0x08, 0x10
"""Bits of common_flags of a tracepoint."""
PAGE = mmap.PAGESIZE
HEAD, TAIL = 1024, 1032
"""Offsets in the first page of a ring."""
RECORD = struct.Struct("=IHH")
SWITCH_BODY, SAMPLE_BODY = struct.Struct("=IIIIQII"), struct.Struct("=QIIQIII")
NAME = 16
"""Bytes of a task's name."""
FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432
"""System calls since Linux 5.2, with one number on all architectures but alpha."""
CREATE = 6
TRACEFS = "sys/kernel/tracing"
FIELD = re.compile(r"field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);")
EVENTS = ("sched_switch", "sched_waking", "sched_process_fork")


class Switch(NamedTuple):
    """A CPU went from one task to another; task 0 is idle."""

    at: int
    """Nanoseconds of CLOCK_MONOTONIC, as in all events."""
    cpu: int
    out: int
    state: int
    """Of the task that went out: 0 or 0x100 if it could have gone on."""
    into: int


class SwitchedIn(NamedTuple):
    """A task came on a CPU. Says nothing new after a `Switch`, which idle CPUs leave out now and then."""

    at: int
    cpu: int
    into: int


class Waking(NamedTuple):
    """A task made another one able to run; `flags` say whether an interrupt did it in that task's time."""

    at: int
    cpu: int
    waker: int
    woken: int
    flags: int


class Fork(NamedTuple):
    """A task started another one, a thread or a process."""

    at: int
    cpu: int
    parent: int
    child: int


Event = Switch | SwitchedIn | Waking | Fork


@dataclass
class SchedTrace:
    """Events by time, and what the tasks are called."""

    events: list[Event] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """Of a task, as it was called last."""
    lost: int = 0
    """Records that did not fit into a ring."""


class TraceFormat(NamedTuple):
    """A tracepoint: its number and where its fields lie."""

    number: int
    offsets: dict[str, int]


class Ring:
    """The memory that the kernel writes records of one CPU to."""

    def __init__(self, file: int, size: int) -> None:
        """Map it: `size` bytes, or the next larger number that the kernel takes."""
        self._size = PAGE << max(0, (size - 1) // PAGE).bit_length()
        self._memory = mmap.mmap(file, PAGE + self._size)
        self._tail = 0

    def take(self) -> bytes:
        """Copy what has come since the last time, and give the room back."""
        (head,) = struct.unpack_from("=Q", self._memory, HEAD)
        at, length = self._tail % self._size, head - self._tail
        first = min(length, self._size - at)
        taken = self._memory[PAGE + at : PAGE + at + first] + self._memory[PAGE : PAGE + length - first]
        self._tail = head
        struct.pack_into("=Q", self._memory, TAIL, head)
        return taken

    def drop(self) -> None:
        """Give the room back."""
        (self._tail,) = struct.unpack_from("=Q", self._memory, HEAD)
        struct.pack_into("=Q", self._memory, TAIL, self._tail)

    def close(self) -> None:
        """Unmap it."""
        self._memory.close()


class SchedRings:
    """A ring for each CPU of this machine; raises OSError where the kernel refuses."""

    def __init__(self, root: Path, size: int = 4 << 20) -> None:
        """Open the events, switched off, as root or with CAP_PERFMON and a readable tracefs."""
        self._formats = formats(root)
        self._kinds: dict[int, str] = {}
        self._files: list[int] = []
        with ExitStack() as undo:
            undo.callback(self._close_files)
            online = cpu_numbers((root / "sys/devices/system/cpu/online").read_text())
            self._rings = [self._opened(cpu, size, undo) for cpu in sorted(online)]
            self._undo = undo.pop_all()

    def on(self) -> None:
        """Drop what is left of before, and let the kernel write."""
        for ring in self._rings:
            ring.drop()
        for file in self._files:
            fcntl.ioctl(file, ENABLE, 0)

    def off(self) -> list[bytes]:
        """Let the kernel write no more; return what it has written, by CPU."""
        for file in self._files:
            fcntl.ioctl(file, DISABLE, 0)
        return [ring.take() for ring in self._rings]

    def read(self, written: Iterable[bytes]) -> SchedTrace:
        """Parse what was written."""
        trace = SchedTrace()
        for records in written:
            trace.events.extend(self._events(records, trace))
        trace.events.sort(key=lambda event: event.at)
        return trace

    def close(self) -> None:
        """Close the events and their rings."""
        self._undo.close()

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)

    def _opened(self, cpu: int, size: int, undo: ExitStack) -> Ring:
        own: list[int] = []
        for name in EVENTS:
            # The records of switches come with the first event alone: each event would write its own.
            flags = CONTEXT_SWITCH if name == EVENTS[0] else 0
            file = perf_event_open(sampled(self._formats[name].number, flags), -1, cpu)
            own.append(file)
            self._files.append(file)
            number = bytearray(8)
            fcntl.ioctl(file, EVENT_ID, number)
            self._kinds[int.from_bytes(number, "little")] = name
        ring = Ring(own[0], size)
        undo.callback(ring.close)
        for file in own[1:]:
            fcntl.ioctl(file, SET_OUTPUT, own[0])
        return ring

    def _events(self, records: bytes, trace: SchedTrace) -> Iterator[Event]:
        at = 0
        while at < len(records):
            kind, misc, size = RECORD.unpack_from(records, at)
            if kind == SAMPLE:
                yield self._sample(records, at, trace)
            elif kind == SWITCH_CPU_WIDE and not misc & SWITCHED_OUT:
                _, _, _, tid, time, cpu, _ = SWITCH_BODY.unpack_from(records, at + RECORD.size)
                yield SwitchedIn(time, cpu, tid)
            elif kind == LOST:
                trace.lost += struct.unpack_from("=Q", records, at + 16)[0]
            at += size

    def _sample(self, records: bytes, at: int, trace: SchedTrace) -> Event:
        number, _, tid, time, cpu, _, _ = SAMPLE_BODY.unpack_from(records, at + RECORD.size)
        name = self._kinds[number]
        raw = at + RECORD.size + SAMPLE_BODY.size
        where = self._formats[name].offsets

        def number_at(key: str, form: str = "=i") -> int:
            return int(struct.unpack_from(form, records, raw + where[key])[0])

        if name == "sched_switch":
            out, into = number_at("prev_pid"), number_at("next_pid")
            for task, key in ((out, "prev_comm"), (into, "next_comm")):
                said = records[raw + where[key] : raw + where[key] + NAME]
                trace.names[task] = said.split(b"\0", 1)[0].decode(errors="replace")
            return Switch(time, cpu, out, number_at("prev_state", "=q"), into)
        if name == "sched_waking":
            return Waking(time, cpu, tid, number_at("pid"), records[raw + where["common_flags"]])
        return Fork(time, cpu, tid, number_at("child_pid"))


def sampled(number: int, flags: int) -> bytes:
    """Pack the attributes of a tracepoint of which each hit is written down."""
    attr = bytearray(Attr(TRACEPOINT, number, flags=flags | DISABLED | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK).packed())
    struct.pack_into("=QQQ", attr, 16, 1, IDENTIFIER | TID | TIME | CPU | RAW, 0)  # period, sample type, read format
    struct.pack_into("=I", attr, 48, NEVER)
    struct.pack_into("=i", attr, 92, 1)  # CLOCK_MONOTONIC
    return bytes(attr)


def formats(root: Path) -> dict[str, TraceFormat]:
    """Read the formats of the events; raises OSError where tracefs cannot be had."""
    folder = tracefs(root)
    try:
        return {name: trace_format(folder, f"events/sched/{name}/format") for name in EVENTS}
    finally:
        os.close(folder)


def trace_format(folder: int, path: str) -> TraceFormat:
    """Read one format below a folder."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)) as file:
        text = file.read()
    number = re.search(r"^ID: (\d+)", text, re.MULTILINE)
    assert number is not None, path
    return TraceFormat(int(number[1]), {name: int(offset) for name, offset in FIELD.findall(text)})


def tracefs(root: Path) -> int:
    """Open the folder of tracefs: where it is mounted, else by a mount that nobody else sees and that ends with us."""
    mounted = root / TRACEFS
    if (mounted / "events").is_dir():
        return os.open(mounted, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    context = called(FSOPEN, b"tracefs", 1)
    try:
        called(FSCONFIG, context, CREATE, None, None, 0)
        return called(FSMOUNT, context, 1, 0)
    finally:
        os.close(context)


def called(number: int, *arguments: object) -> int:
    """Make a system call that glibc may not have; raise OSError where it fails."""
    result: int = libc().syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
