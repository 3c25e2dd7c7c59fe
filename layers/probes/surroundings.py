"""What happens on some CPUs of the machine between two readings, as rates and shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .machine import (
    CPU_FIELDS,
    KernelFile,
    comparable,
    difference,
    growth,
    interrupt_lines,
    parse_pressure,
    ticks_per_second,
)

CPUACCT = ("cpuacct", "cpu,cpuacct", "cpuacct,cpu")
"""Names under which the first version of control groups is mounted in /sys/fs/cgroup."""
WORK = tuple(CPU_FIELDS.index(field) for field in ("user", "nice", "system", "irq", "softirq"))
STEAL = CPU_FIELDS.index("steal")


class Account(NamedTuple):
    """One file that tells the busy time of CPUs."""

    name: str
    file: KernelFile
    parse: Callable[[bytes], dict[int, float]]
    """Seconds by CPU, since some time or other."""


def finest(root: Path) -> Account:
    """Open the best account there is: nanoseconds of all CPUs, nanoseconds up to the last switch, or clock ticks."""
    folders = (root / "sys/fs/cgroup" / name for name in CPUACCT)
    # Only the root of the hierarchy has a release agent; any other group counts its own tasks only.
    tops = (folder for folder in folders if (folder / "release_agent").exists())
    finer = [("cpuacct", folder / "cpuacct.usage_percpu", parse_usage) for folder in tops]
    for name, path, parse in (*finer, ("schedstat", root / "proc/schedstat", parse_schedstat)):
        account = Account(name, KernelFile(path), parse)
        text = account.file.read()
        if text is not None and parse(text):
            return account
        account.file.close()
    return Account("stat", KernelFile(root / "proc/stat"), parse_busy)


def parse_usage(text: bytes) -> dict[int, float]:
    """Read cpuacct.usage_percpu: nanoseconds of each CPU, in order."""
    return {cpu: int(word) / 1e9 for cpu, word in enumerate(text.split())}


def parse_schedstat(text: bytes) -> dict[int, float]:
    """Read /proc/schedstat: the seventh number of a CPU is what tasks ran there, in ns, up to the last that left it."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(b"version ") or int(lines[0].split()[1]) < 15:
        return {}  # Older ones count in clock ticks.
    return {int(words[0][3:]): int(words[7]) / 1e9 for line in lines[1:] if (words := line.split())[0][:3] == b"cpu"}


def parse_busy(text: bytes) -> dict[int, float]:
    """Read the work of each CPU in /proc/stat, in steps of a clock tick."""
    second = ticks_per_second()
    return {cpu: sum(ticks[place] for place in WORK) / second for cpu, ticks in cpu_ticks(text).items()}


def cpu_ticks(text: bytes) -> dict[int, list[int]]:
    """Read the line of each CPU that is online in /proc/stat: its times in the order of CPU_FIELDS."""
    # The long line of interrupts after them is not needed.
    words = (line.split() for line in text.partition(b"\nintr ")[0].splitlines())
    return {int(name[3:]): list(map(int, ticks)) for name, *ticks in words if name[:3] == b"cpu" and name != b"cpu"}


RESOURCES = ("cpu", "memory", "io", "irq")
"""Files of /proc/pressure; irq is there since Linux 6.1, where interrupts are timed."""
CPUs = frozenset[int]


class SurroundingsReading(NamedTuple):
    """All files at one time, which is the time nearest to what is measured."""

    at: float
    thread_s: float
    """CPU time of this thread by then."""
    texts: Mapping[str, bytes | None]


class SurroundingsWindow(NamedTuple):
    """Two readings and what lies between."""

    start: SurroundingsReading
    end: SurroundingsReading

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end.at - self.start.at

    def texts(self, name: str) -> tuple[bytes, bytes] | None:
        """Return both texts of a file; None where one reading failed."""
        was, now = self.start.texts[name], self.end.texts[name]
        return None if was is None or now is None else (was, now)


