"""Trial runs while heavy libraries load, and how a program is started when nothing is changed."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread

from ..layers.launcher import Launcher, open_launcher
from ..tools.execution.expected import Deadline, Expected
from ..tools.execution.launch import Launch
from ..tools.execution.trial import try_once
from ..tools.execution.way import Way, Ways
from ..tools.subject import LOCAL, Subject
from .run_folder import ChildFile, RunFolder
from .session import RequestSession


class TrialRuns:
    """Runs of a program while a module loads."""

    def __init__(self, session: RequestSession, subject: Subject, deadline: Deadline, module: str) -> None:
        """Run once."""
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
    with suppress(ImportError):  # told where it is needed
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


@functools.cache
def _opened(spec: str) -> Launcher:
    """Open a launcher once, since its hosts are asked."""
    return open_launcher(spec)
