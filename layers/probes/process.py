"""The process of a run: its tree sampled while it lives, the zombie read at its end, the machine over the run."""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

from ..schema import Layer
from .base import Parts, Probe
from .machine import CounterFile, sources, ticks_per_second
from .perf_events import PerfEvents
from .sampler import SamplingProbe
from .sysfs import last_cpu

T = TypeVar("T")
FEWEST_READINGS = 3
"""Readings of a run that are worth telling: between fewer, a peak is missed or caught by chance."""
REST = 200
"""After a look it rests so many times as long as the look took CPU time: at most 0.5 % of a CPU goes into looking, and
the maps of a large program, whose lock a look holds, are left alone."""


class Looks(SamplingProbe[list[T]]):
    """Looks at every process of the running tree."""

    def __init__(self, layer: str, columns: Iterable[str], interval_ms: float) -> None:
        """`columns` are absent after a run that was too short."""
        shorter = max(1, round(interval_ms / 4))
        self._too_short = dict.fromkeys(
            columns,
            f"the runs end before they are seen {FEWEST_READINGS} times, {interval_ms:g} ms apart: "
            f"--layer {layer}:interval_ms={shorter}",
        )
        self._resting_until = 0.0
        super().__init__(interval_ms / 1e3)

    def look(self, pid: int) -> T | None:
        """Read of one process; None or OSError for one that has just ended."""
        raise NotImplementedError

    def enough(self) -> list[list[T]]:
        """Return the looks of the run just ended, one value for each process; none where there were too few."""
        looks = [seen for _, seen in self.samples()]
        self._absent = {} if len(looks) >= FEWEST_READINGS else self._too_short
        return [] if self._absent else looks

    def read(self, pid: int) -> list[T] | None:
        """Look at all, unless it is time to rest."""
        if pid == 0 or time.monotonic() < self._resting_until:
            return None
        spent = time.thread_time()
        seen = []
        for process in tree(pid):
            with suppress(OSError):
                if (value := self.look(process)) is not None:
                    seen.append(value)
        self._resting_until = time.monotonic() + REST * (time.thread_time() - spent)
        return seen or None


def tree(pid: int) -> Iterator[int]:
    """Walk over a process and its descendants, as far as the kernel tells (CONFIG_PROC_CHILDREN)."""
    yield pid
    for thread in threads(pid):
        with suppress(OSError):  # The thread has ended.
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split():
                yield from tree(int(child))


