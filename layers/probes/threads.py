"""How evenly the threads of a program were on the CPU, sampled: when a program has ended its threads are gone."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..schema import Layer
from .running import threads, tree
from .sampler import SamplingProbe

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
