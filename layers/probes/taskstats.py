"""Delay accounting: what every thread of a run waited for, as the kernel reports it when the thread ends.

The kernel sends a record for each task that ends on the machine; those of the run's process tree are found by their
links to parents. A task whose parent ended first has this process as its parent, which takes in the orphans of a run.
"""

from __future__ import annotations

import errno
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import LayerProbe
from .machine import KernelFile
from .netlink import Family, attributes_of

GET = 1
REGISTER_CPUMASK = 3
STATS, AGGREGATE_OF_TASK = 3, 4
"""Command and attributes of the family TASKSTATS (linux/taskstats.h)."""
MOST = 1 << 30
"""Bytes; the kernel takes no more for one socket."""
SWITCH = "proc/sys/kernel/task_delayacct"
POSSIBLE = Path("/sys/devices/system/cpu/possible")
VERSION = struct.Struct("=H")
PID, TGID = 128, 368
"""Offsets in struct taskstats; the parent comes after the pid."""
IDS, ID = struct.Struct("=II"), struct.Struct("=I")
LIFE = 144
"""Offset of how long the task lived, in microseconds."""
CLOCKS_DIFFER_US = 10_000
"""Delays and lives are timed by different clocks of the kernel."""
TGID_SINCE = 12
TORN = 15
"""The version of Linux 6.14, in which new fields were put between the old ones."""
PAIR = struct.Struct("=QQ")
NUMBER = struct.Struct("=Q")
LONGEST_WAIT, LONGEST_WAIT_SINCE = 432, 16


KINDS = {
    "cpu": (1, 16),
    "blkio": (1, 32),
    "swapin": (1, 48),
    "reclaim": (7, 312),
    "thrashing": (9, 328),
    "compact": (11, 352),
    "copy": (13, 400),
    "irq": (14, 416),
}
"""The first version of struct taskstats that has a kind, and where its count lies there, before its total in ns.

The kernel calls reclaim `freepages`, and copy `wpcopy`.
"""


class EndedTask(NamedTuple):
    """A task that has ended: one thread of a process."""

    pid: int
    tgid: int
    """Its process; where the kernel does not say, its own number."""
    parent: int
    version: int
    record: bytes


class Delays(LayerProbe):
    """Sums the delays of all tasks of a run, threads and descendants included."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Register for the tasks that end on any CPU."""
        super().__init__(layer)
        self._family: Family | None = None
        self._switch = KernelFile(root / SWITCH)
        self._pid = 0
        self._lost = ""
        self._buffer = int(float(layer.parameters.get("buffer_mib", 64)) * (1 << 20))
        self._lack(why := self._register())
        if not why and not (root / "proc/pressure/irq").exists():
            why = "the kernel does not time its interrupts: it needs one with CONFIG_IRQ_TIME_ACCOUNTING"
            self._absent = {name: why for name in self._columns if name.startswith("delay.irq_")}

    def before(self) -> None:
        """Drop what has come since the last run."""
        self._lost, self._pid = "", 0
        self._gather()

    def started(self, pid: int) -> None:
        self._pid = pid

    def values(self) -> Mapping[str, float]:
        """Sum over the tree; nothing where records are lost."""
        if self._family is None:
            return {}
        tasks, overrun = self._gather()
        mine = tree(tasks, self._pid, os.getpid())
        if overrun:
            self._lost = "more tasks ended in the run than their records fit: --layer delays:buffer_mib=1024"
        elif self._switched_off():
            self._lost = "the kernel no longer counts delays: sysctl -w kernel.task_delayacct=1"
        elif not any(task.pid == self._pid for task in mine):
            self._lost = "the kernel sent no record of the program: look whether kernel.task_delayacct stays 1"
        elif mine[0].version == TORN:
            self._lost = "Linux 6.14 has a form of its own of the records: use another kernel"
        return {} if self._lost else self._counted(mine)

    def absent(self) -> Mapping[str, str]:
        return dict.fromkeys(self._columns, self._lost) if self._lost else self._absent

    def close(self) -> None:
        """Leave: the kernel stops sending."""
        self._switch.close()
        if self._family is not None:
            self._family.close()
            self._family = None

    def _register(self) -> str:
        """Ask for the records; return why not, and the cure."""
        if self._switched_off():
            return "the kernel does not count delays: sysctl -w kernel.task_delayacct=1"
        try:
            cpus = POSSIBLE.read_bytes().strip()
            self._family = Family("TASKSTATS", min(self._buffer, MOST))
            self._family.ask(GET, (REGISTER_CPUMASK, cpus + b"\0"))
        except OSError as error:
            self.close()
            return refusal(error)
        return ""

    def _switched_off(self) -> bool:
        """Tell whether delays are not counted; kernels before 5.14 have no switch and count."""
        return self._switch.read() == b"0\n"

    def _gather(self) -> tuple[list[EndedTask], bool]:
        """Take all records that wait; tell whether some did not fit."""
        tasks: list[EndedTask] = []
        overrun = False
        while self._family is not None:
            try:
                tasks.extend(task for body in self._family.waiting() for task in tasks_of(body))
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                overrun = True  # It is said once, and what did fit can be read after it.
            else:
                break
        return tasks, overrun

    def _counted(self, tasks: Sequence[EndedTask]) -> dict[str, float]:
        values = totals(tasks)
        why = "the records of this kernel do not have it: it needs a later one"
        self._absent = {name: why for name in self._columns if name not in values} | dict(self._absent)
        return {name: value for name, value in values.items() if name not in self._absent and math.isfinite(value)}


