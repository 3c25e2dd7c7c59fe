"""Where a program is measured: here, or on the hosts of a cluster; and its trial runs while libraries load."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from ..knowledge.actions import Precondition
from ..layers.launcher import Launcher, open_launcher
from ..tools.execution.expected import Deadline, Expected
from ..tools.execution.launch import Launch
from ..tools.execution.series import Measuring
from ..tools.execution.way import Way, Ways, try_once
from ..tools.machine import Machine
from ..tools.subject import LOCAL, Subject
from .run_folder import ChildFile, RunFolder
from .session import RequestSession

if TYPE_CHECKING:
    from ..tools.execution.bench import Bench


class TrialRuns:
    """Runs of a program while a module loads."""

    def __init__(self, session: RequestSession, subject: Subject, deadline: Deadline, module: str) -> None:
        self._session, self._subject, self._deadline = session, subject, deadline
        self._loading = Thread(target=_import, args=(module,), daemon=True)
        self._loading.start()
        session.interface.trying(" ".join(subject.command))
        self._way = None if subject.on else way_of(subject)  # elsewhere, each host is looked at later
        self._shown = self._once() if self._way else Expected()

    def until_loaded(self, folder: RunFolder) -> Expected:
        """Run until the libraries are there; give what the runs have shown."""
        self._session.interface.loading(" ".join(self._subject.command), str(folder.path))
        child = ChildFile(folder.child)
        while self._way and self._loading.is_alive():
            self._shown = self._once(child, self._shown)
        child.close()
        return self._shown

    def _once(self, child: ChildFile | None = None, before: Expected | None = None) -> Expected:
        assert self._way
        return try_once(self._session.spawner, self._way, self._subject, child, self._deadline, before)


def _import(module: str) -> None:
    with contextlib.suppress(ImportError):  # told where it is needed
        import_module(module)


def way_of(subject: Subject) -> Way:
    """How the program is started here when nothing is changed."""
    return Ways(launcher=launcher_of(subject)).of(base_launch(subject))


def base_launch(subject: Subject) -> Launch:
    """How the program is started when nothing is changed."""
    return Launch(argv=subject.argv, directory=Path(subject.directory))


def launcher_of(subject: Subject) -> Launcher | None:
    """Open what starts the program; raise VgoError when it starts nothing."""
    if subject.launcher == LOCAL:
        return None
    launcher = _opened(subject.launcher)
    launcher.ask()
    return launcher


_opened = cache(open_launcher)
"""Once a launcher, since its hosts are asked."""


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
    from ..tools.execution.bench import Bench  # a trial run needs neither
    from ..tools.survey import survey

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
    from ..tools.fleet.bench import fleet_bench

    listener, ran = session.interface.progressed, session.spawner.spent_elsewhere
    with fleet_bench(subject, layers, Path(), listener, conditions, ran, lenient) as (bench, machine):
        yield ProgramBench(bench, lambda asked: machine, lambda kept: setattr(bench, "folder", kept.partial))
