"""The workloads by name, and how each is started."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from .build import build
from .needs import LACKS
from .surroundings import AROUND, PROGRAMS, evict, favoured
from .workload import INPUT_BYTES, ISOLATED, OBEYS_ENVIRONMENT, Workload

CHUNK_BYTES = 1 << 22


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
