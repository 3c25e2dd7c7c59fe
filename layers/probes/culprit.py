"""Which other process used the most CPU time during a run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .sysfs import last_cpu, read_once

CANDIDATES = 20
"""So many of the busiest are asked where they last ran."""


class Culprit(NamedTuple):
    """The busiest other process on the CPUs of a run."""

    command: str
    cpu_s: float


def cpu_clocks() -> dict[int, int]:
    """Return the CPU time of each process in ns, all its threads together; anyone may read these clocks."""
    clocks = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                # The kernel's number for the CPU clock of a whole process: see clock_getcpuclockid(3).
                clocks[int(name)] = time.clock_gettime_ns((~int(name) << 3) | 2)
    return clocks


def busiest(was: dict[int, int], now: dict[int, int], run: int, cpus: Iterable[int]) -> Culprit:
    """Find the process, neither of the run's group nor this one, that used most and ran last on one of the CPUs."""
    used = {pid: clock - was.get(pid, 0) for pid, clock in now.items() if pid not in (run, os.getpid())}
    wanted = set(cpus)
    for pid in sorted(used, key=lambda pid: used[pid], reverse=True)[:CANDIDATES]:
        # It may have ended since; then nobody knows its name any more.
        with suppress(OSError):
            if used[pid] > 0 and os.getpgid(pid) != run and last_cpu(read_once(f"/proc/{pid}/stat")) in wanted:
                return Culprit(command_of(pid), used[pid] / 1e9)
    return Culprit("none", 0.0)


def command_of(pid: int) -> str:
    """Return the name of a process; of kernel threads without the number of a CPU or a queue."""
    name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return name.partition("/")[0] or "unnamed"
