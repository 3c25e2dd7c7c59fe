"""One thread that samples for all probes of this process while a program runs, at a low rate and out of its way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from .base import Probe
from .sysfs import cpu_numbers

T = TypeVar("T")
IDLE_ROUNDS = 20
"""The thread goes on for so many intervals after a run, then sleeps until the next one. Short runs follow each other
more often than that, so that none of them begins with a thread being woken."""
MOST_OF_CPU = 0.02
"""Of one CPU, what readings may take: dear ones come less often, for a run may have no other CPU."""
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


class SamplingProbe(Probe, Generic[T]):
    """Calls `read(pid)` at the start of each run, every `interval_s` seconds in it or less often, and at its end.

    The first and the last reading are made by the caller, on its own thread; `read` must not mind another thread in it.
    pid is 0 as long as there is none, and of a zombie at the end. Where `read` gives None or raises OSError, that
    reading is missing.
    """

    def __init__(self, interval_s: float) -> None:
        """Start the thread, or join the one that there is; what `read` needs is there already."""
        self.interval_s = interval_s
        self.due = time.monotonic() + interval_s
        """Monotonic time of the next reading; the thread's own."""
        self.cost_s = 0.0
        """CPU time of the last reading; one alone that is dear, as the first is, puts no other off."""
        self.pid = 0
        self._run: list[tuple[float, T]] | None = None
        self._ended: list[tuple[float, T]] = []
        _ROUNDS.join(self)
        self._closing.callback(self._leave)

    def read(self, pid: int) -> T | None:
        """Take one sample; parse later, in `values`."""
        raise NotImplementedError

    @property
    def running(self) -> bool:
        """Tell whether a run is on."""
        return self._run is not None

    def before(self) -> None:
        """Read, and begin a run."""
        self.pid = 0
        readings: list[tuple[float, T]] = []
        self._take(readings)
        self._run = readings
        _ROUNDS.wake()

    def started(self, pid: int) -> None:
        self.pid = pid

    def sample(self) -> None:
        """Read once more in this run."""
        if (readings := self._run) is not None:
            self._take(readings)

    def after(self) -> None:
        """Read, and end the run."""
        readings, self._run = self._run, None
        if readings is not None:
            self._take(readings)
            self._ended = readings

    def samples(self) -> list[tuple[float, T]]:
        """Return the readings of the run just ended, each with its monotonic time in seconds, in order."""
        # A reading of the thread may have been under way at the end, and have been stored after the last one.
        return sorted(self._ended, key=lambda reading: reading[0])

    def _leave(self) -> None:
        self._run = None
        _ROUNDS.leave(self)

    def _take(self, readings: list[tuple[float, T]]) -> None:
        now = time.monotonic()
        try:
            value = self.read(self.pid)
        except OSError:
            return
        if value is not None:
            readings.append((now, value))


class SamplerThread:
    """The thread: goes round the samplers, and reads those that are in a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samplers: tuple[SamplingProbe[Any], ...] = ()
        self._wanted = threading.Event()
        self._asleep = False
        self._thread: threading.Thread | None = None

    def join(self, sampler: SamplingProbe[Any]) -> None:
        """Take one more sampler; the first starts the thread."""
        with self._lock:
            self._samplers += (sampler,)
            self._wanted.set()  # It may wait for longer than this one's interval.
            if self._thread is None:
                # Now, and not at the first run: a thread inherits what its creator imposes on itself for a run.
                allowed = frozenset(os.sched_getaffinity(0))
                self._thread = threading.Thread(target=self._go, args=(allowed,), name="sampler", daemon=True)
                self._thread.start()

    def leave(self, sampler: SamplingProbe[Any]) -> None:
        """Drop a sampler; the last ends the thread."""
        with self._lock:
            self._samplers = tuple(one for one in self._samplers if one is not sampler)
            if self._thread is not None and not self._samplers:
                self._wanted.set()
                self._thread.join()
                self._wanted.clear()
                self._thread = None

    def wake(self) -> None:
        """Wake the thread if it sleeps."""
        if self._asleep:
            self._wanted.set()

    def _go(self, allowed: frozenset[int]) -> None:
        # Ctrl-C must reach the thread that spawns, and be held back where that one holds it back.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        at = allowed
        idle = 0
        while samplers := self._samplers:
            running = [sampler.pid for sampler in samplers if sampler.running]
            idle = 0 if running else idle + 1
            at = step_aside(at, allowed, running)
            self._sleep(idle, go_round(samplers))

    def _sleep(self, idle: int, seconds: float) -> None:
        self._asleep = idle > IDLE_ROUNDS
        # A run that began just before this saw a thread awake, and will not wake it.
        forever = self._asleep and not any(sampler.running for sampler in self._samplers)
        self._wanted.wait(None if forever else seconds)
        self._asleep = False
        if self._samplers:
            self._wanted.clear()


_ROUNDS = SamplerThread()


def go_round(samplers: Iterable[SamplingProbe[Any]]) -> float:
    """Sample what is due; return the seconds until the next one is."""
    now = time.monotonic()
    for sampler in samplers:
        if sampler.due <= now:
            began_s, before_s = time.thread_time(), sampler.cost_s
            sampler.sample()
            sampler.cost_s = time.thread_time() - began_s
            sampler.due = now + max(sampler.interval_s, min(before_s, sampler.cost_s) / MOST_OF_CPU)
    return max(0.0, min(sampler.due for sampler in samplers) - time.monotonic())


def step_aside(at: frozenset[int], allowed: frozenset[int], pids: Iterable[int]) -> frozenset[int]:
    """Move this thread to a CPU that no run may use, if there is one; return where it now may be."""
    used: set[int] = set()
    for pid in filter(None, pids):
        with suppress(OSError):  # It has ended.
            used |= os.sched_getaffinity(pid)
    there = spare(allowed, used) if used else at
    if there != at:
        with suppress(OSError):  # That CPU was switched off.
            os.sched_setaffinity(0, there)
            return there
    return at


def spare(allowed: frozenset[int], used: Iterable[int]) -> frozenset[int]:
    """Return the last CPU that is not used, on another core if there is one; all that are allowed where none is free.

    The last, because devices tend to interrupt the first.
    """
    used = set(used)
    free = allowed - used
    if not free or free == allowed:
        return allowed
    return frozenset({max(free - siblings(used) or free)})


def siblings(cpus: Iterable[int]) -> set[int]:
    """Return the hardware threads of the cores that these CPUs belong to."""
    found: set[int] = set()
    for cpu in cpus:
        with suppress(OSError):
            found |= cpu_numbers(Path(SIBLINGS.format(cpu)).read_text())
    return found
