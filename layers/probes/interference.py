"""The probe of the layer `interference`: what others did on the CPUs of a run, as rates and shares.

There are two windows: the run, and, where `idle_ms` asks for it, a moment just before it in which vgo-agent sleeps.
What is seen in that moment cannot come from the run.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ..schema import Layer, Value
from .base import LayerProbe
from .machine import ticks_per_second
from .perf_open import libc
from .surroundings import RESOURCES, CPUs, Surroundings, SurroundingsWindow, cpu_ticks, steal
from .sysfs import last_cpu, read_once

CANDIDATES = 20
"""So many of the busiest are asked where they last ran."""


def cpu_clocks() -> dict[int, int]:
    """Return the CPU time of each process in ns, all its threads together; anyone may read these clocks."""
    clocks = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                # The kernel's number for the CPU clock of a whole process: see clock_getcpuclockid(3).
                clocks[int(name)] = time.clock_gettime_ns((~int(name) << 3) | 2)
    return clocks


def busiest(was: dict[int, int], now: dict[int, int], run: int, cpus: Iterable[int]) -> tuple[str, float]:
    """Name the process, neither of the run's group nor this one, that used most and ran last on one of the CPUs.

    And the seconds that it used.
    """
    used = {pid: clock - was.get(pid, 0) for pid, clock in now.items() if pid not in (run, os.getpid())}
    wanted = set(cpus)
    for pid in sorted(used, key=lambda pid: used[pid], reverse=True)[:CANDIDATES]:
        # It may have ended since; then nobody knows its name any more.
        with suppress(OSError):
            if used[pid] > 0 and os.getpgid(pid) != run and last_cpu(read_once(f"/proc/{pid}/stat")) in wanted:
                name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
                # Of kernel threads without the number of a CPU or a queue.
                return name.partition("/")[0] or "unnamed", used[pid] / 1e9
    return "none", 0.0


PREFIX = "interference."
BEFORE, EXCESS = "_before", "_excess"
NOWHERE: CPUs = frozenset()


class InterferenceProbe(LayerProbe):
    """Reads the surroundings at both ends of an idle moment, and at both ends of the run."""

    def __init__(self, layer: Layer, root: Path) -> None:
        super().__init__(layer)
        self._idle_s = float(layer.parameters.get("idle_ms", 0)) / 1000
        self._who = bool(layer.parameters.get("who", False)) and root == Path("/")
        self._near = self._keep(Surroundings(root))
        self._first = self._near.read_inwards()
        self._idle: SurroundingsWindow | None = None
        self._ours: list[tuple[int, float]] = []
        """CPUs, and the seconds that this thread spent there in the window."""
        self._clocks: dict[int, int] = {}
        self._clocks_now: dict[int, int] = {}
        self._forget()

    def rest(self) -> None:
        """Sleep for the idle moment, between two readings."""
        self._idle = None
        if self._idle_s > 0:
            start = self._near.read_inwards()
            time.sleep(self._idle_s)
            self._idle = SurroundingsWindow(start, self._near.read_outwards())

    def before(self) -> None:
        self._forget()
        self._clocks = cpu_clocks() if self._who else {}
        self._children_s = children_s()
        self._start = self._near.read_inwards()

    def started(self, pid: int) -> None:
        """Note the process, the CPUs that it may use, and what it took us to start it."""
        self._pid = pid
        self._allowed = affinity(pid)
        self._thread_s = time.thread_time()
        self._ours = [(libc().sched_getcpu(), self._thread_s - self._start.thread_s)]

    def at_exit(self, pid: int) -> None:
        """Note the CPUs that it was bound to, and the one on which it ended."""
        self._bound = affinity(pid)
        cpu = last_cpu(read_once(f"/proc/{pid}/stat"))
        self._last = frozenset({cpu}) if cpu >= 0 else NOWHERE

    def after(self) -> None:
        self._end = self._near.read_outwards()
        self._ours.append((libc().sched_getcpu(), self._end.thread_s - self._thread_s))
        self._clocks_now = cpu_clocks() if self._who else {}

    def values(self) -> dict[str, Value]:
        """Return rates over the run, over the idle moment, and how much more there was in the run."""
        run = SurroundingsWindow(self._start, self._end)
        # The run is reaped by now, so that its CPU time and that of what it waited for is among our children's.
        used_s = children_s() - self._children_s
        if not self._bound or run.length <= 0:
            return {}
        # Those that its main thread was bound to at its end, as by taskset. A runtime may bind the main thread alone to
        # one CPU and others elsewhere: then the run used more CPU time than those have, and it had all of the first.
        cpus = self._bound if used_s <= run.length * len(self._bound) else self._bound | self._allowed
        during = self._near.rates(run, cpus)
        values: dict[str, Value] = {"cpus": float(len(cpus)), "account": self._near.account.name, **during}
        values |= self._others(run, cpus, "others", used_s) | self._others(run, self._last, "others_last_cpu", used_s)
        if (share := steal(run, self._last)) is not None:
            values["steal_last_cpu"] = share
        if self._idle is not None:
            values |= self._compared(during, self._idle, cpus)
        if self._who:
            command, cpu_s = busiest(self._clocks, self._clocks_now, self._pid, cpus)
            values |= {"top_command": command, "top_cpus": cpu_s / run.length}
        return self._declared({PREFIX + key: value for key, value in values.items()})

    def absent(self) -> Mapping[str, str]:
        window = SurroundingsWindow(self._first, self._first._replace(at=self._first.at + 1))
        online = frozenset(cpu_ticks(self._first.texts["stat"] or b""))
        known = {*self._near.rates(window, online), "cpus", "account", "top_command", "top_cpus"}
        if "steal" in known:
            known.add("steal_last_cpu")
        if self._near.busy_s(window, online) is not None:
            known |= {"others", "others_last_cpu"}
        return {column: reason for column in self._columns if (reason := self._why(column, known))}

    def _why(self, column: str, known: set[str]) -> str:
        """Say why a column is not shown; empty where it is."""
        key = column.removeprefix(PREFIX)
        base = key.removesuffix(BEFORE).removesuffix(EXCESS)
        if base not in known:
            return self._missing(base)
        if base != key and self._idle_s <= 0:
            return "idle_ms is 0: give the layer an idle moment, --layer interference:idle_ms=10"
        if key == "others" + BEFORE and not self._fine():
            return (
                "this kernel tells the busy time of CPUs in clock ticks only, too coarse for a short idle moment: "
                "--layer interference:idle_ms=100"
            )
        if base.startswith("top_") and not self._who:
            return "the other processes are not looked at: --layer interference:who=true, with --root /"
        return ""

    def _missing(self, key: str) -> str:
        name = next((name for name in RESOURCES if key.startswith(f"psi.{name}_")), "")
        file = self._near.files[name or FILE_OF.get(key.partition(".")[0], "stat")]
        why = file.why or f"{file.path} does not have it on this kernel"
        if name == "irq":
            return f"{why}: it needs Linux 6.1 or newer with CONFIG_PSI and CONFIG_IRQ_TIME_ACCOUNTING"
        return f"{why}: " + ("boot with psi=1 on a kernel with CONFIG_PSI" if name else "it needs one that counts it")

    def _forget(self) -> None:
        """Drop what was noted about the run before."""
        self._pid, self._thread_s, self._children_s = 0, 0.0, 0.0
        self._allowed = self._bound = self._last = NOWHERE
        self._ours.clear()
        self._clocks_now = {}
        self._start = self._end = self._first

    def _fine(self) -> bool:
        """Tell whether an idle moment is long enough for the account of the CPUs."""
        return self._near.account.name != "stat" or self._idle_s * ticks_per_second() >= 10

    def _others(self, run: SurroundingsWindow, cpus: CPUs, key: str, used_s: float) -> dict[str, float]:
        """Return how many CPUs others kept busy: all that was done there, less the work of the run and our own."""
        busy_s = self._near.busy_s(run, cpus)
        if not cpus or busy_s is None:
            return {}
        own_s = used_s + sum(seconds for cpu, seconds in self._ours if cpu in cpus)
        return {key: max(0.0, busy_s - own_s) / run.length}

    def _compared(self, during: Mapping[str, float], idle: SurroundingsWindow, cpus: CPUs) -> dict[str, float]:
        """Return what the idle moment showed, and how much more the run did."""
        before = self._near.rates(idle, cpus)
        values = {key + BEFORE: rate for key, rate in before.items()}
        values |= {key + EXCESS: rate - before[key] for key, rate in during.items() if key in before}
        busy_s = self._near.busy_s(idle, cpus)
        if busy_s is not None and self._fine():
            values["others" + BEFORE] = busy_s / idle.length
        return values


FILE_OF = {"irq": "interrupts", "softirq": "softirqs", "others": "busy", "others_last_cpu": "busy"}
"""Where a key is read from, by its first word; all others are in /proc/stat."""


def affinity(pid: int) -> CPUs:
    """Return the CPUs that the main thread of a process may use; none where it cannot be told."""
    try:
        return frozenset(os.sched_getaffinity(pid))
    except OSError:
        return NOWHERE


def children_s() -> float:
    """Return the CPU time of all children that were waited for, and of theirs, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