def tasks_of(body: bytes) -> Iterator[EndedTask]:
    """Read the records of one message; sums over a process, which come with its last task, are left out."""
    for kind, content in attributes_of(body):
        if kind == AGGREGATE_OF_TASK and (record := dict(attributes_of(content)).get(STATS)):
            (version,) = VERSION.unpack_from(record)
            pid, parent = IDS.unpack_from(record, PID)
            tgid = ID.unpack_from(record, TGID)[0] if version >= TGID_SINCE and version != TORN else pid
            yield EndedTask(pid, tgid, parent, version, record)


def tree(tasks: Iterable[EndedTask], pid: int, reaper: int) -> list[EndedTask]:
    """Return the tasks of a process and of its descendants; `reaper` is the process that orphans are given to."""
    left, mine = list(tasks), list[EndedTask]()
    known = {pid, reaper}
    while found := [task for task in left if task.tgid in known or task.parent in known]:
        left = [task for task in left if not (task.tgid in known or task.parent in known)]
        mine += found
        known |= {task.tgid for task in found}
    return mine


def totals(tasks: Sequence[EndedTask]) -> dict[str, float]:
    """Sum the delays of the tasks, those that their version of the record has.

    A time is NaN where a task waited for longer than it lived: a wake-up that overtakes the start of its first wait
    counts from the boot of the machine (seen on Linux 6.18: 23,257 s of disk in a run of 0.3 s, and in 0 to 23 of 100
    runs that read from a fast disk); the count holds.
    """
    version = tasks[0].version
    values = {"delay.tasks": float(len(tasks))}
    for name, (since, offset) in KINDS.items():
        if version >= since:
            pairs = [_possible(task, offset) for task in tasks]
            values[f"delay.{name}_count"] = float(sum(count for count, _ in pairs))
            values[f"delay.{name}_ms"] = sum(spent for _, spent in pairs) / 1e6
            if name == "cpu":
                most = max((spent for _, spent in pairs), key=lambda one: (math.isnan(one), one))
                values["delay.cpu_most_ms"] = most / 1e6
    if version >= LONGEST_WAIT_SINCE:
        longest = max(NUMBER.unpack_from(task.record, LONGEST_WAIT)[0] for task in tasks) / 1e6
        values["delay.cpu_longest_ms"] = longest if longest <= values["delay.cpu_ms"] else math.nan
    return values


def _possible(task: EndedTask, offset: int) -> tuple[float, float]:
    """Read count and nanoseconds of a delay; NaN for a time that cannot be."""
    count, spent = PAIR.unpack_from(task.record, offset)
    (lived_us,) = NUMBER.unpack_from(task.record, LIFE)
    return count, spent if spent <= 1000 * (lived_us + CLOCKS_DIFFER_US) else math.nan


def refusal(error: OSError) -> str:
    """Say why the kernel refused, and the cure."""
    reason = f"taskstats was refused ({error.strerror})"
    if error.errno == errno.EPERM:
        return f"{reason}: run as root or with the capability CAP_NET_ADMIN"
    if error.errno == errno.EINVAL:
        return f"{reason}, as it is in containers: run on the host or with its pid namespace (docker run --pid=host)"
    return f"{reason}: it needs a kernel with CONFIG_TASKSTATS and CONFIG_TASK_DELAY_ACCT"
