"""What a machine and a program allow of a study, and in words why not the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..mitigation.program import inspect
from .factors import FactorLevel, Need
from .topology import Topology

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
