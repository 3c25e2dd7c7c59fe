"""A workload as a program to diagnose."""

from __future__ import annotations

from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.subject import Subject
from .registry import has_twin, prepare
from .surroundings import input_folder
from .workload import Workload


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
