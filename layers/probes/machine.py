"""Counters of the whole machine, as differences of one kernel file over a run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import ne

Parser = Callable[[Iterable[bytes]], dict[str, float]]

CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Order of the times in the first line of /proc/stat; guest time after them is part of user."""
SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
"""Order in the `softirq` line of /proc/stat, after its total; the same since Linux 2.6.31."""
CPU_COLUMNS = tuple(f"cpu.{field}" for field in CPU_FIELDS)
SOFTIRQ_COLUMNS = tuple(f"softirq.{name}" for name in SOFTIRQS)
INTERRUPT_NAMES = {b"Rescheduling": "RES", b"Function": "CAL", b"arch_timer": "LOC"}
"""Words by which arm64 names what x86 gives a letter code."""


@dataclass(frozen=True)
class Source:
    """One kernel file and the columns that come from it."""

    path: str
    prefixes: tuple[str, ...]
    parse: Parser
    cure: str = "it needs a kernel that counts it"


class CounterFile:
    """Reads one file before and after each run; the file is opened once."""

    def __init__(self, source: Source, columns: Iterable[str]) -> None:
        """Open the file and find which of the layer's columns it has."""
        self._source = source
        self._mine = [column for column in columns if column.startswith(source.prefixes)]
        self._absent: dict[str, str] = {}
        self._file = -1
        self._was: bytes | None = None
        self._now: bytes | None = None
        try:
            self._file = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
            known = source.parse(read_whole(self._file).splitlines())
        except OSError as error:
            self._lose(error)
            known = {}
        else:
            reason = f"{source.path} does not have it on this kernel: {source.cure}"
            self._absent |= {column: reason for column in self._mine if column not in known}
        self._zeros = dict.fromkeys((column for column in self._mine if column in known), 0.0)

    def before(self) -> None:
        """Read the file."""
        self._was = self._read()

    def at_exit(self, pid: int) -> None:
        """Nothing: the file is not about one process."""

    def after(self) -> None:
        """Read the file again."""
        self._now = self._read()

    def values(self) -> dict[str, float]:
        """Return the change of each column; nothing where one of the two readings failed."""
        if self._was is None or self._now is None:
            return {}
        values = self._zeros.copy()
        for name, change in difference(self._was, self._now, self._source.parse).items():
            if name in values:
                values[name] = change
        return values

    def absent(self) -> Mapping[str, str]:
        """Name the columns that the file does not have."""
        return self._absent

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)

    def _read(self) -> bytes | None:
        if not self._zeros:
            return None
        try:
            return read_whole(self._file)
        except OSError as error:
            self._lose(error)
            return None

    def _lose(self, error: OSError) -> None:
        reason = f"{self._source.path} cannot be read ({error.strerror}): {self._source.cure}"
        self._absent |= dict.fromkeys(self._mine, reason)


def read_whole(file: int) -> bytes:
    """Read a kernel file from its start; a read may end at the kernel's buffer before the file does."""
    parts = []
    position = 0
    while part := os.pread(file, 65536, position):
        parts.append(part)
        position += len(part)
    return b"".join(parts)


def difference(was: bytes, now: bytes, parse: Parser) -> dict[str, float]:
    """Return what grew; only lines that changed are parsed, for on many CPUs the files are large."""
    if was == now:
        return {}
    lines_was, lines_now = was.splitlines(), now.splitlines()
    if len(lines_was) == len(lines_now):
        changed = list(map(ne, lines_was, lines_now))
        lines_was, lines_now = list(compress(lines_was, changed)), list(compress(lines_now, changed))
    start, end = parse(lines_was), parse(lines_now)
    # Times are fractions: rounding takes off the noise of their binary form, so that equal changes stay equal.
    return {name: round(end.get(name, 0.0) - start.get(name, 0.0), 6) for name in start | end}


def parse_stat(lines: Iterable[bytes]) -> dict[str, float]:
    """Read /proc/stat: CPU times in seconds, switches, interrupts, processes, softirqs."""
    values: dict[str, float] = {}
    for line in lines:
        name, _, rest = line.partition(b" ")
        if name == b"cpu":
            second = ticks_per_second()
            values.update(zip(CPU_COLUMNS, [int(ticks) / second for ticks in rest.split()], strict=False))
        elif name == b"softirq":
            values.update(zip(SOFTIRQ_COLUMNS, map(float, rest.split()[1:]), strict=False))
        elif name in (b"ctxt", b"intr", b"processes"):
            # `intr` goes on with one number for every interrupt line.
            values[f"stat.{name.decode()}"] = float(rest.split(None, 1)[0])
    return values


def parse_vmstat(lines: Iterable[bytes]) -> dict[str, float]:
    """Read /proc/vmstat."""
    return {f"vm.{name.decode()}": float(count) for name, count in (line.split() for line in lines)}


def parse_interrupts(lines: Iterable[bytes]) -> dict[str, float]:
    """Read /proc/interrupts: a column for each lettered type, one for all numbered lines; sums over CPUs."""
    values: dict[str, float] = {"irq.device": 0.0}
    for line in lines:
        label, colon, rest = line.partition(b":")
        if not colon:
            continue  # The first line names the CPUs.
        words = rest.split()
        count = 0
        for position, word in enumerate(words):
            if not word.isdigit():
                words = words[position:]
                break
            count += int(word)
        name = interrupt_name(label.strip(), words)
        values[name] = values.get(name, 0.0) + count
    return values


def interrupt_name(label: bytes, words: list[bytes]) -> str:
    """Name the column of one line; arm64 numbers its timer and its inter-processor interrupts."""
    if words and (label.startswith(b"IPI") or words[-1] == b"arch_timer"):
        for word in (words[0], words[-1]):
            if word in INTERRUPT_NAMES:
                return f"irq.{INTERRUPT_NAMES[word]}"
    return "irq.device" if label.isdigit() else f"irq.{label.decode()}"


def parse_pressure(resource: str, lines: Iterable[bytes]) -> dict[str, float]:
    """Read one file of /proc/pressure: stall totals in microseconds."""
    values = {}
    for line in lines:
        kind, total = line.partition(b" ")[0].decode(), line.rpartition(b"=")[2]
        values[f"psi.{resource}_{kind}_us"] = float(total)
    return values


@functools.cache
def ticks_per_second() -> int:
    """Return the unit of the times in /proc."""
    return os.sysconf("SC_CLK_TCK")


def sources() -> tuple[Source, ...]:
    """Return the files, the dearest to read first: so the cheap ones are read nearest to the run."""
    pressure = "boot with psi=1 on a kernel with CONFIG_PSI"
    return (
        Source("/proc/interrupts", ("irq.",), parse_interrupts, "this kind of machine may not raise it"),
        Source("/proc/vmstat", ("vm.",), parse_vmstat),
        Source("/proc/stat", ("cpu.", "stat.", "softirq."), parse_stat),
        *(
            Source(f"/proc/pressure/{name}", (f"psi.{name}_",), functools.partial(parse_pressure, name), pressure)
            for name in ("cpu", "memory", "io")
        ),
    )
