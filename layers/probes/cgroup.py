"""The control group around vgo-agent and its runs, and a leaf below it in which nothing else runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe
from .cgroup_leaf import Leaf
from .cgroup_tree import numbers, own_groups, stalls
from .machine import FileColumns, FileSource
from .sysfs import read_once, text_of

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
