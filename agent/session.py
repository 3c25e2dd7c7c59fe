"""Begin or go on with a diagnosis; light to import, so that the program runs while heavy libraries load."""

from __future__ import annotations

import fcntl
import functools
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from ..layers.launcher import Launcher, open_launcher
from ..tools.execution.expected import FIRST_RUNS, NEVER, Deadline, Expected
from ..tools.execution.judge import judge
from ..tools.execution.launch import Launch
from ..tools.execution.progress import SettingRestored
from ..tools.execution.spawn import Spawner
from ..tools.execution.way import Way, Ways
from ..tools.mitigation.restore import restore
from ..tools.plan import NO_PLAN, TrialPlan
from ..tools.subject import LOCAL, Limits, Subject
from .began import process_age_s
from .clock import BudgetClock
from .ending import goes_on_with
from .model.chosen import ModelChoice
from .run_folder import ChildFile, RunFolder, end_orphan, write

if TYPE_CHECKING:
    from .interface import Interface
    from .steering import Steering

CONDUCT = f"{__package__}.conduct"
TO_LEAVE_S, SHARE = 1.0, 0.5
"""Of the budget: to end a trial run that is too long, and to say so; no more than a share of it."""


class DiagnosisRequest(Frozen):
    """What the user asked for: written first, so that a diagnosis killed at any moment can go on."""

    subject: Subject
    limits: Limits
    planner: str = "rules"
    model: ModelChoice | None = None
    """What the planner asks, where it asks a language model."""
    plan: TrialPlan = NO_PLAN
    after: str = ""
    """Folder of the recorded run whose baseline is taken; empty: it is measured now."""


@dataclass(frozen=True)
class NewDiagnosis:
    """A diagnosis to begin."""

    request: DiagnosisRequest
    out: Path
    """Parent of run folders."""
    name: str
    """Short name of the program, for the folder."""
    clock: BudgetClock = field(default_factory=BudgetClock)
    """Counts the budget, from when the command began."""


@dataclass(frozen=True)
class DiagnosisEnding:
    """How a diagnosis ended."""

    summary: dict[str, Any]
    text: str
    exit_code: int
    """0: a verdict; 1: the data say nothing, and the text says why."""


def diagnose(new: NewDiagnosis, interface: Interface) -> DiagnosisEnding:
    """Run the program for trial while libraries load, then conduct the diagnosis."""
    tell_restored(interface)
    with Spawner() as spawner:
        request = new.request
        trial = TrialRuns(spawner, request.subject, interface, trial_deadline(new.clock, request.limits))
        folder = opened(new)
        with resumable(folder):
            shown = trial.until_loaded(folder)
            return conduct()(folder, read_request(folder), spawner, interface, clock=new.clock, shown=shown)


def opened(new: NewDiagnosis) -> RunFolder:
    """Make the folder of a diagnosis that is to begin, with what is asked for in it."""
    folder = RunFolder.create(new.out, new.name)
    write(folder.path / "request.json", new.request.model_dump_json(indent=2).encode() + b"\n")
    return folder


def resume(
    folder: RunFolder,
    interface: Interface,
    clock: BudgetClock,
    more_s: float | None = None,
    accept: tuple[str, ...] = (),
) -> DiagnosisEnding:
    """Go on where a diagnosis was cut short; with more seconds, also where its verdict says what they would be for.

    `accept` are mitigations that may change a promise from here on.
    """
    with resumable(folder):
        return work(folder, interface, None, clock, more_s, accept)


def work(
    folder: RunFolder,
    interface: Interface,
    steering: Steering | None,
    clock: BudgetClock,
    more_s: float | None = None,
    accept: tuple[str, ...] = (),
) -> DiagnosisEnding:
    """Begin, or go on with, what a folder asks for; the caller holds it."""
    tell_restored(interface)
    asked, shown = read_request(folder), None
    with Spawner() as spawner:
        end_orphan(folder.child)
        if folder.transcript.exists():
            interface.loading(" ".join(asked.subject.command), str(folder.path))
        else:
            trial = TrialRuns(spawner, asked.subject, interface, trial_deadline(clock, asked.limits))
            shown = trial.until_loaded(folder)
        return conduct()(folder, asked, spawner, interface, steering, clock, more_s, shown, accept)


