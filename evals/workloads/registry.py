"""The workloads: what each one injects, what cures it, and how it is started."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...knowledge.errors import VgoError
from .build import build, compiler

Need = Literal["cc", "2 cpus", "glibc", "small pages"]

HERE = Path(__file__).parent
INPUT_BYTES = 20_000_000
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# Without site and environment the interpreter starts in a few milliseconds; the work takes longer than that.
ISOLATED = ("-I", "-S")
# The same, but PYTHONHASHSEED is obeyed.
OBEYS_ENVIRONMENT = ("-P", "-s", "-S")


@dataclass(frozen=True)
class Workload:
    """A program with one injected cause, and the truth about it."""

    name: str
    """As users type it."""
    file: str
    """The program, in this folder: Python, or C that is built first."""
    description: str
    cause: tuple[str, ...]
    """Keys of the factors that may be named."""
    cures: tuple[str, ...]
    """Keys of the mitigations that may be claimed."""
    not_cures: tuple[str, ...] = ()
    """Keys of mitigations that were measured to change nothing, so none may be claimed."""
    verdicts: tuple[str, ...] = ("mitigated",)
    """Those that are right."""
    metric: str = r"time_ms ([0-9.]+)"
    """Finds the in-process time in what the program prints."""
    needs: tuple[Need, ...] = ()
    """What the machine must have for the cause to be there."""
    interpreter: tuple[str, ...] = ISOLATED
    """Options of Python; a C program has none."""
    reads_input: bool = False
    """Its first argument is a file of INPUT_BYTES."""


WORKLOADS = (
    Workload(
        name="cpu-hops",
        file="cpu_hops.py",
        description="hops over its allowed CPUs, few times in one half of the runs and many in the other",
        cause=("cpu_migrations", "context_switches"),
        cures=("pin_to_cpu",),
        not_cures=("glibc_hugetlb",),
        needs=("2 cpus",),
    ),
    Workload(
        name="page-faults",
        file="page_faults.py",
        description="touches a random 16 to 128 MB fresh from malloc, in blocks of 4 MB",
        cause=("page_faults",),
        cures=("glibc_hugetlb", "thp_always", "glibc_malloc_thresholds"),
        not_cures=("pin_to_cpu",),
        needs=("glibc", "small pages"),
    ),
    Workload(
        name="malloc-churn",
        file="malloc_churn.py",
        description="makes malloc return its heap to the kernel, and fault it in again, a random number of times",
        cause=("page_faults",),
        cures=("glibc_malloc_thresholds", "glibc_hugetlb"),
        not_cures=("pin_to_cpu",),
        needs=("glibc",),
    ),
    Workload(
        name="cold-cache",
        file="cold_cache.py",
        description="reads a 20 MB file that 30 % of the runs drop from the page cache when they end",
        cause=("page_cache_misses", "io_wait"),
        cures=("prewarm_inputs",),
        not_cures=("glibc_hugetlb",),
        reads_input=True,
    ),
    Workload(
        name="contention",
        file="contention.py",
        description="starts a neighbour that computes on the same CPU in 40 % of the runs",
        cause=("run_queue_wait", "other_processes", "context_switches"),
        cures=("sched_fifo", "sched_rr"),
        not_cures=("pin_to_cpu", "plain_nice"),
    ),
    Workload(
        name="layout",
        file="layout.c",
        description="keeps numbers on a stack that the kernel places at random, across two cache lines or not",
        cause=("memory_layout",),
        cures=("fixed_layout",),
        not_cures=("pin_to_cpu",),
        verdicts=("no visible factor",),
        needs=("cc",),
    ),
    Workload(
        name="hash-seed",
        file="hash_seed.py",
        description="searches a set of words in the order of the hash seed, which each run draws anew",
        cause=("hash_seed",),
        cures=("python_hash_seed",),
        not_cures=("fixed_layout",),
        # mitigated: a planner may try the seed although no counter points to it.
        verdicts=("no visible factor", "mitigated"),
        interpreter=OBEYS_ENVIRONMENT,
    ),
    Workload(
        name="steady",
        file="steady.py",
        description="takes 20 ms by the clock in every run; only what keeps it off its CPU makes it vary",
        cause=("run_queue_wait", "other_processes", "context_switches", "interrupts", "cpu_steal"),
        cures=("sched_fifo", "sched_rr", "own_autogroup"),
        # The first on a quiet machine; the others are right where the machine itself interferes.
        verdicts=("nothing to reduce", "cause found, no mitigation helped", "mitigated", "inconclusive"),
    ),
)


def find(name: str) -> Workload:
    """Return the workload of that name; hyphens and underscores are the same."""
    wanted = name.replace("_", "-")
    for workload in WORKLOADS:
        if workload.name == wanted:
            return workload
    names = ", ".join(workload.name for workload in WORKLOADS)
    raise VgoError(f"There is no workload {name!r}; choose one of {names}.")


def missing(workload: Workload) -> str | None:
    """Say why the cause cannot show on this machine, with the cure; None when it can."""
    return next((reason for need in workload.needs if (reason := _lacks(need))), None)


def prepare(workload: Workload, folder: Path) -> tuple[str, ...]:
    """Build or write what the workload needs, its files in `folder`, and return the command line."""
    if reason := missing(workload):
        raise VgoError(f"The workload {workload.name} cannot run here: {reason}.")
    source = HERE / workload.file
    program = (str(build(source)),) if source.suffix == ".c" else (sys.executable, *workload.interpreter, str(source))
    return (*program, str(_write_input(folder.resolve()))) if workload.reads_input else program


def _lacks(need: Need) -> str | None:
    if need == "cc" and compiler() is None:
        return "no C compiler was found; install one (such as gcc) or set CC to its path"
    if need == "2 cpus" and len(os.sched_getaffinity(0)) < 2:
        return "it needs two CPUs and one is allowed; start vgo-agent without taskset"
    if need == "glibc" and platform.libc_ver()[0] != "glibc":
        return "it needs Python on glibc; use a Python of a distribution with glibc"
    if need == "small pages" and HUGE_PAGES.exists() and "[always]" in HUGE_PAGES.read_text():
        return "huge pages are always on, so faults are few; choose malloc-churn"
    return None


def _write_input(folder: Path) -> Path:
    """Write the file to be read, on the disk before this returns: only clean pages can be dropped."""
    path = folder / "input.bin"
    if path.exists() and path.stat().st_size == INPUT_BYTES:
        return path
    if (kind := _filesystem(folder)) in ("tmpfs", "ramfs"):
        raise VgoError(f"{folder} is a {kind}, which is never cold; give a folder on a disk.")
    with path.open("wb") as file:
        file.write(os.urandom(INPUT_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return path


def _filesystem(folder: Path) -> str | None:
    """Return the type of the file system that the folder lies on, from /proc/self/mountinfo."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == wanted:
            return source.split()[0]
    return None
