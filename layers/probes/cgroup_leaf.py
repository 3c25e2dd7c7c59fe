"""A control group of its own, version 2, for vgo-agent and its runs: what the kernel counts there is of the run alone.

Children are born into the group of their parent, so this process moves once, at the beginning, and back at the end:
a move takes milliseconds. What this process itself uses of the CPU in a run is taken off.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from .base import TwoReadings
from .cgroup_tree import own_groups, unified
from .machine import KernelFile
from .sysfs import numbers, stalls

NAME = "vgo-agent-"
MEMBERS = "cgroup.procs"
TRIES = 2
"""A process may fork while the others are moved."""
PRESSURES = ("cpu", "memory", "io", "irq")
Reading = tuple[int, list[bytes | None]]
"""CPU nanoseconds of this process, then what each file says."""


class Leaf(TwoReadings[Reading]):
    """Counts CPU use and pressure of the run alone."""

    def __init__(self, columns: Iterable[str]) -> None:
        """Make the group and move into it; where that is refused every column is absent."""
        self._files: list[KernelFile] = []
        self._home, self._leaf, why = enter_leaf()
        if self._leaf is None:
            self._absent = dict.fromkeys(columns, why)
            return
        names = ("cpu.stat", *(f"{name}.pressure" for name in PRESSURES))
        self._files = [self._keep(KernelFile(self._leaf / name)) for name in names]
        self._was = self._now = self._read()
        shown = self._changes()
        self._absent = {name: self._why(name) for name in columns if name not in shown}

    def values(self) -> Mapping[str, float]:
        """Return the differences; nothing of what went backwards."""
        if self._leaf is None:
            return {}
        return {name: value for name, value in self._changes().items() if value >= 0 and name not in self._absent}

    def close(self) -> None:
        """Move back, with everything that was born in the group, and remove it."""
        super().close()
        if self._leaf is not None and self._home is not None:
            leave_leaf(self._leaf, self._home)
        self._leaf = None

    def _read(self) -> Reading:
        # The clock first: asking for it makes the kernel charge this process up to now, to its group too.
        own = time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)
        return own, [file.read() for file in self._files]

    def _changes(self) -> dict[str, float]:
        (own_was, was), (own_now, now) = self._was, self._now
        values = usage(was[0], now[0], (own_now - own_was) / 1e6)
        for name, start, end in zip(PRESSURES, was[1:], now[1:], strict=True):
            if start is not None and end is not None:
                first, last = stalls(start), stalls(end)
                values |= {f"leaf.{name}_{kind}_us": last[kind] - first[kind] for kind in first.keys() & last.keys()}
        return values

    def _why(self, column: str) -> str:
        if column.startswith("leaf.irq_"):
            return "the kernel does not time its interrupts: it needs one with CONFIG_IRQ_TIME_ACCOUNTING"
        said = next((file.why for file in self._files if file.why), f"{self._leaf} does not have it")
        return f"{said}: boot with psi=1 on a kernel with CONFIG_PSI, 4.20 or later"


def usage(was: bytes | None, now: bytes | None, own_ms: float) -> dict[str, float]:
    """Return the CPU time of the runs in milliseconds; the share of the kernel in it is that of the whole group."""
    if was is None or now is None:
        return {}
    first, last = numbers(was), numbers(now)
    whole, system = (last[name] - first[name] for name in ("usage_usec", "system_usec"))
    # The two clocks are read a moment apart, which for a run of next to nothing may come out below zero.
    usage_ms = max(0.0, whole / 1e3 - own_ms)
    system_ms = usage_ms * min(1.0, system / whole) if whole > 0 else 0.0
    return {"leaf.usage_ms": usage_ms, "leaf.system_ms": system_ms, "leaf.user_ms": usage_ms - system_ms}


def enter_leaf() -> tuple[Path | None, Path | None, str]:
    """Return the group that this process was in and its leaf, or the reason why there is none."""
    groups = own_groups().get("")
    if not groups:
        return None, None, "there is no cgroup v2: mount -t cgroup2 none /sys/fs/cgroup/unified"
    home = groups[0]
    leaf = home / f"{NAME}{os.getpid()}"
    if home.name == leaf.name:
        return None, None, "another probe of this process has the leaf: name the layer cgroup once"
    try:
        remove_leaves(home)
        if (home / "cgroup.subtree_control").read_bytes().strip():
            # Then a new group would be a party of its own when CPU time is shared out, which changes the run.
            return None, None, f"{home} hands controllers to its groups: start it with systemd-run --scope"
        make_leaf(leaf)
    except OSError as error:
        cure = "run as root or with systemd-run --user --scope -p Delegate=yes, in a container with --privileged"
        return None, None, f"no group of its own can be made in {home} ({error.strerror}): {cure}"
    return home, leaf, ""


def make_leaf(leaf: Path) -> None:
    """Make the group and move this process into it; OSError where either is refused, and no group is left."""
    for last in (False, False, True):
        leaf.mkdir(exist_ok=True)
        try:
            (leaf / MEMBERS).write_text(str(os.getpid()))
        except FileNotFoundError:
            if last:  # Else another agent that was cleaning up took it for a dead one's, empty as it was.
                raise
        except OSError:
            leaf.rmdir()
            raise
        else:
            return


def leave_leaf(leaf: Path, home: Path) -> None:
    """Move every process of the leaf to the group around it, and remove the leaf."""
    (home / MEMBERS).write_text(str(os.getpid()))
    with suppress(OSError):  # What is left is busy: the next agent removes it.
        for _ in range(TRIES):
            for pid in (leaf / MEMBERS).read_text().split():
                with suppress(ProcessLookupError):  # It has just ended.
                    (home / MEMBERS).write_text(pid)
        leaf.rmdir()


def remove_leaves(group: Path | None = None) -> list[str]:
    """Remove the empty leaves that killed agents left below a group, or anywhere, and name them.

    A living agent is in its leaf, and the kernel removes no group that has a process.
    """
    top = unified()
    if top is None:
        return []
    removed = []
    # A leaf may lie in a leaf: bottom up.
    for folder, groups, _ in os.walk(group or top, topdown=False):
        for name in groups:
            if name.startswith(NAME):
                with suppress(OSError):
                    os.rmdir(leaf := f"{folder}/{name}")
                    removed.append(leaf)
    return removed