def trial_deadline(clock: BudgetClock, limits: Limits) -> Deadline:
    """When trial runs have to end."""
    return clock.deadline(limits.budget_s, min(TO_LEAVE_S, SHARE * limits.budget_s))


class TrialRuns:
    """Trial runs: a broken command is told at once, and heavy libraries load meanwhile."""

    def __init__(self, spawner: Spawner, subject: Subject, interface: Interface, deadline: Deadline) -> None:
        """Run once."""
        self._spawner, self._subject, self._interface, self._deadline = spawner, subject, interface, deadline
        self._loading = Loading(CONDUCT)
        interface.trying(" ".join(subject.command))
        self._way = None if subject.on else way_of(subject)  # elsewhere, each host is looked at later
        self._shown = try_once(spawner, self._way, subject, deadline=deadline) if self._way else Expected()

    def until_loaded(self, folder: RunFolder) -> Expected:
        """Run until the libraries are there; give what the runs have shown."""
        folder.note_time("begun", age_s=process_age_s())
        self._interface.loading(" ".join(self._subject.command), str(folder.path))
        child = ChildFile(folder.child)
        while self._way and not self._loading.done:
            self._shown = try_once(self._spawner, self._way, self._subject, child, self._deadline, self._shown)
        child.close()
        return self._shown


def read_request(folder: RunFolder) -> DiagnosisRequest:
    """Read what was asked for."""
    path = folder.path / "request.json"
    try:
        return DiagnosisRequest.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise VgoError(f"{path} is missing or broken; begin again with `vgo-agent diagnose`.") from error


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


def conduct() -> Callable[..., DiagnosisEnding]:
    """The part that needs heavy libraries."""
    function: Callable[..., DiagnosisEnding] = importlib.import_module(CONDUCT).conduct
    return function


@dataclass
class Loading:
    """Imports a module in a thread; the program's trial runs hide the time that takes."""

    module: str
    _thread: threading.Thread = field(init=False)
    _failed: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start at once."""
        self._thread = threading.Thread(target=self._load, daemon=True)
        self._thread.start()

    def _load(self) -> None:
        try:
            importlib.import_module(self.module)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self._failed.append(error)

    @property
    def done(self) -> bool:
        """Whether it has ended; raise what went wrong."""
        if self._failed:
            raise self._failed[0]
        return not self._thread.is_alive()


def try_once(
    spawner: Spawner,
    way: Way,
    subject: Subject,
    on_started: Callable[[int], None] | None = None,
    deadline: Deadline = NEVER,
    before: Expected | None = None,
) -> Expected:
    """Run once outside the data: a broken command is told at once, and caches get warm; give what trials have shown.

    After others that ended well, one that fails or hangs says nothing: how often it does so is the baseline's to tell.
    """
    capture, usual_s = subject.metric is not None, before.limit_s() if before else None
    own_s = min((limit for limit in (subject.timeout_s, usual_s) if limit is not None), default=None)
    for _ in range(1 if subject.on_failure == "stop" else FIRST_RUNS):  # who fails now and then is to be explained
        limit_s = deadline.limit_s(own_s)
        run = spawner.run(way.launch, timeout_s=limit_s, capture=capture, on_started=on_started)
        if run.timed_out and limit_s != own_s:
            raise deadline.no_run(cut=before is None)
        if before and run.timed_out and own_s == usual_s:
            return before
        if not (failure := judge(run, subject, way.through).failure):
            return (before or Expected()).and_also(Expected(longest_s=run.wall_ns / 1e9))
        if before and before.longest_s and subject.on_failure != "stop":
            return before
    raise VgoError(f"A trial run failed: {failure}; run it by hand first.")


@contextmanager
def resumable(folder: RunFolder) -> Iterator[None]:
    """Keep a second process off the folder; who stops it is told how to go on."""
    with held(folder), goes_on_with(lambda: f"vgo-agent resume {quote(str(folder.path))}"):
        yield


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Keep a second process off the folder."""
    with (folder.path / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise VgoError(f"{folder.path} is in use by another vgo-agent; wait until it has ended.") from error
        yield


def tell_restored(interface: Interface) -> None:
    """Put back what a dead process left, before anything is measured."""
    for line in restore():
        interface.progressed(SettingRestored(line))
