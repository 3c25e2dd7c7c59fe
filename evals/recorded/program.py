"""The program of a recording, and what must hold around it while it is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...tools.subject import Subject
from ..workloads.registry import find, has_twin, prepare, surrounded
from ..workloads.surroundings import input_folder
from ..workloads.workload import Workload
from .schema import CASE, RECORDING, CaseFile, Recording


def subject_of_workload(name: str, steady: bool) -> Subject:
    """Build or write what the workload, or its steady twin, needs, and say how it is started."""
    workload = find(name)
    if steady and not has_twin(workload):
        raise VgoError(f"The workload {workload.name} has no steady twin: it is steady itself; leave --steady out.")
    command, inputs, directory = prepare(workload, _folder(workload), steady)
    return Subject(command=command, argv=command, directory=directory, metric=workload.metric, unit="ms", inputs=inputs)


@contextlib.contextmanager
def standing(subject: Subject, workload: str, steady: bool) -> Iterator[None]:
    """Have the workload's surroundings, its files as they should be at the beginning; nothing for another program."""
    if not workload:
        yield
        return
    subject_of_workload(workload, steady)
    with surrounded(find(workload), steady):
        yield


def again(folder: Path) -> tuple[str, bool, Subject]:
    """The workload of a case, whether it is its twin, and the program: to record it anew."""
    file = read_model(folder / CASE, CaseFile)
    if file.workload:
        return file.workload, file.steady, subject_of_workload(file.workload, file.steady)
    return "", False, read_model(folder / RECORDING, Recording).subject


def _folder(workload: Workload) -> Path:
    if workload.stays_in_folder:
        own = input_folder() / workload.name
        own.mkdir(exist_ok=True)
        return own
    return input_folder() if workload.reads_input else Path.cwd()
