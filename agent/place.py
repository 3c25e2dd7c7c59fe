"""Where a program is measured: on this machine, or on the hosts of a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..knowledge.actions import Precondition
from ..tools.execution.bench import Bench
from ..tools.execution.series import Measuring
from ..tools.machine import Machine
from ..tools.subject import Subject
from ..tools.survey import survey
from .run_folder import ChildFile, RunFolder
from .session import RequestSession
from .trial_runs import base_launch, launcher_of


@dataclass(frozen=True)
class ProgramBench:
    """A bench, and what it stands on."""

    bench: Measuring
    described: Callable[[Iterable[Precondition]], Machine]
    """Survey it for what these preconditions ask for."""
    keep_in: Callable[[RunFolder], None]
    """Keep the rows of series in a run folder from now on, and on this machine the process of the run that goes on."""


@contextlib.contextmanager
def place(
    session: RequestSession, subject: Subject, layers: Sequence[str], *, conditions: bool = False, lenient: bool = False
) -> Iterator[ProgramBench]:
    """Open the bench of a subject, here or where it names; `conditions`: preconditions will be asked about.

    `lenient`: its trial runs on hosts may fail, since it is one setting of many.
    """
    if subject.on:
        with _elsewhere(session, subject, layers, conditions, lenient) as there:
            yield there
        return
    launcher = launcher_of(subject)
    bench = Bench(
        subject=subject,
        spawner=session.spawner,
        folder=Path(),
        launch=base_launch(subject),
        listener=session.interface.progressed,
        root=Path(subject.root),
        launcher=launcher,
    )
    with contextlib.ExitStack() as stack:
        stack.callback(bench.close)
        described = partial(survey, subject, root=Path(subject.root), launcher=launcher)
        yield ProgramBench(bench, described, partial(_keep_in, bench, stack))


def _keep_in(bench: Bench, stack: contextlib.ExitStack, folder: RunFolder) -> None:
    folder.partial.mkdir(exist_ok=True)
    child = ChildFile(folder.child)
    stack.callback(child.close)
    bench.folder, bench.on_started = folder.partial, child


@contextlib.contextmanager
def _elsewhere(
    session: RequestSession, subject: Subject, layers: Sequence[str], conditions: bool, lenient: bool
) -> Iterator[ProgramBench]:
    from ..tools.fleet.where import read_where, refuse_missing

    refuse_missing(read_where(subject.on))
    from ..tools.fleet.ready import fleet_bench

    listener, ran = session.interface.progressed, session.spawner.spent_elsewhere
    with fleet_bench(subject, layers, Path(), listener, conditions, ran, lenient) as (bench, machine):
        yield ProgramBench(bench, lambda asked: machine, lambda kept: setattr(bench, "folder", kept.partial))
