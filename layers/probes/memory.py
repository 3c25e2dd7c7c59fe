"""Memory: what the kernel did to find some, how much there was and in what pieces, and how the program's own lies.

On machines with several nodes: where the pages went during a run, and where those of the program lay.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe
from .machine import CounterFile, FileColumns, FileSource, MachineFile, parse_vmstat
from .process import Looks, threads
from .sysfs import cpu_numbers, last_cpu, number, numbers, read_once, text_of

HUGE = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
HUGE_USUAL = 2 << 20
"""Bytes of a huge page on x86-64 and on arm64 with pages of 4 kB."""
ZONE_LINE = re.compile(rb"Node (\d+), zone\s+(\S+)\s+([\d ]+)")
ZONE = re.compile(rb"Node (\d+), zone\s+(\S+).*?\bpages free.*?\blow\s+(\d+)", re.DOTALL)
SHARE, HUGE_MIB, MARGIN = "huge_share", "huge_mib", "margin_mib"


def zones_of(root: Path) -> Callable[[bytes], dict[str, float]]:
    """Give what reads /proc/buddyinfo; the marks below which the kernel reclaims are read once."""
    page = os.sysconf("SC_PAGESIZE")
    page_mib = page / (1 << 20)
    huge_order = (int(text_of(root / HUGE) or HUGE_USUAL) // page).bit_length() - 1
    low = low_marks(root / "proc/zoneinfo")

    def read(said: bytes) -> dict[str, float]:
        """Return the shares and sizes, by zone and of all memory."""
        values: dict[str, float] = {}
        free = huge = 0
        for zone, blocks in free_blocks(said).items():
            whole, large = pages(blocks), pages(blocks, huge_order)
            free, huge = free + whole, huge + large
            values |= {f"memory.zone.{zone}.{SHARE}": 100 * large / whole} if whole else {}
            if zone in low:
                values[f"memory.zone.{zone}.{MARGIN}"] = (whole - low[zone]) * page_mib
        if free:
            values |= {f"memory.{SHARE}": 100 * huge / free, f"memory.{HUGE_MIB}": huge * page_mib}
        return values

    return read


def free_blocks(said: bytes) -> dict[str, list[int]]:
    """Read /proc/buddyinfo: by zone, how many free blocks there are of 1, 2, 4 .. pages."""
    found = (ZONE_LINE.match(line) for line in said.splitlines())
    return {zone_name(line): [int(count) for count in line[3].split()] for line in found if line}


def pages(blocks: list[int], order: int = 0) -> int:
    """Add up the pages in blocks of at least 2 ** order pages."""
    return sum(count << at for at, count in enumerate(blocks) if at >= order)


def low_marks(path: Path) -> dict[str, int]:
    """Read from /proc/zoneinfo, by zone, the free pages below which the kernel begins to reclaim."""
    parts = re.split(rb"(?m)^(?=Node \d)", text_of(path).encode())
    return {zone_name(zone): int(zone[3]) for part in parts if (zone := ZONE.match(part))}


def zone_name(line: re.Match[bytes]) -> str:
    """Make a word of node and zone."""
    return f"node{line[1].decode()}_{line[2].decode()}"


LEVELS = {
    b"MemAvailable": "memory.available_mib",
    b"MemFree": "memory.free_mib",
    b"Cached": "memory.cached_mib",
    b"AnonPages": "memory.anonymous_mib",
    b"AnonHugePages": "memory.anonymous_huge_mib",
    b"Dirty": "memory.dirty_mib",
    b"Writeback": "memory.writeback_mib",
    b"Slab": "memory.slab_mib",
    b"HugePages_Free": "memory.huge_pages_free",
}
"""Lines of /proc/meminfo, in kB; the last is a number of pages."""
LINE = re.compile(rb"^(\w+)[^:\n]*:\s+(\d+)( kB)?", re.MULTILINE)
KSM = "sys/kernel/mm/ksm"
OWN = ("memory.rss_mib", "memory.pss_mib", "memory.swap_mib", "memory.own_huge_share")
Smaps = dict[bytes, float]
"""Lines of smaps_rollup, in MiB."""


def open_memory(layer: Layer, root: Path) -> Probe:
    """Open the files of the machine, and the sampler of the program if a column asks for it."""
    columns = [column.name for column in layer.columns]
    vmstat = MachineFile(str(root / "proc/vmstat"), ("vm.",), parse_vmstat)
    interval_ms = float(layer.parameters.get("interval_ms", 20))
    own = [name for name in columns if name in OWN]
    ends = {name: name.rpartition(".")[2] for name in columns}
    parts: list[Probe] = [
        CounterFile(vmstat, columns),
        FileColumns(
            [FileSource(root / "proc/buddyinfo", zones_of(root), grows=False)],
            [name for name, end in ends.items() if end in (SHARE, HUGE_MIB, MARGIN)],
            "it needs a /proc that shows the memory",
            f"{root}/proc/zoneinfo tells no marks",
        ),
        FileColumns(
            [FileSource(root / "proc/meminfo", levels, grows=False)],
            [name for name in columns if name in LEVELS.values()],
            "it needs a kernel and a /proc that show it",
        ),
        FileColumns(
            [
                FileSource(root / KSM / "pages_sharing", partial(alone, "memory.ksm_sharing_pages"), grows=False),
                FileSource(root / KSM / "pages_scanned", partial(alone, "memory.ksm_scanned_pages")),
            ],
            [name for name in columns if name.startswith("memory.ksm_")],
            "it needs a kernel with CONFIG_KSM, 6.7 or later",
        ),
    ]
    return Parts(layer, [*parts, *([Own("memory", own, interval_ms)] if own else [])])


def levels(said: bytes) -> dict[str, float]:
    """Read /proc/meminfo."""
    return {LEVELS[name]: size for name, size in sizes(said).items() if name in LEVELS}


def alone(column: str, said: bytes) -> dict[str, float]:
    """Read a file of one number."""
    count = number(said)
    return {} if count is None else {column: count}


class Own(Looks[Smaps]):
    """Samples smaps_rollup of the program and its descendants; tells the moment at which they had most in memory."""

    def look(self, pid: int) -> Smaps | None:
        """Read the sums over all mappings of a process; None for one that has none, as a zombie."""
        said = sizes(read_once(f"/proc/{pid}/smaps_rollup") or b"")
        return said if b"Rss" in said else None

    def values(self) -> dict[str, float]:
        """Return the sums over processes where the sum of resident memory was largest."""
        sums = [added(processes) for processes in self.enough()]
        if not sums:
            return {}
        most = max(sums, key=lambda own: own[b"Rss"])
        values = dict(zip(OWN, (most[b"Rss"], most[b"Pss"], most[b"Swap"]), strict=False))
        if most[b"Anonymous"]:
            values["memory.own_huge_share"] = 100 * most[b"AnonHugePages"] / most[b"Anonymous"]
        return values


def sizes(said: bytes) -> Smaps:
    """Read lines of a name and kB into MiB; a number without a unit stays as it is."""
    return {name: float(count) / 1024 if unit else float(count) for name, count, unit in LINE.findall(said)}


def added(processes: Iterable[Smaps]) -> Smaps:
    """Add processes up; what one has not counts as nothing."""
    names = (b"Rss", b"Pss", b"Swap", b"Anonymous", b"AnonHugePages")
    everything = list(processes)
    return {name: sum(one.get(name, 0.0) for one in everything) for name in names}


NODES = "sys/devices/system/node"
COUNTERS = {
    "numa_hit": "hit",
    "numa_miss": "miss",
    "numa_foreign": "foreign",
    "local_node": "local",
    "other_node": "other",
}
"""Key in a node's numastat: end of the column's name."""
PLACES = re.compile(rb" N(\d+)=(\d+)")
PAGE_SIZE = re.compile(rb" kernelpagesize_kB=(\d+)")
SAMPLED = ("numa.off_node_share", "numa.node.*.own_mib")
Nodes = Mapping[int, int]
"""CPU: its node."""


def open_numa(layer: Layer, root: Path) -> Probe:
    """Open the files of the nodes; with one node there is nothing to tell."""
    columns = [column.name for column in layer.columns]
    folders = sorted((root / NODES).glob("node[0-9]*"), key=lambda folder: int(folder.name[4:]))
    if len(folders) < 2:
        found = "one NUMA node" if folders else "no NUMA nodes"
        return Missing(columns, f"{found} here, so no memory can be remote: run on a machine with several")
    nodes = {cpu: int(folder.name[4:]) for folder in folders for cpu in cpu_numbers(text_of(folder / "cpulist"))}
    interval_ms = float(layer.parameters.get("interval_ms", 100))
    vmstat = MachineFile(str(root / "proc/vmstat"), ("vm.",), parse_vmstat)
    sampled = [name for name in columns if name in SAMPLED]
    return Parts(
        layer,
        [
            CounterFile(vmstat, columns),
            Allocations(
                [FileSource(folder / "numastat", partial(counters, folder.name[4:])) for folder in folders],
                [name for name in columns if name.rpartition(".")[2] in COUNTERS.values()],
                "it needs a kernel with CONFIG_NUMA",
                f"{NODES} does not tell it",
            ),
            NumaProbe("numa", sampled, interval_ms, nodes),
            LastNode(nodes),
        ],
    )


class Allocations(FileColumns):
    """Reads numastat of each node around a run: the pages allocated, by node and kind."""

    def values(self) -> dict[str, float]:
        """Tell the share that is remote for who asked, too."""
        values = super().values()
        kinds = [[pages for name, pages in values.items() if name.endswith(f".{kind}")] for kind in ("local", "other")]
        local, other = map(sum, kinds)
        if local + other > 0 and all(len(found) == len(self._sources) for found in kinds):
            values["numa.remote_share"] = 100 * other / (local + other)
        return values


class MemoryPlacement(NamedTuple):
    """Where the memory of one process lies."""

    kb: Mapping[int, float]
    """By node."""
    off_kb: float
    """On nodes other than those of the CPUs of its threads."""


class NumaProbe(Looks[MemoryPlacement]):
    """Samples numa_maps of the program and its descendants."""

    def __init__(self, layer: str, columns: Iterable[str], interval_ms: float, nodes: Nodes) -> None:
        self._nodes = nodes
        super().__init__(layer, columns, interval_ms)

    def look(self, pid: int) -> MemoryPlacement | None:
        """Read where the memory of a process lies and how much of it is off the nodes of its threads' CPUs."""
        with open(f"/proc/{pid}/numa_maps", "rb") as file:
            kb = places(file.read())
        cpus = [last_cpu(read_once(f"/proc/{pid}/task/{thread}/stat")) for thread in threads(pid)]
        at = Counter(self._nodes[cpu] for cpu in cpus if cpu in self._nodes)
        if not kb or not at:
            return None
        off = sum(size * (1 - at[node] / at.total()) for node, size in kb.items())
        return MemoryPlacement(kb, off)

    def values(self) -> dict[str, float]:
        """Return the share off the node over all looks, and the memory by node at the look that found most."""
        looks = self.enough()
        if not looks:
            return {}
        by_node = [sum((Counter(one.kb) for one in processes), Counter[int]()) for processes in looks]
        whole = sum(kb.total() for kb in by_node)
        off = sum(one.off_kb for processes in looks for one in processes)
        values = {"numa.off_node_share": 100 * off / whole} if whole else {}
        most = max(by_node, key=Counter.total)
        return values | {f"numa.node.{node}.own_mib": kb / 1024 for node, kb in most.items()}


class LastNode(Probe):
    """Reads from the zombie on which node the main thread ended."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._cpu = -1

    def before(self) -> None:
        self._cpu = -1

    def at_exit(self, pid: int) -> None:
        self._cpu = last_cpu(read_once(f"/proc/{pid}/stat"))

    def values(self) -> dict[str, float]:
        return {"numa.last_node": float(self._nodes[self._cpu])} if self._cpu in self._nodes else {}


def counters(node: str, said: bytes) -> dict[str, float]:
    """Read a node's numastat."""
    found = numbers(said).items()
    return {f"numa.node.{node}.{COUNTERS[name]}": pages for name, pages in found if name in COUNTERS}


def places(said: bytes) -> dict[int, float]:
    """Read numa_maps: kB by node."""
    sizes: dict[int, float] = {}
    for line in said.splitlines():
        size = PAGE_SIZE.search(line)
        for node, pages in PLACES.findall(line):
            sizes[int(node)] = sizes.get(int(node), 0.0) + float(pages) * float(size[1] if size else 4)
    return sizes
