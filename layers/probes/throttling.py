"""How long the control groups of a run were held back by their CPU quotas."""

from __future__ import annotations

from pathlib import Path

from .cgroup import QUOTAS, THROTTLED, columns_of
from .cgroup_tree import own_groups
from .sampler import SamplingProbe
from .sysfs import read_once

EVERY_S = 0.005


class Throttling:
    """Reads the groups that a run is born into, and those above, before and after it.

    The kernel counts a stop when it ends, and for each CPU: a group that was stopped on two of them has twice the time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._groups: dict[tuple[int, Path], tuple[float, float]] = {}
        """Of a file of QUOTAS in a folder, what it said first and last, in us."""

    def before(self) -> None:
        """Read those of this thread: what is put on the run is on it by now."""
        self._groups = {}
        self.look("thread-self")

    def look(self, process: str) -> None:
        """Read those of a process, which a program may have made for itself."""
        groups = own_groups(self._root, process)
        for place, kind in enumerate(QUOTAS):
            for folder in groups.get(kind.controller, ()):
                self._read(place, folder)

    def after(self) -> None:
        """Read what is still there again."""
        for place, folder in list(self._groups):
            self._read(place, folder)

    @property
    def ns(self) -> int:
        """By which the groups were held back in the run, all together."""
        return round(1e3 * sum(last - first for first, last in self._groups.values()))

    def _read(self, place: int, folder: Path) -> None:
        kind = QUOTAS[place]
        said = read_once(str(folder / kind.name))
        now = columns_of(kind, said).get(THROTTLED) if said is not None else None
        if now is not None:
            first, _ = self._groups.get((place, folder), (now, now))
            self._groups[place, folder] = first, now


class GroupWatch(SamplingProbe[None]):
    """Looks now and then whether a run has gone into another group, which may be gone when the run has ended."""

    def __init__(self, throttling: Throttling) -> None:
        self._throttling = throttling
        super().__init__(EVERY_S)

    def read(self, pid: int) -> None:
        """Look at the groups of its first process."""
        if pid:
            self._throttling.look(str(pid))
