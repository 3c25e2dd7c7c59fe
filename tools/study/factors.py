"""Factors of a study and their levels, as a YAML file declares them, and the cores of a machine as threads see them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...layers.probes.sysfs import cpu_numbers, number, read_once, text_of
from ..mitigation.program import inspect

Kind = Literal["P", "E"]
CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"
HYBRID = {"P": "sys/devices/cpu_core/cpus", "E": "sys/devices/cpu_atom/cpus"}
"""Intel's hybrid processors name the CPUs of both kinds."""
Need = Literal["several_cores", "smt", "hybrid", "kinds_on_every_node", "nodes", "runtime_schedule", "libgomp"]
Where = Literal["siblings", "anywhere"]
Work = Literal["compute", "memory", "program"]
"""`program`: the program itself, again and again."""
SHIPPED = Path(__file__).with_name("openmp.yaml")
THREADS = "threads"
"""The factor whose levels are numbers of cores."""
LIBRARIES = ("usr/lib/*-linux-gnu*", "usr/lib64", "usr/lib", "usr/local/lib", "usr/lib/llvm-*/lib", "lib/*-linux-gnu*")
_RUNTIME_LOOP = re.compile(rb"GOMP_\w*_runtime\w*|__kmpc_dispatch_init")
_LARGEST = 256 << 20
WHY: dict[Need, str] = {
    "several_cores": "there is only one core",
    "smt": "no core has a second hardware thread that may be used",
    "hybrid": "all cores are of one kind",
    "kinds_on_every_node": "a memory node lacks one kind of cores, so kind and node cannot be told apart",
    "nodes": "there is only one memory node",
    "runtime_schedule": "no loop with schedule(runtime) is seen in the program, so OMP_SCHEDULE would change nothing",
    "libgomp": "the program does not link libgomp itself",
}


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


class FactorLevel(Frozen):
    """One level of a factor."""

    key: str
    description: str = ""
    environment: dict[str, str] = {}
    places: Literal["", "packed", "all"] = ""
    """OMP_PLACES: one place for each thread, or every core of the machine; empty: none is set."""
    hardware_threads: Literal[1, 2] = 1
    """Of each core that are used."""
    kind: Literal["", Kind] = ""
    """Of the cores that are used; empty: both."""
    e_cores: Annotated[int, Field(ge=0)] | None = None
    """Efficiency cores that are used beside all performance cores; None: all, or as `kind` says."""
    nodes: Literal["", "one", "all"] = ""
    """Memory nodes for as many threads as one node has cores; empty: as it comes."""
    background: Literal["", Where] = ""
    """Where a job of ours runs beside the program."""
    work: Work = "compute"
    preload: str = ""
    """A library by its soname."""
    program: str = ""
    """Another binary in place of the program."""
    needs: tuple[Need, ...] = ()
    cross: bool = True
    """It takes part where its factor is crossed."""


class Factor(Frozen):
    """What is varied."""

    key: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    question: str
    source: str = ""
    """Section of the paper that asks it."""
    variables: tuple[str, ...] = ()
    """Variables that it governs; what the environment says of them holds for the baseline only."""
    cross: bool = False
    levels: tuple[FactorLevel, ...] = ()
    spare: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Of threads: numbers of cores left to the system."""
    crossed_spare: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    doubling: bool = False
    """Of threads: 1, 2, 4, ... cores too."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        keys = [level.key for level in self.levels]
        if len(set(keys)) < len(keys):
            raise ValueError(f"two levels of {self.key} have the same key")
        if (self.key == THREADS) == bool(self.levels):
            raise ValueError(f"{self.key} needs levels, but for {THREADS}, whose levels are numbers of cores")
        return self


class Factors(Frozen):
    """All factors of a study."""

    factors: Annotated[tuple[Factor, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        keys = [factor.key for factor in self.factors]
        if len(set(keys)) < len(keys) or THREADS not in keys:
            raise ValueError(f"each factor is given once, and {THREADS} is one of them")
        return self


def read_factors(path: Path = SHIPPED) -> Factors:
    """Read the factors of a study; raises VgoError with the file and what is wrong in it."""
    return read_model(path, Factors)


@dataclass(frozen=True)
class StudyEnvironment:
    """The machine, and what is seen of the program before it runs."""

    topology: Topology
    libgomp: bool = False
    runtime_schedule: bool = False
    root: Path = Path("/")

    def why_not(self, level: FactorLevel) -> str:
        """Say why a level cannot be had here; empty where it can."""
        return next(self._missing(level), "")

    def library(self, soname: str) -> str:
        """Find a shared library in the usual folders; empty where there is none."""
        found = (path for folder in LIBRARIES for path in sorted(self.root.glob(f"{folder}/{soname}")))
        return str(next(found, ""))

    def _missing(self, level: FactorLevel) -> Iterator[str]:
        met: dict[Need, bool] = {
            "several_cores": len(self.topology.cores) > 1,
            "smt": self.topology.smt,
            "hybrid": self.topology.hybrid,
            "kinds_on_every_node": self.topology.kinds_on_every_node,
            "nodes": len(self.topology.nodes) > 1,
            "runtime_schedule": self.runtime_schedule,
            "libgomp": self.libgomp,
        }
        yield from (WHY[need] for need in level.needs if not met[need])
        weak = sum(core.kind == "E" for core in self.topology.cores)
        if level.e_cores and level.e_cores >= weak:
            yield f"there are {weak} efficiency cores"
        if level.preload and not self.library(level.preload):
            yield f"{level.preload} is not installed here (in Debian and Ubuntu the package libomp5 or libomp-dev)"


def look(argv: tuple[str, ...], cores: Topology, root: Path = Path("/")) -> StudyEnvironment:
    """Look at the program without starting it; a script hides what it starts."""
    program = inspect(argv)
    linked = program.elf.needed if program.elf else ()
    openmp_here = program.openmp
    libgomp = any(name.startswith("libgomp.so") for name in linked)
    return StudyEnvironment(cores, libgomp, openmp_here and _has_runtime_loop(Path(argv[0])), root)


def _has_runtime_loop(path: Path) -> bool:
    """Look for the calls by which compilers start such a loop; of LLVM's, dynamic schedules use the same call."""
    try:
        return path.stat().st_size <= _LARGEST and bool(_RUNTIME_LOOP.search(path.read_bytes()))
    except OSError:
        return False
