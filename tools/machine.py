"""Facts about this machine and program that preconditions ask for; recorded once, so that later steps are pure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..knowledge.shape import Frozen, is_empty
from .group_facts import Limited

BUSY = 0.5
"""Load for each CPU above which other work can disturb the runs."""


class GroupPlace(Frozen):
    """Where a control group for a run can be made."""

    folder: str
    version: Literal[1, 2]
    mems: str = ""
    """Memory nodes that a new cpuset of version 1 must be given."""


class Machine(Frozen):
    """The system under test, as far as it can be seen without changing it."""

    cpu: str = "unknown"
    architecture: str = "unknown"
    kernel: str = "unknown"
    kernel_lacks: tuple[str, ...] = ()
    """Options of its configuration asked for by some mitigation that it was built without."""
    distribution: str = "unknown"
    python: str = ""
    glibc: str = ""
    """Empty on a C library that is not glibc."""
    cpus: tuple[int, ...] = (0,)
    """CPUs that this process may use."""
    quiet_cpu: int = 0
    """The allowed CPU with the fewest interrupts so far: where a single CPU is chosen, it is this one."""
    cores: tuple[tuple[int, ...], ...] = ()
    """Those CPUs by core; two in one are SMT siblings. Empty where the kernel does not tell."""
    online: int = 0
    """CPUs of the machine, allowed or not; 0 where it is not known."""
    groups: dict[str, GroupPlace] = {}
    """By controller, where a control group can be made for a run; what is missing cannot be had."""
    limited: tuple[Limited, ...] = ()
    """Controllers of which the control group of this process has a limit."""
    autogroups: bool = True
    """The scheduler groups tasks by session, and no cpu control group stands before that."""
    real_time_throttled: bool = True
    """Real-time tasks leave the others some time (kernel.sched_rt_runtime_us)."""
    real_time_by_group: bool = False
    """The kernel grants real-time to version 1 cpu control groups one by one, and none to a new one."""
    group_without_real_time: str = ""
    """That of this process, where it is granted none."""
    sensor: bool = False
    """A temperature can be read."""
    gpus: int = 0
    """That NVML sees."""
    numa_nodes: Annotated[int, Field(ge=1)] = 1
    memory_bytes: int = 0
    root: bool = False
    capabilities: tuple[str, ...] = ()
    """In lower case, of those that some mitigation may need."""
    virtual: str = ""
    """The hypervisor, empty on bare metal or when it cannot be told."""
    governor: str = ""
    thp: str = ""
    """/sys/kernel/mm/transparent_hugepage/enabled."""
    libraries: tuple[str, ...] = ()
    """Sonames asked for by some mitigation that the loader finds."""
    foreign_libraries: dict[str, str] = {}
    """Sonames that are there for another kind of machine only: which kind."""
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
    launcher_variables: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Names of variables, `*` for any end, that speak to that launcher itself."""
    load_1min: float = 0.0
    program_sha256: str = ""
    """Of the executable file."""
    program_dynamic: bool = False
    program_static: bool = False
    """An ELF file that asks for no loader."""
    program_machine: str = ""
    """The kind of machine that it is built for."""
    program_python: bool = False
    program_openmp: bool = False
    program_mpi: bool = Field(default=False, exclude_if=is_empty)
    """It is started as ranks of MPI: by the launcher, by a word of the command, or in a script."""
    versions: dict[str, str] = {}
    """Libraries that compute the verdict."""


def busy_words(load_1min: float, cpus: int, own: float = 0.0) -> str:
    """Say that other work can disturb the runs; empty where it cannot. `own` is the part of the load that is ours."""
    if load_1min - own <= BUSY * cpus:
        return ""
    return (
        f"The machine was busy at the start (load {load_1min:.3g} on {cpus} CPUs): part of the spread may be other "
        "people's work; repeat on a quiet machine."
    )
