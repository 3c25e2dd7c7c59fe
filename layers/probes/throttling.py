"""How long the control groups of a run were held back by their CPU quotas."""

from __future__ import annotations

from pathlib import Path

from .cgroup import QUOTAS, THROTTLED, held_back
from .cgroup_tree import own_groups
from .machine import FileSource
from .sampler import SamplingProbe
from .sysfs import read_once

EVERY_S = 0.005


class Throttling:
    """Reads the groups that a run is born into, and those above, before and after it.

    The kernel counts a stop when it ends, and for each CPU: a group that was stopped on two of them has twice the time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[bytes, list[FileSource]] = {}
        """By what /proc/PROCESS/cgroup says."""
        self._us: dict[FileSource, tuple[float, float]] = {}
        """What each said first and last in this run."""

    def before(self) -> None:
        """Read those of this thread: what is put on the run is on it by now."""
        self._us = {}
        self.look("thread-self")

    def look(self, process: str) -> None:
        """Read those of a process, which may have gone into a group of its own."""
        groups = read_once(f"{self._root}/proc/{process}/cgroup") or b""
        if groups not in self._files:
            self._files[groups] = list(held_back(own_groups(self._root, process), QUOTAS))
        for file in self._files[groups]:
            self._read(file)

    def after(self) -> None:
        """Read what is still there again."""
        for file in list(self._us):
            self._read(file)

    @property
    def ns(self) -> int:
        """By which the groups were held back in the run, all together."""
        return round(1e3 * sum(last - first for first, last in self._us.values()))

    def _read(self, file: FileSource) -> None:
        said = read_once(str(file.path))
        if said is not None and (now := file.parse(said).get(THROTTLED)) is not None:
            self._us[file] = self._us.get(file, (now, now))[0], now


class GroupWatch(SamplingProbe[None]):
    """Looks now and then whether a run has gone into another group, which may be gone when the run has ended."""

    def __init__(self, throttling: Throttling) -> None:
        self._throttling = throttling
        super().__init__(EVERY_S)

    def read(self, pid: int) -> None:
        """Look at the groups of its first process."""
        if pid:
            self._throttling.look(str(pid))