def threads(pid: int) -> list[str]:
    """List the threads of a process; none where it has ended."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


INTERVAL_S = 0.05
LEAST = 2
"""Threads, without which there is nothing to compare."""
TOO_FEW = (
    f"no run was seen with two threads, looking every {1000 * INTERVAL_S:g} ms: it needs a longer run, "
    "a program of several threads, and a kernel with /proc/PID/task/*/schedstat"
)

Thread = tuple[int, int]
"""Nanoseconds on a CPU, and ready but waiting for one."""


class ThreadsProbe(SamplingProbe[dict[int, Thread]]):
    """Samples /proc/PID/task/*/schedstat of the process with the most threads among the run and its descendants."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Threads of a run are always those of this /proc, whatever the root."""
        self._columns = [column.name for column in layer.columns if column.extract is None]
        self._met = False
        super().__init__(INTERVAL_S)

    def read(self, pid: int) -> dict[int, Thread] | None:
        if pid == 0:
            return None
        return max((dict(times(process)) for process in tree(pid)), key=len, default=None)

    def values(self) -> Mapping[str, float]:
        """Compare the threads that were seen, each as it was last seen; nothing where there was only one."""
        last: dict[int, Thread] = {}
        for _, seen in self.samples():
            last |= seen
        busy = [on_cpu for on_cpu, _ in last.values()]
        if len(busy) < LEAST or not any(busy):
            self._absent = {} if self._met else dict.fromkeys(self._columns, TOO_FEW)
            return {}
        self._met, self._absent = True, {}
        given = {
            "omp.cpu_imbalance": (max(busy) / statistics.fmean(busy) - 1) * 100,
            "omp.longest_wait_ms": max(wait for _, wait in last.values()) / 1e6,
        }
        return {name: given[name] for name in self._columns}


def times(pid: int) -> Iterator[tuple[int, Thread]]:
    """Give the time of each thread of a process, by its number."""
    for thread in threads(pid):
        with suppress(OSError):  # It has ended.
            on_cpu, wait, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
            yield int(thread), (int(on_cpu), int(wait))


SCHED = re.compile(rb"nr_(migrations|switches)\s*:\s*(\d+)")
IO_COLUMNS = {
    b"rchar": "read_chars",
    b"wchar": "write_chars",
    b"syscr": "read_calls",
    b"syscw": "write_calls",
    b"read_bytes": "read_bytes",
    b"write_bytes": "write_bytes",
}
DELAY_SWITCH = Path("/proc/sys/kernel/task_delayacct")


class Zombie(Probe):
    """Reads files of /proc/PID of the main thread between its end and its reaping."""

    def __init__(self, columns: Iterable[str]) -> None:
        """Find which of the columns this kernel shows, by reading the files of this process."""
        wanted = set(columns)
        self._absent: dict[str, str] = {}
        self._raw: dict[str, bytes] = {}
        self._files = {name: mine for name, all_of in FILES.items() if (mine := [c for c in all_of if c in wanted])}
        for name, mine in self._files.items():
            shown = self._parsed(name, self._read(os.getpid(), name))
            reason = f"/proc/PID/{name} does not show it on this kernel: it needs one that counts it"
            self._absent = {column: reason for column in mine if column not in shown} | self._absent
        # Kernels before 5.14 have no switch and count.
        off = DELAY_SWITCH.exists() and DELAY_SWITCH.read_text().strip() == "0"
        if "blkio_delay_ms" in wanted and off:
            self._absent["blkio_delay_ms"] = "the kernel does not count delays: sysctl -w kernel.task_delayacct=1"
        self._raw = {}

    def before(self) -> None:
        self._raw = {}

    def at_exit(self, pid: int) -> None:
        self._raw = {name: raw for name in self._files if (raw := self._read(pid, name)) is not None}

    def values(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, raw in self._raw.items():
            shown = self._parsed(name, raw)
            values |= {c: shown[c] for c in self._files[name] if c in shown and c not in self._absent}
        return values

    def _read(self, pid: int, name: str) -> bytes | None:
        try:
            file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.read(file, 16384)
            finally:
                os.close(file)
        except OSError as error:
            reason = f"/proc/PID/{name} cannot be read ({error.strerror}): run as root or on a kernel that has it"
            self._absent |= dict.fromkeys(self._files[name], reason)
            return None

    def _parsed(self, name: str, raw: bytes | None) -> dict[str, float]:
        return {} if raw is None else PARSERS[name](raw)


def parse_sched(raw: bytes) -> dict[str, float]:
    """Read /proc/PID/sched."""
    return {name.decode(): float(count) for name, count in SCHED.findall(raw)}


def parse_schedstat(raw: bytes) -> dict[str, float]:
    """Read /proc/PID/schedstat; three zeros mean that the kernel keeps no such account."""
    on_cpu_ns, delay_ns, timeslices = map(int, raw.split())
    if on_cpu_ns == 0:
        return {}
    return {"on_cpu_ms": on_cpu_ns / 1e6, "run_delay_ms": delay_ns / 1e6, "timeslices": float(timeslices)}


def parse_stat(raw: bytes) -> dict[str, float]:
    """Read fields 39 (processor) and 42 (block I/O delay in ticks) of /proc/PID/stat."""
    ticks = int(raw.rpartition(b")")[2].split()[42 - 3])
    return {"last_cpu": float(last_cpu(raw)), "blkio_delay_ms": ticks * 1000 / ticks_per_second()}


def parse_io(raw: bytes) -> dict[str, float]:
    """Read /proc/PID/io."""
    pairs = (line.split(b": ") for line in raw.splitlines())
    return {IO_COLUMNS[name]: float(count) for name, count in pairs if name in IO_COLUMNS}


FILES = {
    "sched": ("migrations", "switches"),
    "schedstat": ("on_cpu_ms", "run_delay_ms", "timeslices"),
    "stat": ("last_cpu", "blkio_delay_ms"),
    "io": tuple(IO_COLUMNS.values()),
}
"""The files of /proc/PID and their columns."""
PARSERS: dict[str, Callable[[bytes], dict[str, float]]] = {
    "sched": parse_sched,
    "schedstat": parse_schedstat,
    "stat": parse_stat,
    "io": parse_io,
}


def open_process(layer: Layer, root: Path) -> Probe:
    """Open the parts that the columns of the layer need, so that every pair of readings hugs the run."""
    columns = [column.name for column in layer.columns]
    with ExitStack() as opened:
        parts: list[Probe] = []
        for source in sources(root):
            parts.append(CounterFile(source, columns))
            opened.callback(parts[-1].close)
        parts += [Zombie(columns), PerfEvents([c for c in layer.columns if c.name.startswith("perf.")], root)]
        opened.pop_all()
    return Parts(layer, parts)
