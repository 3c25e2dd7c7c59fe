"""The probe of the layer `process`: the machine over the run, the process tree, the zombie."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from ..schema import Layer
from .base import Parts, Probe
from .machine import CounterFile, sources, ticks_per_second
from .perf_events import PerfEvents
from .sysfs import last_cpu

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
        if "blkio_delay_ms" in wanted and not delays_counted():
            self._absent["blkio_delay_ms"] = "the kernel does not count delays: sysctl -w kernel.task_delayacct=1"
        self._raw = {}

    def before(self) -> None:
        """Forget the run before."""
        self._raw = {}

    def at_exit(self, pid: int) -> None:
        """Read every file once."""
        self._raw = {name: raw for name in self._files if (raw := self._read(pid, name)) is not None}

    def values(self) -> dict[str, float]:
        """Parse the files; a column that is absent gives no entry."""
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


def delays_counted() -> bool:
    """Tell whether delay accounting is on; kernels before 5.14 have no switch and count."""
    return not DELAY_SWITCH.exists() or DELAY_SWITCH.read_text().strip() != "0"


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
