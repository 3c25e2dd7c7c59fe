"""Which process made something, so that it can be told later whether that process still lives.

Of the standard library only: the watchdog uses it too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..execution.tree import DEAD, stat


class Owner(NamedTuple):
    """A process: its number alone may have been given to another one since."""

    pid: int
    start: int
    """Field 22 of /proc/PID/stat: clock ticks after boot."""

    @property
    def alive(self) -> bool:
        """A zombie counts as dead: it can put nothing back."""
        fields = stat(self.pid)
        return bool(fields) and int(fields[19]) == self.start and fields[0] not in DEAD


def this_process() -> Owner:
    """Name the calling process."""
    pid = os.getpid()
    return Owner(pid, begun(pid))


def begun(pid: int) -> int:
    """Return when a process began, field 22 of its stat file; 0 where there is none."""
    fields = stat(pid)
    return int(fields[19]) if fields else 0


def boot_id() -> str:
    """Name this boot: kernel settings die with it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
