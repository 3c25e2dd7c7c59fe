"""The control group around vgo-agent and its runs: its limits, its use, and how long its CPU quota held runs back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe
from .cgroup_leaf import Leaf
from .cgroup_tree import own_groups
from .machine import FileColumns, FileSource
from .process import tree
from .sampler import SamplingProbe
from .sysfs import numbers, read_once, stalls, text_of

Parse = Callable[[bytes], dict[str, float]]


class CgroupFile(NamedTuple):
    """One file of a group."""

    controller: str
    """Of version 1; empty: version 2."""
    name: str
    columns: Mapping[str, tuple[str, float]]
    """Key in the file: the column, and what turns it into the unit of the column."""
    upwards: bool = True
    """The counters of the groups above count too."""
    parse: Parse = numbers


def device_sums(said: bytes) -> dict[str, float]:
    """Read io.stat: `254:0 rbytes=1 wbytes=2 ...`, summed over devices."""
    sums: dict[str, float] = {}
    for word in said.split():
        name, equals, count = word.decode().partition("=")
        if equals:
            sums[name] = sums.get(name, 0.0) + float(count)
    return sums


PERIODS = {"nr_periods": ("cgroup.periods", 1.0), "nr_throttled": ("cgroup.throttled", 1.0)}
THROTTLED = "cgroup.throttled_us"
QUOTAS = (
    CgroupFile("cpu", "cpu.stat", PERIODS | {"throttled_time": (THROTTLED, 1e-3)}),
    CgroupFile("", "cpu.stat", PERIODS | {"throttled_usec": (THROTTLED, 1.0)}),
)
FILES = (
    *QUOTAS,
    CgroupFile("memory", "memory.failcnt", {"": ("cgroup.memory_max", 1.0)}),
    CgroupFile("memory", "memory.oom_control", {"oom_kill": ("cgroup.oom_kill", 1.0)}),
    CgroupFile(
        "",
        "memory.events.local",
        {name: (f"cgroup.{column}", 1.0) for name, column in (("high", "memory_high"), ("max", "memory_max"))}
        | {"oom_kill": ("cgroup.oom_kill", 1.0)},
    ),
    CgroupFile("pids", "pids.events", {"max": ("cgroup.pids_max", 1.0)}, upwards=False),
    CgroupFile("", "pids.events", {"max": ("cgroup.pids_max", 1.0)}, upwards=False),
    *(
        CgroupFile(
            "",
            f"{name}.pressure",
            {kind: (f"cgroup.{name}_{kind}_us", 1.0) for kind in ("some", "full")},
            upwards=False,
            parse=stalls,
        )
        for name in ("memory", "io")
    ),
    CgroupFile(
        "",
        "io.stat",
        {
            "rios": ("cgroup.reads", 1.0),
            "wios": ("cgroup.writes", 1.0),
            "rbytes": ("cgroup.read_bytes", 1.0),
            "wbytes": ("cgroup.write_bytes", 1.0),
        },
        upwards=False,
        parse=device_sums,
    ),
)
MEMORY = (("memory", "memory.usage_in_bytes", "memory.limit_in_bytes"), ("", "memory.current", "memory.max"))
"""Controller, use and limit."""
NO_LIMIT = 1 << 60
"""Bytes: version 1 writes such a number where there is none."""
SHARE = "cgroup.memory_share"


def held_back(groups: Mapping[str, list[Path]], kinds: Iterable[CgroupFile] = FILES) -> Iterator[FileSource]:
    """Find the files of the groups that have any of the keys."""
    for kind in kinds:
        folders = groups.get(kind.controller, [])
        for folder in folders if kind.upwards else folders[:1]:
            source = FileSource(folder / kind.name, partial(columns_of, kind))
            if (said := read_once(str(source.path))) is not None and source.parse(said):
                yield source


def columns_of(kind: CgroupFile, said: bytes) -> dict[str, float]:
    """Read the columns of one file, in their units."""
    found = kind.parse(said)
    return {column: found[key] * factor for key, (column, factor) in kind.columns.items() if key in found}


def in_use(groups: Mapping[str, list[Path]]) -> Iterator[FileSource]:
    """Find the groups with a memory limit: the file of their use, as a share of it."""
    for controller, use, limit in MEMORY:
        for folder in groups.get(controller, []):
            said = text_of(folder / limit)
            if said.isdigit() and 0 < int(said) < NO_LIMIT and text_of(folder / use):
                yield FileSource(folder / use, partial(share_of, int(said)), grows=False)


def share_of(limit: int, said: bytes) -> dict[str, float]:
    """Read the use of a group as a share of its limit."""
    return {SHARE: 100 * float(said) / limit}


def open_cgroup(layer: Layer, root: Path) -> Probe:
    """Open both parts; the leaf where the layer asks for it."""
    groups = own_groups(root)  # Before the move: the limits are on the group that this process is in now.
    limits = FileColumns(
        [*held_back(groups), *in_use(groups)],
        [column.name for column in layer.columns if column.name.startswith("cgroup.")],
        "there is no such limit on it, or the controller is not mounted",
        "no control group around it counts this",
    )
    leaf = [column.name for column in layer.columns if column.name.startswith("leaf.")]
    if not layer.parameters.get("leaf", True):
        return Parts(layer, [limits, Missing(leaf, "it was switched off: --layer cgroup:leaf=true")])
    return Parts(layer, [limits, Leaf(leaf)])


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

    def look(self, *processes: object) -> None:
        """Read those of processes, each of which may have gone into a group of its own."""
        read = {read_once(f"{self._root}/proc/{process}/cgroup") or b"": str(process) for process in processes}
        for groups, process in read.items():
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
    """Looks now and then whether a process of a run is in another group, which may be gone when the run has ended."""

    def __init__(self, throttling: Throttling) -> None:
        self._throttling = throttling
        super().__init__(EVERY_S)

    def read(self, pid: int) -> None:
        if pid:
            self._throttling.look(*tree(pid))
