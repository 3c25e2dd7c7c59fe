"""Facts about this machine, the program and their control group that preconditions ask for; recorded once."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ..knowledge.shape import Frozen, is_empty
from ..layers.probes.cgroup_tree import own_groups
from ..layers.probes.sysfs import text_of

Limited = Literal["cpu", "memory"]
_UNLIMITED = ("", "-1", "max")
_NO_MEMORY_LIMIT = 1 << 60
"""Bytes; version 1 writes the greatest number of pages for no limit."""
_Row = Mapping[str, Any]
BUSY = 0.5
"""Load for each CPU above which other work can disturb the runs."""


def limited(root: Path = Path("/")) -> tuple[Limited, ...]:
    """Name the controllers of which this group has a limit, or one further out has."""
    found: list[Limited] = []
    quotas = [first_text(group, "cpu.cfs_quota_us", "cpu.max").partition(" ")[0] for group in groups_with("cpu", root)]
    if any(quota not in _UNLIMITED for quota in quotas):
        found.append("cpu")
    memory = [first_text(group, "memory.limit_in_bytes", "memory.max") for group in groups_with("memory", root)]
    if any(limit not in _UNLIMITED and int(limit) < _NO_MEMORY_LIMIT for limit in memory):
        found.append("memory")
    return tuple(found)


def autogrouped(root: Path = Path("/")) -> bool:
    """Tell whether the scheduler's groups by session count: they are on, and no cpu control group stands before them.

    See autogroup_task_group() in the kernel's kernel/sched/autogroup.h.
    """
    if text_of(root / "proc/sys/kernel/sched_autogroup_enabled") != "1":
        return False
    groups = own_groups(root)
    if groups.get("cpu"):
        return len(groups["cpu"]) == 1
    # In version 2 a group without the controller has no weight; the top group never has one.
    return not any((group / "cpu.weight").exists() for group in groups.get("", []))


def groups_with(controller: str, root: Path) -> list[Path]:
    """Return the folders from the group of this process up to the top that have this controller."""
    groups = own_groups(root)
    return groups.get(controller) or groups.get("", [])


def first_text(group: Path, *names: str) -> str:
    """Read the first of these files that says something; empty where none does."""
    return next((said for name in names if (said := text_of(group / name))), "")


class Demand(NamedTuple):
    """What profiled runs show of it; each None where it was not read."""

    busy_cpus: float | None
    """CPUs that it had, or is known to have waited for, the median over runs.

    CPU time over wall time alone would shrink where others compete, so that two threads would look like one.
    """
    peak_bytes: float | None
    """The largest resident set of one of its processes."""


def demand(rows: Sequence[_Row]) -> Demand:
    """Read it from the rows of runs."""
    peak = max((row["max_rss_kb"] * 1024.0 for row in rows if _has(row, "max_rss_kb")), default=None)
    timed = [row for row in rows if _has(row, "user_s", "system_s") and row["wall_s"] > 0]
    had = [(row["user_s"] + row["system_s"]) / row["wall_s"] for row in timed]
    waited = [_waited_s(row) / row["wall_s"] for row in timed]
    if not timed:
        return Demand(None, peak)
    return Demand(statistics.median(map(sum, zip(had, waited, strict=True))), peak)


def _waited_s(row: _Row) -> float:
    """Time that it was ready and waited for a CPU: all of its threads, or the main one where only that was read."""
    return max((row[name] for name in ("run_delay_ms", "delay.cpu_ms") if _has(row, name)), default=0.0) / 1e3


def _has(row: _Row, *names: str) -> bool:
    """The row has numbers there; a cell that is missing is absent, None or NaN."""
    return all((value := row.get(name)) is not None and value == value for name in names)


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
