"""Memory nodes: where the machine's pages went during a run, and where those of the program lay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe
from .cgroup_tree import numbers
from .machine import CounterFile, FileColumns, FileSource, MachineFile, parse_vmstat
from .running import Looks, threads
from .sysfs import cpu_numbers, last_cpu, read_once, text_of

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
        """Forget the run before."""
        self._cpu = -1

    def at_exit(self, pid: int) -> None:
        """Read the CPU."""
        self._cpu = last_cpu(read_once(f"/proc/{pid}/stat"))

    def values(self) -> dict[str, float]:
        """Return its node."""
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
