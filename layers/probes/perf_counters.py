"""Events opened once and read around every run: inherited by what this thread starts, or on each CPU of the machine.

The inherited ones count only from the exec of the program on (enable_on_exec), so nothing that this process does is
in them. One event more, a guard that is not inherited, keeps the kernel from swapping the event contexts of this thread
and the new process at a context switch; after such a swap the exec would switch our own events on and every later run
would count zero (seen on Linux 6.18). Before Linux 6.2 hardware events lie in a context of their own and have their own
guard.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate
from operator import sub
from pathlib import Path
from typing import NamedTuple

from . import perf_open
from .perf_names import PerfEvent
from .perf_open import (
    DISABLED,
    DUMMY,
    ENABLE_ON_EXEC,
    EXCLUDE_HV,
    EXCLUDE_KERNEL,
    GROUP,
    INHERIT,
    NO_COUNTERS,
    SOFTWARE,
    TIMES,
    Attr,
    core_pmus,
    enable,
    perf_event_open,
    refusal,
    set_filter,
)
from .sysfs import cpu_numbers

ENABLED, RUNNING = 1, 2
"""Places of the two times in what a read gives; the value is at 0 or, in a group, from 3 on."""
NOTHING = b"\xff"
GONE = (1 << 64) - 1
"""Stands where a time could not be read."""
Reading = list[bytes]


class CountGrowth(NamedTuple):
    """How much one open file has grown: its count, and the ns that it was asked to count and did count."""

    value: int
    enabled: int
    running: int


class Count(NamedTuple):
    """What an event counted in a run, and the share of the time in which it really did; None and 0 if never."""

    value: float | None
    share: float


class CountSlot(NamedTuple):
    """Where the count of an event lies."""

    file: int
    """Number of the file in the order of reading."""
    place: int
    """Of the value among the words of the file."""
    task: bool
    """It follows the run, not a CPU."""


class PerfCounters:
    """Files of perf_event_open; the calling thread must be the one that spawns the runs."""

    def __init__(self, events: Mapping[str, tuple[PerfEvent, bool]], root: Path) -> None:
        """Open events by name; True beside one asks for the whole machine where it could follow the run."""
        perf_open.thread()
        self.refused: dict[str, str] = {}
        """Event: reason and cure."""
        self.user_only: set[str] = set()
        """Events that an unprivileged user gets in user mode alone."""
        self._opened = ExitStack()
        self._files: list[int] = []
        self._sizes: list[int] = []
        self._slots: dict[str, list[CountSlot]] = {}
        self._leaders: dict[int, int] = {}
        self._starts: list[int] = []
        self._guarded: set[bool] = set()
        for name, (event, machine) in events.items():
            try:
                on = (root / "sys/devices/system/cpu/online").read_text() if machine and not event.hardware else ""
                self._open(name, event, sorted(cpu_numbers(on)))
            except OSError as error:
                self.refused[name] = NO_COUNTERS if event.core and not core_pmus(root) else refusal(error)
        for leader in self._leaders.values():
            # Only now: what joins a group that counts already may never be put on the CPU (seen on Linux 6.18).
            enable(leader)

    def read(self) -> Reading:
        try:
            return list(map(os.read, self._files, self._sizes))
        except OSError:
            return [read_or_nothing(file, size) for file, size in zip(self._files, self._sizes, strict=True)]

    def counts(self, was: Reading, now: Reading) -> dict[str, Count]:
        """Return what each event counted between two readings; nothing for one that could not be read."""
        if not self._starts:
            # Of each file, the number of its first word.
            self._starts = [words // 8 for words in accumulate(self._sizes, initial=0)]
        form = f"{self._starts[-1]}Q"
        start, end = struct.unpack(form, b"".join(was)), struct.unpack(form, b"".join(now))
        grown = list(map(sub, end, start))
        found = {}
        for name, slots in self._slots.items():
            parts = []
            for file, place, _ in slots:
                at = self._starts[file]
                if start[at + ENABLED] != GONE != end[at + ENABLED]:
                    parts.append(CountGrowth(grown[at + place], grown[at + ENABLED], grown[at + RUNNING]))
            if len(parts) == len(slots) and (count := total(parts, together=slots[0].task)):
                found[name] = count
        return found

    def close(self) -> None:
        self._files = []
        self._opened.close()

    def _open(self, name: str, event: PerfEvent, cpus: Sequence[int]) -> None:
        """Open all the targets of an event, or none."""
        before = self._files.copy(), self._sizes.copy(), self._leaders.copy()
        with ExitStack() as opened:
            try:
                slots: list[CountSlot] = []
                for target in event.targets:
                    on = [self._on_cpu(target.attr, cpu, event, opened) for cpu in cpus or target.cpus]
                    slots += on or [self._with_runs(name, target.attr, event, opened)]
            except OSError:
                self._files, self._sizes, self._leaders = before
                raise
            self._slots[name] = slots
            self._opened.push(opened.pop_all())

    def _with_runs(self, name: str, attr: Attr, event: PerfEvent, opened: ExitStack) -> CountSlot:
        flags = DISABLED | INHERIT | ENABLE_ON_EXEC
        try:
            file = perf_event_open(attr.packed(flags))
        except PermissionError as error:
            # An unprivileged user may count what the program does itself, though not what the kernel does for it.
            attr = attr._replace(flags=attr.flags | EXCLUDE_KERNEL | EXCLUDE_HV)
            file = self._user_mode(attr, flags, event, error)
            self.user_only.add(name)
        keep(file, event, opened)
        if event.hardware not in self._guarded:
            guard = attr if event.hardware else Attr(SOFTWARE, DUMMY)
            self._opened.callback(os.close, perf_event_open(guard.packed(DISABLED)))
            self._guarded.add(event.hardware)
        return self._slot(file, 24, 0, task=True)

    def _user_mode(self, attr: Attr, flags: int, event: PerfEvent, refused: OSError) -> int:
        """Open in user mode alone; where that is refused too, the first refusal tells more."""
        if not event.hardware:
            raise refused
        try:
            return perf_event_open(attr.packed(flags))
        except OSError:
            raise refused from None

    def _on_cpu(self, attr: Attr, cpu: int, event: PerfEvent, opened: ExitStack) -> CountSlot:
        """Open on one CPU; the kernel's own events share a group, so that one read gets them all from that CPU."""
        leader = -1 if event.hardware else self._leaders.get(cpu, -1)
        flags = 0 if event.hardware or leader >= 0 else DISABLED
        file = perf_event_open(attr.packed(flags, TIMES | GROUP), -1, cpu, leader)
        keep(file, event, opened)
        if leader < 0:
            if not event.hardware:
                self._leaders[cpu] = file
            return self._slot(file, 32, 3, task=False)
        number = self._files.index(leader)
        self._sizes[number] += 8
        return CountSlot(number, self._sizes[number] // 8 - 1, task=False)

    def _slot(self, file: int, size: int, place: int, *, task: bool) -> CountSlot:
        self._files.append(file)
        self._sizes.append(size)
        return CountSlot(len(self._files) - 1, place, task)


def keep(file: int, event: PerfEvent, opened: ExitStack) -> None:
    """See that a file is closed, and let it count only what the filter of its event lets through."""
    opened.callback(os.close, file)
    if event.filter:
        set_filter(file, event.filter)


def read_or_nothing(file: int, size: int) -> bytes:
    """Read one file; every word is GONE where that fails, as when its CPU was taken out."""
    try:
        return os.read(file, size).ljust(size, NOTHING)
    except OSError:
        return NOTHING * size


def total(parts: Sequence[CountGrowth], *, together: bool) -> Count | None:
    """Add parts up, scaled to the time that was asked for; None where a number fell or nothing was asked for.

    Parts that follow a run `together` are those of unlike cores, each of which counts while the run is on such a core:
    their times complete each other. Parts on CPUs each stand for themselves.
    """
    if together and len(parts) > 1:
        enabled = max(part.enabled for part in parts)
        running = min(enabled, sum(part.running for part in parts))
        parts = [CountGrowth(sum(part.value for part in parts), enabled, running)]
    value, share = 0.0, 1.0
    for part in parts:
        if part.value < 0 or part.enabled <= 0 or part.running < 0:
            return None
        if part.running == 0:
            return Count(None, 0.0)
        # Whole numbers stay exact where nothing was multiplexed.
        value += part.value if part.running == part.enabled else part.value * part.enabled / part.running
        share = min(share, part.running / part.enabled)
    return Count(value, share)
