"""The workloads by name, what each needs of the machine, and how it is started."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...tools.subject import Subject
from .build import build, compiler, openmp
from .surroundings import (
    AROUND,
    DELEGATED,
    LOOPBACK_STEERING,
    PROGRAMS,
    evict,
    favoured,
    group_place,
    input_folder,
    neighbour_words,
    whole_disk,
)
from .workload import INPUT_BYTES, ISOLATED, OBEYS_ENVIRONMENT, Need, Workload

CHUNK_BYTES = 1 << 22


HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
REAL_TIME = (sys.executable, *ISOLATED, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))")
Lack = Callable[[], str | None]
"""Says what is lacking and its cure; None where nothing is."""


def _unless(met: Callable[[], object], words: str) -> Lack:
    return lambda: None if met() else words


def _group(controller: str) -> Lack:
    words = f"no control group with the controller {controller} can be made; {DELEGATED}"
    return _unless(lambda: group_place(controller), words)


def _no_disk() -> str | None:
    if whole_disk(input_folder()):
        return None
    return f"{input_folder()} lies on no disk; set XDG_CACHE_HOME to a folder on one"


def _ends_well(*words: str) -> bool:
    """Try it in a child, so that nothing here changes."""
    return subprocess.run(words, capture_output=True).returncode == 0


LACKS: Mapping[Need, Lack] = {
    "cc": _unless(compiler, "no C compiler was found; install one (such as gcc) or set CC to its path"),
    "openmp": _unless(
        openmp, "the C compiler has no OpenMP; install its runtime (gcc has libgomp, clang needs libomp-dev)"
    ),
    "2 cpus": _unless(
        lambda: len(os.sched_getaffinity(0)) > 1,
        "it needs two CPUs and one is allowed; start vgo-agent without taskset",
    ),
    "glibc": _unless(
        lambda: platform.libc_ver()[0] == "glibc", "it needs Python on glibc; use a Python of a distribution with glibc"
    ),
    "small pages": _unless(
        lambda: not HUGE_PAGES.exists() or "[always]" not in HUGE_PAGES.read_text(),
        "huge pages are always on, so faults are few; choose malloc-churn",
    ),
    "huge pages": _unless(
        lambda: HUGE_PAGES.exists() and "[never]" not in HUGE_PAGES.read_text(),
        f"huge pages are off; write madvise to {HUGE_PAGES}",
    ),
    "cpu group": _group("cpu"),
    "memory group": _group("memory"),
    "io group": lambda: _no_disk() or _group("blkio")(),
    "real time": _unless(
        lambda: _ends_well(*REAL_TIME),
        "real-time priority is refused; start vgo-agent as root, in a group that is granted real time",
    ),
    "deadline": _unless(
        lambda: _ends_well(*neighbour_words("promised", 1)),
        "the deadline policy is refused; start vgo-agent as root, with all CPUs, and nothing else under that policy",
    ),
    "packet steering": _unless(
        lambda: os.access(LOOPBACK_STEERING, os.W_OK),
        f"{LOOPBACK_STEERING} cannot be written; start vgo-agent as root, outside of containers",
    ),
    "disk": _no_disk,
}
"""For each need, what is lacking here and its cure."""


class WorkloadsFile(Frozen):
    """`workloads.yaml`."""

    workloads: tuple[Workload, ...]


@functools.cache
def workloads() -> tuple[Workload, ...]:
    """Return all workloads, in the order in which `demo` offers them."""
    return read_model(Path(__file__).parent / "workloads.yaml", WorkloadsFile).workloads


class PreparedWorkload(NamedTuple):
    """A workload that can be started."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    """Files that it reads, which are among the arguments."""
    directory: str
    """Where it is started."""


def find(name: str) -> Workload:
    """Return the workload of that name; hyphens and underscores are the same."""
    wanted = name.replace("_", "-")
    for workload in workloads():
        if workload.name == wanted:
            return workload
    names = ", ".join(workload.name for workload in workloads())
    raise VgoError(f"There is no workload {name!r}; choose one of {names}.")


def missing(workload: Workload) -> str | None:
    """Say why the cause cannot show on this machine, with the cure; None when it can."""
    return next((reason for need in workload.needs if (reason := LACKS[need]())), None)


def prepare(workload: Workload, folder: Path, steady: bool = False) -> PreparedWorkload:
    """Build or write what the workload, or its steady twin, needs, its files in `folder`."""
    if reason := missing(workload):
        raise VgoError(f"The workload {workload.name} cannot run here: {reason}.")
    source = PROGRAMS / workload.file
    interpreter = (sys.executable, *(OBEYS_ENVIRONMENT if workload.obeys_environment else ISOLATED))
    program = (str(build(source)),) if source.suffix == ".c" else (*interpreter, str(source))
    folder = folder.resolve()
    inputs = (str(_write_input(folder, workload.input_bytes)),) if workload.reads_input else ()
    if inputs and workload.around and not steady:
        evict(inputs[0])  # what is in memory already counts for no limited group
    directory = str(folder) if workload.stays_in_folder else os.getcwd()
    command = (*program, *workload.arguments, *inputs, *(workload.steady if steady else ()))
    return PreparedWorkload(command, inputs, directory)


def subject_of(workload: Workload, steady: bool) -> Subject:
    """Build or write what the workload, or its steady twin, needs, and say how it is started."""
    if steady and not has_twin(workload):
        raise VgoError(f"The workload {workload.name} has no steady twin: it is steady itself; leave --steady out.")
    command, inputs, directory = prepare(workload, _folder(workload), steady)
    return Subject(command=command, argv=command, directory=directory, metric=workload.metric, unit="ms", inputs=inputs)


def _folder(workload: Workload) -> Path:
    if workload.stays_in_folder:
        own = input_folder() / workload.name
        own.mkdir(exist_ok=True)
        return own
    return input_folder() if workload.reads_input else Path.cwd()


def has_twin(workload: Workload) -> bool:
    """Tell whether there is a steady twin: the cause lies in the arguments or in the surroundings."""
    return bool(workload.steady or workload.around)


@contextlib.contextmanager
def surrounded(workload: Workload, steady: bool = False) -> Iterator[None]:
    """Have what must hold around the whole diagnosis; around the steady twin the same without the cause."""
    around = contextlib.nullcontext if workload.around is None else favoured if steady else AROUND[workload.around]
    with around():
        yield


def _write_input(folder: Path, size: int) -> Path:
    """Write the file to be read, on the disk before this returns: only clean pages can be dropped."""
    path = folder / ("input.bin" if size == INPUT_BYTES else f"input-{size}.bin")
    if path.exists() and path.stat().st_size == size:
        return path
    if (kind := _filesystem(folder)) in ("tmpfs", "ramfs"):
        raise VgoError(f"{folder} is a {kind}, which is never cold; give a folder on a disk.")
    with path.open("wb") as file:
        for begin in range(0, size, CHUNK_BYTES):
            file.write(os.urandom(min(CHUNK_BYTES, size - begin)))
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
