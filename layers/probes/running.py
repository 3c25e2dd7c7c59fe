"""Sampling of the run's processes while they live: the program and its descendants."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from .sampler import Sampler
from .sysfs import read_once

T = TypeVar("T")
FEWEST = 3
"""Readings of a run that are worth telling: between fewer, a peak is missed or caught by chance."""
REST = 200
"""After a look it rests so many times as long as the look took CPU time: at most 0.5 % of a CPU goes into looking, and
the maps of a large program, whose lock a look holds, are left alone."""


class Looks(Sampler[list[T]]):
    """Looks at every process of the running tree."""

    def __init__(self, look: Callable[[int], T | None], interval_s: float) -> None:
        """Take what to do with each process; it may give None or raise OSError for one that has just ended."""
        self._look = look
        self._resting_until = 0.0
        super().__init__(self._look_at_all, interval_s)

    def enough(self) -> list[list[T]]:
        """Return the looks of the run just ended, one value for each process; none where there were too few."""
        looks = [seen for _, seen in self.samples()]
        return looks if len(looks) >= FEWEST else []

    def why_not_enough(self, layer: str) -> str:
        """Say why there were too few, and the cure."""
        shorter = max(1, round(self.interval_s * 1e3 / 4))
        return (
            f"the runs end before they are seen {FEWEST} times, {self.interval_s * 1e3:g} ms apart: "
            f"--layer {layer}:interval_ms={shorter}"
        )

    def _look_at_all(self, pid: int) -> list[T] | None:
        if pid == 0 or time.monotonic() < self._resting_until:
            return None
        spent = time.thread_time()
        seen = []
        for process in tree(pid):
            with suppress(OSError):
                if (value := self._look(process)) is not None:
                    seen.append(value)
        self._resting_until = time.monotonic() + REST * (time.thread_time() - spent)
        return seen or None


def tree(pid: int) -> Iterator[int]:
    """Walk over a process and its descendants, as far as the kernel tells (CONFIG_PROC_CHILDREN)."""
    yield pid
    for thread in threads(pid):
        for child in (read_once(f"/proc/{pid}/task/{thread}/children") or b"").split():
            yield from tree(int(child))


def threads(pid: int) -> list[str]:
    """List the threads of a process; none where it has ended."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
