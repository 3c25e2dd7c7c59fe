"""Software counters of the kernel over a whole process tree: own perf_event_open, opened once, inherited by every run.

The events count only from the exec of the program on (enable_on_exec), so nothing that this process does is in them.
One event more, a dummy that is not inherited, keeps the kernel from swapping the event contexts of this thread and the
new process at a context switch; after such a swap the exec would switch our own events on and every later run would
count zero (seen on Linux 6.18).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
"""glibc has no wrapper: numbers from the kernel's syscall tables."""
EVENTS = {
    "perf.migrations": 4,
    "perf.context_switches": 3,
    "perf.minor_faults": 5,
    "perf.major_faults": 6,
}
"""Column: PERF_COUNT_SW_* of linux/perf_event.h."""
TYPE_SOFTWARE = 1
DUMMY = 9
DISABLED, INHERIT, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
"""Bits of the flag word of perf_event_attr."""
ATTR_SIZE = 112
"""PERF_ATTR_SIZE_VER5: Linux 4.1 and later take it."""
FD_CLOEXEC = 8
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class PerfSoftware:
    """Counts migrations, switches and faults of the program and of all its descendants."""

    def __init__(self, columns: Iterable[str]) -> None:
        """Open the events on the calling thread: it must be the one that spawns."""
        self._columns = [column for column in EVENTS if column in set(columns)]
        self._files: dict[str, int] = {}
        self._absent: dict[str, str] = {}
        self._opened = ExitStack()
        self._was: dict[str, int] = {}
        self._now: dict[str, int] = {}
        self._open()

    def before(self) -> None:
        """Read the sums so far."""
        if threading.get_native_id() != self._thread:
            # Only children of the thread that opened an event inherit it; another thread's runs would count zero.
            self.close()
            self._open()
        self._was = self._read()

    def at_exit(self, pid: int) -> None:
        """Nothing: an ended process has added its counts to ours."""

    def after(self) -> None:
        """Read the sums again."""
        self._now = self._read()

    def values(self) -> dict[str, float]:
        """Return the differences."""
        return {column: float(self._now[column] - self._was[column]) for column in self._files}

    def absent(self) -> Mapping[str, str]:
        """Name the columns whose event the kernel refused."""
        return self._absent

    def close(self) -> None:
        """Close the events."""
        self._files = {}
        self._opened.close()

    def _open(self) -> None:
        self._thread = threading.get_native_id()
        self._absent = {}
        if not self._columns:
            return
        try:
            self._opened.callback(os.close, perf_event_open(DUMMY, DISABLED))
            for column in self._columns:
                file = perf_event_open(EVENTS[column], DISABLED | INHERIT | ENABLE_ON_EXEC)
                self._opened.callback(os.close, file)
                self._files[column] = file
        except OSError as error:
            self.close()
            self._absent = dict.fromkeys(self._columns, refusal(error))

    def _read(self) -> dict[str, int]:
        return {column: int.from_bytes(os.read(file, 8), "little") for column, file in self._files.items()}


def perf_event_open(config: int, flags: int) -> int:
    """Open one software event on the calling thread, any CPU."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"its number on {platform.machine()} is not known")
    # type, size, config, sample period, sample type, read format, flags; zeros for the rest.
    attr = struct.pack("IIQQQQQ", TYPE_SOFTWARE, ATTR_SIZE, config, 0, 0, 0, flags).ljust(ATTR_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    file: int = libc.syscall(
        number, ctypes.create_string_buffer(attr, ATTR_SIZE), 0, -1, -1, ctypes.c_ulong(FD_CLOEXEC)
    )
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return file


def refusal(error: OSError) -> str:
    """Say why the kernel refused, and the cure."""
    reason = f"perf_event_open was refused ({error.strerror})"
    if error.errno in (errno.EACCES, errno.EPERM):
        level = PARANOID.read_text().strip() if PARANOID.exists() else "unknown"
        return f"{reason}, perf_event_paranoid is {level}: run as root or sysctl -w kernel.perf_event_paranoid=1"
    return f"{reason}: it needs a kernel with CONFIG_PERF_EVENTS and a container that lets it through"
