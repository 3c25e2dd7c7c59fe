"""Counters of the whole machine, as differences of one kernel file over a run."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import compress
from operator import ne
from pathlib import Path
from typing import NamedTuple, TypeVar

from .base import TwoReadings
from .sysfs import stalls

Key = TypeVar("Key")
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
class MachineFile:
    """One kernel file and the columns that come from it."""

    path: str
    prefixes: tuple[str, ...]
    parse: Parser
    cure: str = "it needs a kernel that counts it"
    head: bool = False
    """Its first line names the CPUs, over which the others are summed."""


class KernelFile:
    """One file that is opened once and read whole, over and over."""

    def __init__(self, path: str | Path) -> None:
        """Open it; where that fails every reading is None and `why` says the reason."""
        self.path = str(path)
        self.why = ""
        self._file = -1
        try:
            self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self._fail(error)

    def read(self) -> bytes | None:
        """Return what it says now; None where it cannot be read."""
        if self._file < 0:
            return None
        try:
            return read_whole(self._file)
        except OSError as error:
            self._fail(error)
            return None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _fail(self, error: OSError) -> None:
        self.why = f"{self.path} cannot be read ({error.strerror})"


class CounterFile(TwoReadings[bytes | None]):
    """Reads one file before and after each run; the file is opened once."""

    def __init__(self, source: MachineFile, columns: Iterable[str]) -> None:
        self._source = source
        self._mine = [column for column in columns if column.startswith(source.prefixes)]
        self._file = self._keep(KernelFile(source.path))
        self._was = self._now = None
        self._zeros: dict[str, float] = {}
        self._lines = -1
        self._learn(self._file.read())

    def values(self) -> dict[str, float]:
        """Return the change of each column; nothing of what went backwards or was not there both times."""
        was, now = self._was, self._now
        if was is None or now is None:
            self._learn(now)
            return {}
        before = self._zeros
        if now.count(b"\n") != self._lines:
            self._learn(now)
        if self._source.head and not comparable(was, now):
            return {}
        # A line of interrupts that appears has counted from zero; any other counter comes with its past.
        values = {name: 0.0 for name in self._zeros if self._source.head or name in before}
        for name, change in difference(was, now, self._source.parse).items():
            if change < 0:
                values.pop(name, None)
            elif name in values:
                values[name] = change
        return values

    def _read(self) -> bytes | None:
        return self._file.read() if self._mine else None

    def _learn(self, text: bytes | None) -> None:
        """Find which columns the file has, at first and whenever it got longer or shorter."""
        if not self._mine:
            return
        reason = f"{self._file.why}: {self._source.cure}"
        known: dict[str, float] = {}
        if text is not None:
            reason = f"{self._source.path} does not have it on this kernel: {self._source.cure}"
            known = self._source.parse(text.splitlines())
            self._lines = text.count(b"\n")
        self._absent = {column: reason for column in self._mine if column not in known}
        self._zeros = dict.fromkeys((column for column in self._mine if column in known), 0.0)


class FileSource(NamedTuple):
    """A small file, and the columns that its text gives."""

    path: Path
    parse: Callable[[bytes], Mapping[str, float]]
    grows: bool = True
    """It counts, and its growth over a run is told; otherwise it shows a level, that at the start of the run."""


class FileColumns(TwoReadings[list[bytes | None]]):
    """Reads files around a run; a column that several of them give is the sum, or the greatest of their levels."""

    def __init__(self, sources: Iterable[FileSource], columns: Iterable[str], cure: str, missing: str = "") -> None:
        """Of the `columns`, `*` for any name, those that no file gives now are absent; `missing` says why."""
        self._sources = tuple(sources)
        self._files = [self._keep(KernelFile(source.path)) for source in self._sources]
        self._was = self._now = self._read()
        shown = self.values()
        unread = next((file.why for file in self._files if file.why), "")
        why = f"{unread or missing or f'{self._sources[0].path} does not tell it'}: {cure}"
        self._absent = {name: why for name in columns if not any(fnmatchcase(one, name) for one in shown)}

    def values(self) -> dict[str, float]:
        """Parse; nothing of a column of which a part cannot be told."""
        values: dict[str, float] = {}
        for source, was, now in zip(self._sources, self._was, self._now, strict=True):
            start, end = (source.parse(said) if said is not None else {} for said in (was, now))
            grown = growth(start, end)  # NaN: it went backwards, or was not there both times
            parts = {name: round(grown.get(name, math.nan), 6) for name in {**start, **end}} if source.grows else start
            for name, part in parts.items():
                before = values.get(name)
                values[name] = part if before is None else before + part if source.grows else max(before, part)
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def after(self) -> None:
        """Read again what counts."""
        pairs = zip(self._sources, self._files, strict=True)
        self._now = [file.read() if source.grows else None for source, file in pairs]

    def _read(self) -> list[bytes | None]:
        return [file.read() for file in self._files]


def read_whole(file: int) -> bytes:
    """Read a kernel file from its start; a read may end at the kernel's buffer before the file does."""
    parts = []
    position = 0
    while part := os.pread(file, 65536, position):
        parts.append(part)
        position += len(part)
    return b"".join(parts)


