"""Facts about this machine and program that preconditions ask for; recorded once, so that later steps are pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .subject import Frozen


class Machine(Frozen):
    """The system under test, as far as it can be seen without changing it."""

    cpu: str = "unknown"
    architecture: str = "unknown"
    kernel: str = "unknown"
    distribution: str = "unknown"
    python: str = ""
    glibc: str = ""
    """Empty on a C library that is not glibc."""
    cpus: tuple[int, ...] = (0,)
    """CPUs that this process may use."""
    quiet_cpu: int = 0
    """The allowed CPU with the fewest interrupts so far: where a single CPU is chosen, it is this one."""
    numa_nodes: Annotated[int, Field(ge=1)] = 1
    memory_bytes: int = 0
    root: bool = False
    virtual: str = ""
    """The hypervisor, empty on bare metal or when it cannot be told."""
    governor: str = ""
    thp: str = ""
    """/sys/kernel/mm/transparent_hugepage/enabled."""
    libraries: tuple[str, ...] = ()
    """Sonames asked for by some mitigation that the loader finds."""
    executables: tuple[str, ...] = ()
    """Programs asked for by some mitigation that are on PATH."""
    files: tuple[str, ...] = ()
    """Paths asked for by some mitigation that exist (writable by root only counts with root)."""
    absent: dict[str, str] = {}
    """Sources of factors that this machine does not show, with the reason."""
    hosts: tuple[str, ...] = ()
    """Machines that the program runs on, where a launcher starts it."""
    away: str = ""
    """Why what is done to a process here does not reach the program; empty when it does."""
    launching: tuple[str, ...] = ()
    """Words that a launcher puts before the program."""
    load_1min: float = 0.0
    program_sha256: str = ""
    """Of the executable file."""
    program_dynamic: bool = False
    program_python: bool = False
    program_openmp: bool = False
    versions: dict[str, str] = {}
    """Libraries that compute the verdict."""
