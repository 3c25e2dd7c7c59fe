"""When a process began. Imported by every command before anything else, so it imports next to nothing."""

from __future__ import annotations

import os
import time


def started_at(pid: int) -> float:
    """Time of day at which a process began, in seconds; raises OSError where there is none."""
    with open(f"/proc/{pid}/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def process_age_s() -> float:
    """Seconds since this process began, interpreter start-up included."""
    return time.time() - started_at(os.getpid())


def process_began_s() -> float:
    """When this process began, on the monotonic clock."""
    return time.monotonic() - process_age_s()
