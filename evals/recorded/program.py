"""The program of a recording, and what must hold around it while it is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ...knowledge.files import read_model
from ...tools.subject import Subject
from ..workloads.registry import find, subject_of, surrounded
from .folders import CASE, RECORDING
from .schema import CaseFile, Recording


@contextlib.contextmanager
def standing(subject: Subject, workload: str, steady: bool) -> Iterator[None]:
    """Have the workload's surroundings, its files as they should be at the beginning; nothing for another program."""
    if not workload:
        yield
        return
    subject_of(find(workload), steady)
    with surrounded(find(workload), steady):
        yield


def again(folder: Path) -> tuple[str, bool, Subject]:
    """The workload of a case, whether it is its twin, and the program: to record it anew."""
    file = read_model(folder / CASE, CaseFile)
    if file.workload:
        return file.workload, file.steady, subject_of(find(file.workload), file.steady)
    return "", False, read_model(folder / RECORDING, Recording).subject
