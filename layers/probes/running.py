"""Sampling of the run's processes while they live: the program and its descendants."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ..schema import Layer
from .sampler import SamplingProbe

T = TypeVar("T")
FEWEST = 3
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
            f"the runs end before they are seen {FEWEST} times, {interval_ms:g} ms apart: "
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
        self._absent = {} if len(looks) >= FEWEST else self._too_short
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
        """Read the threads of the run as they are now."""
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
