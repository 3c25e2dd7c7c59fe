"""The control group around vgo-agent and its runs, and a leaf below it in which nothing else runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe, TwoReadings
from .cgroup_leaf import Leaf
from .cgroup_tree import numbers, own_groups, stalls
from .machine import KernelFile

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
FILES = (
    CgroupFile("cpu", "cpu.stat", PERIODS | {"throttled_time": ("cgroup.throttled_us", 1e-3)}),
    CgroupFile("", "cpu.stat", PERIODS | {"throttled_usec": ("cgroup.throttled_us", 1.0)}),
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


class CgroupLimitsProbe(TwoReadings[list[bytes | None]]):
    """Counts what the groups around this process held back."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Open the files; which groups there are is settled now."""
        groups = own_groups(root)
        self._opened = [(self._keep(file), counters) for counters in FILES for file in opened(counters, groups)]
        uses = [(self._keep(KernelFile(use)), limit) for use, limit in limited(groups)]
        self._memory = [(file, limit) for file, limit in uses if file.read() is not None]
        self._was = self._now = self._read()
        self._used = [file.read() for file, _ in self._memory]
        shown = self.values()
        why = "no control group around it counts this: there is no such limit on it, or the controller is not mounted"
        mine = [column.name for column in layer.columns if column.name.startswith("cgroup.")]
        self._absent = {name: why for name in mine if name not in shown}

    def before(self) -> None:
        """Read all files."""
        self._used = [file.read() for file, _ in self._memory]
        super().before()

    def values(self) -> dict[str, float]:
        """Return the differences, summed over groups; nothing of a column of which a part cannot be read."""
        values: dict[str, float] = {}
        for (_, counters), was, now in zip(self._opened, self._was, self._now, strict=True):
            for column, change in changes(counters, was, now):
                values[column] = values.get(column, 0.0) + change
        shares = [
            100 * float(used) / limit
            for used, (_, limit) in zip(self._used, self._memory, strict=True)
            if used is not None
        ]
        if shares:
            values[SHARE] = max(shares)
        # A part that is not there, or went backwards, is not a number, and so is the sum.
        return {column: value for column, value in values.items() if value == value}

    def _read(self) -> list[bytes | None]:
        return [file.read() for file, _ in self._opened]


def opened(counters: CgroupFile, groups: Mapping[str, list[Path]]) -> Iterator[KernelFile]:
    """Open one kind of file in the groups that have any of its keys."""
    folders = groups.get(counters.controller, [])
    for folder in folders if counters.upwards else folders[:1]:
        file = KernelFile(folder / counters.name)
        said = file.read()
        if said is not None and counters.parse(said).keys() & counters.columns.keys():
            yield file
        else:
            file.close()


def limited(groups: Mapping[str, list[Path]]) -> Iterator[tuple[Path, float]]:
    """Find the groups with a memory limit: the file of their use, and the limit in bytes."""
    for controller, use, limit in MEMORY:
        for folder in groups.get(controller, []):
            file = KernelFile(folder / limit)
            said = (file.read() or b"").strip()
            file.close()
            if said.isdigit() and 0 < int(said) < NO_LIMIT:
                yield folder / use, float(said)


def changes(counters: CgroupFile, was: bytes | None, now: bytes | None) -> Iterator[tuple[str, float]]:
    """Return how much the columns of one file grew; NaN where that cannot be told."""
    start = counters.parse(was) if was is not None else {}
    end = counters.parse(now) if now is not None else {}
    for key, (column, factor) in counters.columns.items():
        if key in start and key in end:
            yield column, (end[key] - start[key]) * factor if end[key] >= start[key] else float("nan")
        elif key in start or key in end:
            yield column, float("nan")


def open_cgroup(layer: Layer, root: Path) -> Probe:
    """Open both parts; the leaf where the layer asks for it."""
    limits = CgroupLimitsProbe(layer, root)  # Before the move: it watches the group that the limits are on.
    leaf = [column.name for column in layer.columns if column.name.startswith("leaf.")]
    if not layer.parameters.get("leaf", True):
        return Parts(layer, [limits, Missing(leaf, "it was switched off: --layer cgroup:leaf=true")])
    return Parts(layer, [limits, Leaf(leaf)])