class Surroundings:
    """Reads the files that tell of interrupts, pressure, steal and the busy time of each CPU."""

    def __init__(self, root: Path) -> None:
        self.account = finest(root)
        # The dearest to read comes first, and the account of the CPUs last, so that it hugs what is measured.
        self.files = {
            "interrupts": KernelFile(root / "proc/interrupts"),
            "softirqs": KernelFile(root / "proc/softirqs"),
            **{name: KernelFile(root / "proc/pressure" / name) for name in RESOURCES},
            "stat": KernelFile(root / "proc/stat"),
            "busy": self.account.file,
        }
        self._kinds: dict[tuple[str, int], tuple[str, ...]] = {}

    def read_inwards(self) -> SurroundingsReading:
        """Read all before something."""
        texts = {name: file.read() for name, file in self.files.items() if name != "busy"}
        # Asking for our own CPU time makes the kernel book it: what we did so far must not count as others' later.
        thread_s = time.thread_time()
        texts["busy"] = self.files["busy"].read()
        return SurroundingsReading(time.monotonic(), thread_s, texts)

    def read_outwards(self) -> SurroundingsReading:
        """Read all after something, in the opposite order."""
        at, thread_s = time.monotonic(), time.thread_time()
        return SurroundingsReading(at, thread_s, {name: file.read() for name, file in reversed(self.files.items())})

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def busy_s(self, window: SurroundingsWindow, cpus: CPUs) -> float | None:
        """Return the CPU time of everybody on these CPUs in seconds; None where one came or went."""
        if (texts := window.texts("busy")) is None:
            return None
        grown = growth(*map(self.account.parse, texts))
        if not cpus <= grown.keys():
            return None
        # An account up to the last switch may hand over in one lump what a task did before the window.
        return sum(min(grown[cpu], window.length) for cpu in cpus)

    def rates(self, window: SurroundingsWindow, cpus: CPUs) -> dict[str, float]:
        """Return interrupts and forks per second, shares in percent, tasks ready to run; what failed is left out."""
        counts = self._counts(window, cpus, "interrupts", "irq.") | self._counts(window, cpus, "softirqs", "softirq.")
        started = single(window, b"processes")
        counts |= {"forks": started[1] - started[0]} if started and started[1] >= started[0] else {}
        rates = {name: count / window.length for name, count in counts.items()}
        for name in RESOURCES:
            rates |= pressure(window, name)
        if (share := steal(window, cpus)) is not None:
            rates["steal"] = share
        if ready := single(window, b"procs_running"):  # on average of both readings, without ourselves
            rates["runnable"] = max(0.0, sum(ready) / 2 - 1)
        return rates

    def _counts(self, window: SurroundingsWindow, cpus: CPUs, name: str, prefix: str) -> dict[str, float]:
        """Return how often each kind interrupted these CPUs; nothing of what went backwards."""
        texts = window.texts(name)
        if texts is None or not cpus or (changes := per_cpu(texts, cpus)) is None:
            return {}
        shape = (name, texts[1].count(b"\n"))
        if shape not in self._kinds:
            self._kinds[shape] = tuple(sums([0], texts[1].splitlines()))
        grown = ((kind, changes.get(kind, 0.0)) for kind in self._kinds[shape])
        return {prefix + kind.removeprefix("irq."): count for kind, count in grown if count >= 0}


def per_cpu(texts: tuple[bytes, bytes], cpus: CPUs) -> dict[str, float] | None:
    """Return what changed in a file with a column for each CPU, on these; None where a CPU came or went."""
    if not comparable(*texts):
        return None
    online = [int(word[3:]) for word in texts[0].partition(b"\n")[0].split()]
    if not cpus <= set(online):
        return None
    places = [place for place, cpu in enumerate(online) if cpu in cpus]
    return difference(*texts, partial(sums, places))


def sums(places: list[int], lines: Iterable[bytes]) -> dict[str, float]:
    """Add up the counts of some CPUs, by column."""
    values: dict[str, float] = {}
    for name, counts, _ in interrupt_lines(lines):
        if len(counts) > places[-1]:  # ERR and MIS are one number for the whole machine.
            values[name] = values.get(name, 0.0) + sum(counts[place] for place in places)
    return values


def pressure(window: SurroundingsWindow, name: str) -> dict[str, float]:
    """Return the part of the time, in percent, in which tasks stood still for want of something."""
    if (texts := window.texts(name)) is None:
        return {}
    grown = growth(*(parse_pressure(name, text.splitlines()) for text in texts))
    return {key.removesuffix("_us"): us / window.length / 1e4 for key, us in grown.items()}


def steal(window: SurroundingsWindow, cpus: CPUs) -> float | None:
    """Return the part of the time of these CPUs that the hypervisor took, in percent; None where one came or went."""
    texts = window.texts("stat")
    was, now = map(cpu_ticks, texts) if texts else ({}, {})
    if not cpus or not cpus <= was.keys() & now.keys():
        return None
    ticks = sum(now[cpu][STEAL] - was[cpu][STEAL] for cpu in cpus)
    return None if ticks < 0 else min(100.0, 100 * ticks / ticks_per_second() / window.length / len(cpus))


def single(window: SurroundingsWindow, key: bytes) -> tuple[float, float] | None:
    """Read a line of /proc/stat that holds one number, in both readings."""
    parts = [(reading.texts["stat"] or b"").partition(b"\n" + key + b" ") for reading in window]
    was, now = (float(rest.partition(b"\n")[0]) if found else None for _, found, rest in parts)
    return None if was is None or now is None else (was, now)
