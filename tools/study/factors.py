"""The factors of a study and their levels, as a YAML file declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ..mitigation.program import inspect
from .topology import Kind, Topology

Need = Literal["several_cores", "smt", "hybrid", "kinds_on_every_node", "nodes", "runtime_schedule", "libgomp"]
Where = Literal["siblings", "anywhere"]
Work = Literal["compute", "memory"]
SHIPPED = Path(__file__).with_name("openmp.yaml")
THREADS = "threads"
"""The factor whose levels are numbers of cores."""


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