def comparable(was: bytes, now: bytes) -> bool:
    """Tell whether two readings of a file of the CPUs have the same CPUs; a line that went would take from the sums."""
    return was.partition(b"\n")[0] == now.partition(b"\n")[0] and was.count(b"\n") <= now.count(b"\n")


def difference(was: bytes, now: bytes, parse: Parser) -> dict[str, float]:
    """Return what changed; only lines that did are parsed, for on many CPUs the files are large."""
    if was == now:
        return {}
    lines_was, lines_now = was.splitlines(), now.splitlines()
    if len(lines_was) == len(lines_now):
        changed = list(map(ne, lines_was, lines_now))
        lines_was, lines_now = list(compress(lines_was, changed)), list(compress(lines_now, changed))
    start, end = parse(lines_was), parse(lines_now)
    # Times are fractions: rounding takes off the noise of their binary form, so that equal changes stay equal.
    return {name: round(end.get(name, 0.0) - start.get(name, 0.0), 6) for name in start | end}


def growth(was: Mapping[Key, float], now: Mapping[Key, float]) -> dict[Key, float]:
    """Return what each counter grew by; nothing of what went backwards or was not there both times."""
    return {name: now[name] - start for name, start in was.items() if now.get(name, -1.0) >= start}


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
    for name, counts, _ in interrupt_lines(lines):
        values[name] = values.get(name, 0.0) + sum(counts)
    return values


def interrupt_lines(lines: Iterable[bytes]) -> Iterator[tuple[str, list[int], list[bytes]]]:
    """Read the lines of /proc/interrupts: the column, the counts in the order of the first line's CPUs, the rest."""
    for line in lines:
        label, colon, rest = line.partition(b":")
        if not colon:
            continue  # The first line names the CPUs.
        words = rest.split()
        cpus = next((place for place, word in enumerate(words) if not word.isdigit()), len(words))
        yield interrupt_name(label.strip(), words[cpus:]), [int(word) for word in words[:cpus]], words[cpus:]


def interrupts_of_cpus(text: bytes) -> dict[int, int]:
    """Sum /proc/interrupts for each CPU, over all lines but ERR and MIS, which count for the machine."""
    head, *lines = text.splitlines() or [b""]
    totals = {int(name[3:]): 0 for name in head.split() if name[:3] == b"CPU"}
    for _, counts, _ in interrupt_lines(lines):
        if len(counts) == len(totals):
            totals = {cpu: total + count for (cpu, total), count in zip(totals.items(), counts, strict=True)}
    return totals


def interrupt_name(label: bytes, words: list[bytes]) -> str:
    """Name the column of one line; arm64 numbers its timer and its inter-processor interrupts."""
    if words and (label.startswith(b"IPI") or words[-1] == b"arch_timer"):
        for word in (words[0], words[-1]):
            if word in INTERRUPT_NAMES:
                return f"irq.{INTERRUPT_NAMES[word]}"
    return "irq.device" if label.isdigit() else f"irq.{label.decode()}"


def parse_pressure(resource: str, lines: Iterable[bytes]) -> dict[str, float]:
    """Read one file of /proc/pressure: stall totals in microseconds."""
    return {f"psi.{resource}_{kind}_us": us for kind, us in stalls(b"\n".join(lines)).items()}


@functools.cache
def ticks_per_second() -> int:
    """Return the unit of the times in /proc."""
    return os.sysconf("SC_CLK_TCK")


def sources(root: Path) -> tuple[MachineFile, ...]:
    """Return the files below a root, the dearest to read first: so the cheap ones are read nearest to the run."""
    proc, pressure = root / "proc", "boot with psi=1 on a kernel with CONFIG_PSI"
    return (
        MachineFile(
            f"{proc}/interrupts", ("irq.",), parse_interrupts, "not every kind of machine raises it", head=True
        ),
        MachineFile(f"{proc}/vmstat", ("vm.",), parse_vmstat),
        MachineFile(f"{proc}/stat", ("cpu.", "stat.", "softirq."), parse_stat),
        *(
            MachineFile(f"{proc}/pressure/{name}", (f"psi.{name}_",), functools.partial(parse_pressure, name), pressure)
            for name in ("cpu", "memory", "io")
        ),
    )
