"""How long each CPU has been busy, from the finest account that a kernel keeps and shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .machine import CPU_FIELDS, KernelFile, ticks_per_second

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
