"""The workloads by name, and how each is started."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from .basic import BASIC
from .build import build, compiler
from .system import SYSTEM
from .userland import USERLAND
from .workload import Need, Workload

HERE = Path(__file__).parent
INPUT_BYTES = 20_000_000
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

WORKLOADS: tuple[Workload, ...] = (*BASIC, *USERLAND, *SYSTEM)


class Prepared(NamedTuple):
    """A workload that can be started."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    """Files that it reads, which are among the arguments."""


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


def prepare(workload: Workload, folder: Path, steady: bool = False) -> Prepared:
    """Build or write what the workload, or its steady twin, needs, its files in `folder`."""
    if reason := missing(workload):
        raise VgoError(f"The workload {workload.name} cannot run here: {reason}.")
    source = HERE / workload.file
    program = (str(build(source)),) if source.suffix == ".c" else (sys.executable, *workload.interpreter, str(source))
    inputs = (str(_write_input(folder.resolve())),) if workload.reads_input else ()
    return Prepared((*program, *inputs, *(workload.steady if steady else ())), inputs)


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
