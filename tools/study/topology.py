"""The cores of a machine as threads see them: hardware threads, kinds of cores, memory nodes; from /sys alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...layers.probes.sysfs import cpu_numbers, number, read_once, text_of

Kind = Literal["P", "E"]
CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"
HYBRID = {"P": "sys/devices/cpu_core/cpus", "E": "sys/devices/cpu_atom/cpus"}
"""Intel's hybrid processors name the CPUs of both kinds."""


class Core(Frozen):
    """One core."""

    cpus: tuple[int, ...]
    """Its hardware threads that may be used, the first one first."""
    kind: Kind = "P"
    """E: an efficiency core of a hybrid processor; P where all cores are alike."""
    node: int = 0


class Topology(Frozen):
    """The cores that may be used, by their first CPU."""

    cores: tuple[Core, ...]

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Memory nodes that have such cores."""
        return tuple(sorted({core.node for core in self.cores}))

    @property
    def smt(self) -> bool:
        """Every core has a second hardware thread, but for efficiency cores."""
        strong = [core for core in self.cores if core.kind == "P"]
        return bool(strong) and all(len(core.cpus) > 1 for core in strong)

    @property
    def hybrid(self) -> bool:
        """There are cores of both kinds."""
        return len({core.kind for core in self.cores}) == 2

    @property
    def kinds_on_every_node(self) -> bool:
        """Each memory node has cores of every kind, so that the kind can be varied and the nodes kept."""
        return len({(core.kind, core.node) for core in self.cores}) == len(self.nodes) * (1 + self.hybrid)

    def described(self) -> str:
        """Say it in a line."""
        kinds = [f"{sum(core.kind == kind for core in self.cores)} {kind}-cores" for kind in ("P", "E")]
        cores = " and ".join(kinds) if self.hybrid else f"{len(self.cores)} cores"
        threads = "two hardware threads a core" if self.smt else "one hardware thread a core"
        return f"{cores}, {threads}, {len(self.nodes)} memory {'node' if len(self.nodes) == 1 else 'nodes'}"


def topology(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> Topology:
    """Read the cores of the machine at `root`; `allowed`: only these CPUs (None: all that are online)."""
    online = cpu_numbers(text_of(root / CPUS / "online")) or {
        int(path.name[3:]) for path in (root / CPUS).glob("cpu[0-9]*")
    }
    cpus = sorted(online if allowed is None else online & set(allowed))
    if not cpus:
        raise VgoError(f"{root / CPUS} names no CPU that may be used: name the folder in which sys lies with --root.")
    kinds, nodes = _kinds(root, cpus), _nodes(root)
    grouped: dict[tuple[int, ...], None] = {}
    for cpu in cpus:
        siblings = cpu_numbers(text_of(root / CPUS / f"cpu{cpu}/topology/thread_siblings_list")) or {cpu}
        grouped[tuple(sorted(siblings & set(cpus)))] = None
    cores = [Core(cpus=core, kind=kinds[core[0]], node=nodes.get(core[0], 0)) for core in grouped]
    return Topology(cores=tuple(sorted(cores, key=lambda core: core.cpus)))


def allowed_cpus() -> frozenset[int]:
    """CPUs that this process may use."""
    return frozenset(os.sched_getaffinity(0))


def _kinds(root: Path, cpus: Iterable[int]) -> dict[int, Kind]:
    """Intel says which CPUs are of which kind; elsewhere those with less than the most capacity are the small ones."""
    weak = cpu_numbers(text_of(root / HYBRID["E"]))
    capacity = {cpu: number(read_once(str(root / CPUS / f"cpu{cpu}/cpu_capacity"))) for cpu in cpus}
    if not weak and all(capacity.values()):
        most = max(value or 0.0 for value in capacity.values())
        weak = {cpu for cpu, value in capacity.items() if (value or 0.0) < most}
    return {cpu: "E" if cpu in weak else "P" for cpu in cpus}


def _nodes(root: Path) -> dict[int, int]:
    found = (root / NODES).glob("node[0-9]*")
    return {cpu: int(node.name[4:]) for node in found for cpu in cpu_numbers(text_of(node / "cpulist"))}
