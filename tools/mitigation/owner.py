"""Which process made something, so that it can be told later whether that process still lives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A process: its number alone may have been given to another one since."""

    pid: int
    start: int
    """Field 22 of /proc/PID/stat: clock ticks after boot."""

    @property
    def alive(self) -> bool:
        """A zombie counts as dead: it can put nothing back."""
        state, start = _state_and_start(self.pid)
        return start == self.start and state not in ("Z", "X", "x")


def this_process() -> Owner:
    """Name the calling process."""
    pid = os.getpid()
    return Owner(pid, _state_and_start(pid)[1])


def boot_id() -> str:
    """Name this boot: kernel settings die with it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _state_and_start(pid: int) -> tuple[str, int]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "X", -1
    # The name in parentheses may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return fields[0], int(fields[19])
